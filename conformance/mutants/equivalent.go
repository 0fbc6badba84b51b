package main

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

// equivalents has the mutations that change nothing that a caller can see, one a line, separated by tabs: file, function,
// operator, change, which of several such changes in the function, "never" where no input reaches the place and otherwise "-", class of
// inputs, reason.
//
//go:embed equivalent.txt
var equivalents string

type equivalent struct {
	key, inputs, reason string
	never               bool
	line                int
	mutation            *mutation
}

func parseEquivalents(text string) (out []equivalent, err error) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 8 {
			return nil, fmt.Errorf("equivalent.txt:%d: %d fields, want 8", n, len(f))
		}
		if _, err := strconv.Atoi(f[4]); err != nil {
			return nil, fmt.Errorf("equivalent.txt:%d: %w", n, err)
		}
		if f[5] != "-" && f[5] != "never" {
			return nil, fmt.Errorf("equivalent.txt:%d: %q, want - or never", n, f[5])
		}
		out = append(out, equivalent{key: strings.Join(f[:5], "\t"), never: f[5] == "never", inputs: f[6], reason: f[7], line: n})
	}
	return out, nil
}

// most is the largest share of a package's mutations that may be equivalent.
const most = 0.1

// split takes the equivalent mutations out. An entry of the list that names no mutation is an error, as are too many.
func split(folder string, all []*mutation, known []equivalent) (list []*mutation, alike []equivalent, err error) {
	byKey := map[string]equivalent{}
	for _, e := range known {
		file, _, _ := strings.Cut(e.key, "\t")
		if at := strings.LastIndexByte(file, '/'); at >= 0 && file[:at] == folder {
			byKey[e.key] = e
		}
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
		return nil, nil, fmt.Errorf("equivalent.txt:%d: there is no such mutation: %s", e.line, e.key)
	}
	if float64(len(alike)) > most*float64(len(all)) {
		return nil, nil, fmt.Errorf("%d of %d mutations are called equivalent, more than %g %%", len(alike), len(all), 100*most)
	}
	return list, alike, nil
}
