package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// project is a module whose tests run over podberth.
type project struct {
	module
	// rename has the functions that are put aside, by file. Their callers find those of add.
	rename map[string][]string
	// add has files of ours, by path in the module.
	add map[string]string
	// ours are folders of the tree whose modules the files need.
	ours []string
	// packages are those whose tests run.
	packages []string
	// differ has a reason for each test that fails over podberth.
	differ map[string]string
}

// run prints a report of the project's own tests over podberth.
func (p project) run(tree string) error {
	return p.copied(func(dir string) error {
		before, err := tests(dir, p.packages)
		if err != nil {
			return err
		}
		fmt.Printf("%s %s as it is: %s\n", p.path, p.version, before)
		for name, functions := range p.rename {
			if err := rename(dir, name, functions); err != nil {
				return err
			}
		}
		if err := add(dir, p.add); err != nil {
			return err
		}
		if err := link(dir, tree, p.ours); err != nil {
			return err
		}
		after, err := tests(dir, p.packages)
		if err != nil {
			return err
		}
		fmt.Printf("over podberth: %s\n", after)
		return p.compare(before, after)
	})
}

// compare prints what differs, and returns an error for a difference without a reason and for a reason without a difference.
func (p project) compare(before, after results) error {
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		now, ran := after[name]
		reason := p.differ[name]
		switch {
		case before[name] == failed:
		case !ran:
			wrong = append(wrong, name+" did not run")
		case now == before[name] && reason != "":
			wrong = append(wrong, name+" no longer differs")
		case now == before[name]:
		case reason == "":
			wrong = append(wrong, name+" differs")
		default:
			fmt.Printf("differs: %s: %s\n", name, reason)
		}
	}
	for name := range p.differ {
		if _, ok := before[name]; !ok {
			wrong = append(wrong, name+" is no test")
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%s", strings.Join(wrong, "\n"))
	}
	return nil
}
