package main

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// equivalents has a file for each package, with the mutations that change nothing that a caller can see. A line has, separated by
// tabs: file, function, operator, change, which of several such changes in the function, "never" where no input reaches the place and
// otherwise "-", how often the mutation was executed, class of inputs, reason.
//
//go:embed equivalent
var equivalents embed.FS

// equivalentFile names the file of a package below this folder.
func equivalentFile(folder string) string {
	return "equivalent/" + strings.ReplaceAll(folder, "/", "-") + ".txt"
}

type equivalent struct {
	key, inputs, reason string
	never               bool
	ran                 int
	line                int
	mutation            *mutation
}

// text is the entry's line.
func (e *equivalent) text() string {
	kind := "-"
	if e.never {
		kind = "never"
	}
	return strings.Join([]string{e.key, kind, strconv.Itoa(e.ran), e.inputs, e.reason}, "\t") + "\n"
}

// knownEquivalents returns the entries of a package. A package without a file has none.
func knownEquivalents(folder string) ([]equivalent, error) {
	name := equivalentFile(folder)
	text, err := equivalents.ReadFile(name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseEquivalents(name, string(text))
}

func parseEquivalents(name, text string) (out []equivalent, err error) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) != 9 {
			return nil, fmt.Errorf("%s:%d: %d fields, want 9", name, n, len(f))
		}
		if _, err := strconv.Atoi(f[4]); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if f[5] != "-" && f[5] != "never" {
			return nil, fmt.Errorf("%s:%d: %q, want - or never", name, n, f[5])
		}
		ran, err := strconv.Atoi(f[6])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		out = append(out, equivalent{key: strings.Join(f[:5], "\t"), never: f[5] == "never", ran: ran, inputs: f[7], reason: f[8], line: n})
	}
	return out, nil
}

// most is the largest share of a package's mutations that may be equivalent.
const most = 0.1

// split takes the equivalent mutations out. An entry of the file that names no mutation is an error, as are too many.
func split(folder string, all []*mutation, known []equivalent) (list []*mutation, alike []equivalent, err error) {
	byKey := map[string]equivalent{}
	for _, e := range known {
		if _, twice := byKey[e.key]; twice {
			return nil, nil, fmt.Errorf("%s:%d: the mutation stands there twice", equivalentFile(folder), e.line)
		}
		byKey[e.key] = e
	}
	for _, m := range all {
		if e, ok := byKey[m.key()]; ok {
			delete(byKey, m.key())
			e.mutation, m.never = m, e.never
			alike = append(alike, e)
		} else {
			list = append(list, m)
		}
	}
	for _, e := range byKey {
		return nil, nil, fmt.Errorf("%s:%d: there is no such mutation: %s", equivalentFile(folder), e.line, e.key)
	}
	if float64(len(alike)) > most*float64(len(all)) {
		return nil, nil, fmt.Errorf("%d of %d mutations are called equivalent, more than %g %%", len(alike), len(all), 100*most)
	}
	return list, alike, nil
}

// writeEquivalents writes how often the mutations of a package were executed into its file.
func writeEquivalents(root, folder string, known []equivalent, ran map[string]int) error {
	var b strings.Builder
	for _, e := range known {
		e.ran = max(e.ran, min(enough, ran[e.key]))
		b.WriteString(e.text())
	}
	return os.WriteFile(filepath.Join(root, "conformance/mutants", equivalentFile(folder)), []byte(b.String()), 0o644)
}
