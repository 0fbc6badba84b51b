// Package fidelity reads the tables of docs/fidelity.
package fidelity

import (
	"regexp"
	"strings"
)

// Row is a row of a table.
type Row struct {
	ID    string
	Line  int      // in its file, from 1
	Tests []string // the names in the last column
}

var row = regexp.MustCompile(`^\| *([A-Z]+-?[0-9][0-9A-Za-z.\-]*) *\|(.*)\|([^|]*)\|$`)

// Rows returns the rows of a page.
func Rows(page string) (out []Row) {
	n := 0
	for line := range strings.SplitSeq(page, "\n") {
		n++
		m := row.FindStringSubmatch(strings.ReplaceAll(line, `\|`, "¦"))
		if m == nil {
			continue
		}
		x := Row{ID: m[1], Line: n}
		for name := range strings.SplitSeq(m[3], ",") {
			x.Tests = append(x.Tests, strings.TrimSpace(name))
		}
		out = append(out, x)
	}
	return out
}

var test = regexp.MustCompile("^`?([A-Za-z0-9_/-]+)\\.((?:Test|Fuzz|Example)[A-Za-z0-9_]*)(?:/([^`]+))?`?$")

// Test takes the name of a test in a row apart. The case is "" for the whole function. ok is false for other texts.
func Test(name string) (folder, function, testCase string, ok bool) {
	m := test.FindStringSubmatch(name)
	if m == nil {
		return "", "", "", false
	}
	return m[1], m[2], m[3], true
}
