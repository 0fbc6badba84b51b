package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	enough = 1_000_000 // executions of a place
	slice  = 10_000    // inputs of a fuzz target before the executions are counted
)

// executer runs tests and fuzz targets with the equivalent mutations of a package on.
type executer struct {
	binaries []*binary
	ids      map[[2]string]int // numbers of the functions
	inputs   int               // most inputs of a target
}

// million executes the places of equivalent mutations with the mutations on, until each has run a million times or the fuzz targets
// have had all their inputs. The targets and tests compare the package with slow forms of the rules and with answers on file.
// Mutations of different places are on together.
func (x executer) million(folder string, alike []equivalent) error {
	counts := map[*mutation]int{}
	groups := together(alike)
	for k := 0; k < len(groups); k++ {
		halves, err := x.execute(groups[k], counts)
		if err != nil {
			return err
		}
		groups = append(groups, halves...)
	}
	often := 0
	for _, e := range alike {
		if n := counts[e.mutation]; n < enough {
			fmt.Printf("%d executions of %s\n", n, e.mutation)
		} else {
			often++
		}
	}
	fmt.Printf("%s: no test and no input shows a difference; %d of %d equivalent mutations ran a million times\n", folder, often, len(alike))
	return nil
}

// together groups mutations of different places. The places that no input reaches are part of the first group.
func together(alike []equivalent) (groups [][]equivalent) {
	for _, e := range alike {
		k := slices.IndexFunc(groups, func(g []equivalent) bool {
			return e.never || !slices.ContainsFunc(g, func(other equivalent) bool { return !other.never && overlap(e.mutation, other.mutation) })
		})
		if k < 0 {
			k = len(groups)
			groups = append(groups, nil)
		}
		groups[k] = append(groups[k], e)
	}
	return groups
}

func overlap(a, b *mutation) bool {
	return a.file == b.file && slices.ContainsFunc(a.edits, func(x edit) bool {
		return slices.ContainsFunc(b.edits, func(y edit) bool { return x.from < y.to && y.from < x.to })
	})
}

// execute runs a group and writes down how often its places ran. Two mutations that change nothing alone may change something together:
// then execute returns the halves of the group.
func (x executer) execute(group []equivalent, counts map[*mutation]int) (halves [][]equivalent, err error) {
	hits := x.binaries[0].path + ".hits"
	if err := os.Remove(hits); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var targets []target
	for _, b := range x.binaries {
		if failed, err := b.fails(group, hits, target{}); failed != nil || err != nil {
			return b.narrow(group, target{}, failed, err)
		}
		names, err := b.names()
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if strings.HasPrefix(name, "Fuzz") {
				targets = append(targets, target{b, name, 0})
			}
		}
	}
	for {
		left, err := x.count(group, hits, counts)
		if err != nil || left == 0 || len(targets) == 0 {
			return nil, err
		}
		var useful []target
		for _, t := range targets {
			if failed, err := t.of.fails(group, hits, t); failed != nil || err != nil {
				return t.of.narrow(group, t, failed, err)
			}
			now, err := x.count(group, hits, counts)
			if err != nil {
				return nil, err
			}
			if t.from += slice; now < left && t.from < x.inputs {
				useful = append(useful, t)
			}
			left = now
		}
		targets = useful
	}
}

// target is a fuzz target and the first of its next inputs. The zero target stands for all tests, without further inputs.
type target struct {
	of   *binary
	name string
	from int
}

// count writes down how often the places of a group ran. It returns how many executions are left.
func (x executer) count(group []equivalent, hits string, counts map[*mutation]int) (left int, err error) {
	places, runs, err := executions(hits)
	for _, e := range group {
		n := places[e.mutation.number]
		if e.never && n == 0 { // the return of an error that never comes
			n = runs[x.ids[[2]string{e.mutation.file.path, e.mutation.function}]]
		}
		counts[e.mutation] = n
		left += max(0, enough-n)
	}
	return left, err
}

// fails runs a target with the mutations of a group on. It returns the output when an input fails.
func (b *binary) fails(group []equivalent, hits string, t target) ([]byte, error) {
	on, args := ",", []string{"-test.short", "-test.failfast"}
	for _, e := range group {
		on += strconv.Itoa(e.mutation.number) + ","
	}
	if b.inputs = ""; t.name != "" {
		b.inputs = fmt.Sprintf("%d+%d", t.from, slice)
		args = append(args, "-test.run", "^"+t.name+"$")
	}
	passed, _, out, err := b.run(on, hits, time.Hour, args...)
	if err != nil || passed {
		return nil, err
	}
	return append(out, '\n'), nil
}

// narrow finds the mutations of a group that fail alone, which is an error. Without any it returns the halves of the group.
func (b *binary) narrow(group []equivalent, t target, failed []byte, err error) ([][]equivalent, error) {
	if err != nil {
		return nil, err
	}
	var alone []error
	for _, e := range group {
		out, err := b.fails([]equivalent{e}, b.path+".alone", t)
		if err != nil {
			return nil, err
		}
		if out != nil {
			alone = append(alone, fmt.Errorf("%s is not equivalent: %s", e.mutation, firstLine(out)))
		}
	}
	if len(alone) > 0 {
		return nil, errors.Join(alone...)
	}
	if len(group) == 1 {
		return nil, fmt.Errorf("%s: %s", group[0].mutation, failed)
	}
	return [][]equivalent{group[:len(group)/2], group[len(group)/2:]}, nil
}

// executions reads how often places and functions ran.
func executions(hits string) (places, functions map[int]int, err error) {
	places, functions = map[int]int{}, map[int]int{}
	text, err := os.ReadFile(hits)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	for line := range strings.Lines(string(text)) {
		var kind string
		var k, n int
		if _, err := fmt.Sscan(line, &kind, &k, &n); err != nil {
			return nil, nil, fmt.Errorf("%s: %q: %w", hits, line, err)
		}
		if kind == "m" {
			places[k] += n
		} else {
			functions[k] += n
		}
	}
	return places, functions, nil
}
