package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podberth/podberth/conformance/mutants/inputs"
)

// enough is how often the place of a mutation is to run.
const enough = 1_000_000

// executer runs tests and fuzz targets with the equivalent mutations of a package on.
type executer struct {
	binaries []*binary
	ids      map[[2]string]int // numbers of the functions
	longest  time.Duration     // of a fuzz target
	end      time.Time         // no fuzz target begins afterwards; zero: no limit
	seed     uint64
	ran      map[string]int // executions of each mutation by key
}

// million executes the places of equivalent mutations with the mutations on, until each has run a million times or the fuzz targets
// have had their time. The targets and tests compare the package with slow forms of the rules and with answers on file.
// Mutations of different places are on together. The error names the mutations that a test or target notices.
func (x executer) million(folder string, alike []equivalent) error {
	var errs []error
	groups := together(alike)
	for k := 0; k < len(groups); k++ {
		more, refuted, err := x.execute(groups[k])
		if err != nil {
			return err
		}
		groups, errs = append(groups, more...), append(errs, refuted...)
		rest := slices.DeleteFunc(slices.Clone(groups[k]), func(e equivalent) bool { return x.ran[e.key] >= enough })
		if more == nil && len(rest) > 0 && len(rest) < len(groups[k]) && x.time() > 0 { // a condition that never holds keeps what is under it from running
			groups = append(groups, rest)
		}
	}
	often := 0
	for _, e := range alike {
		if n := x.ran[e.key]; n < enough {
			fmt.Printf("%d executions of %s\n", n, e.mutation)
		} else {
			often++
		}
	}
	fmt.Printf("%s: %d of %d equivalent mutations ran a million times without a difference\n", folder, often, len(alike))
	return errors.Join(errs...)
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

// execute runs a group and writes down how often its places ran. Where a test or target fails, more has what is to be tried next:
// the mutations that do not fail alone, in halves when none does, because two mutations that change nothing alone may change something
// together. refuted has an error for each mutation that fails alone.
func (x executer) execute(group []equivalent) (more [][]equivalent, refuted []error, err error) {
	hits, before := x.binaries[0].path+".hits", maps.Clone(x.ran)
	if err := os.Remove(hits); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	for _, b := range x.binaries {
		if b.inputsOnly {
			continue
		}
		if failed, err := b.fails(group, hits, target{}); failed != nil || err != nil {
			return b.narrow(group, target{}, failed, err)
		}
	}
	for _, b := range x.binaries {
		names, err := b.names()
		if err != nil {
			return nil, nil, err
		}
		for _, name := range names {
			if !strings.HasPrefix(name, "Fuzz") {
				continue
			}
			left, err := x.count(group, hits, before)
			longest := x.time()
			if err != nil || len(left) == 0 || longest <= 0 {
				return nil, nil, err
			}
			t := target{name, inputs.Plan{For: longest, Seed: x.seed, Left: left, Failed: b.path + ".failed"}}
			if failed, err := b.fails(group, hits, t); failed != nil || err != nil {
				t.plan.Again = true
				return b.narrow(group, t, failed, err)
			}
		}
	}
	_, err = x.count(group, hits, before)
	return nil, nil, err
}

// time returns how long the next fuzz target may run.
func (x executer) time() time.Duration {
	if x.end.IsZero() {
		return x.longest
	}
	return min(x.longest, time.Until(x.end))
}

// target is a fuzz target and the plan of its inputs. The zero value means all tests, which get no further inputs.
type target struct {
	name string
	plan inputs.Plan
}

// count writes down how often the places of a group ran. It returns how often they are to run yet. What counts for the return of an error
// that never comes is how often its function ran.
func (x executer) count(group []equivalent, hits string, before map[string]int) (left []inputs.Left, err error) {
	places, runs, err := executions(hits)
	for _, e := range group {
		kind, k := "m", e.mutation.number
		n := places[k]
		if e.never {
			kind, k = "f", x.ids[[2]string{e.mutation.file.path, e.mutation.function}]
			n = runs[k]
		}
		n += before[e.key]
		x.ran[e.key] = n
		if n < enough {
			const step = 1000 // a binary writes down every thousandth execution
			left = append(left, inputs.Left{Kind: kind, K: k, Times: int64((enough - n + step - 1) / step * step)})
		}
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
		plan, err := json.Marshal(t.plan)
		if err != nil {
			return nil, err
		}
		b.inputs = string(plan)
		args = append(args, "-test.run", "^"+t.name+"$", "-test.timeout", "0")
	}
	passed, _, out, err := b.run(on, hits, 10*time.Minute+2*t.plan.For, args...)
	if err != nil || passed {
		return nil, err
	}
	return append(out, '\n'), nil
}

// narrow parts a group that failed into what is to be tried next and the mutations that fail alone.
func (b *binary) narrow(group []equivalent, t target, failed []byte, err error) (more [][]equivalent, refuted []error, _ error) {
	if err != nil {
		return nil, nil, err
	}
	var rest []equivalent
	for _, e := range group {
		out, err := b.fails([]equivalent{e}, b.path+".alone", t)
		if err != nil {
			return nil, nil, err
		}
		if out != nil {
			refuted = append(refuted, fmt.Errorf("%s is not equivalent: %s", e.mutation, firstLine(out)))
		} else {
			rest = append(rest, e)
		}
	}
	switch {
	case len(rest) == 0:
		return nil, refuted, nil
	case len(rest) < len(group):
		return [][]equivalent{rest}, refuted, nil
	case len(group) == 1:
		return nil, nil, fmt.Errorf("%s: %s", group[0].mutation, failed)
	}
	return [][]equivalent{group[:len(group)/2], group[len(group)/2:]}, nil, nil
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
