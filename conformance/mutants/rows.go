package main

import (
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podberth/podberth/internal/testkit/fidelity"
)

// rowTest is a test or a case of a test that a row of docs/fidelity names.
type rowTest struct{ row, name string }

// testIn is a test in a folder.
type testIn struct{ folder, name string }

// rowTests returns the tests of a folder that the rows of docs/fidelity name, in their order. ids says which rows; nil for all.
func rowTests(root, folder string, ids *regexp.Regexp) ([]rowTest, error) {
	tables, err := filepath.Glob(filepath.Join(root, "docs/fidelity/*.md"))
	if err != nil {
		return nil, err
	}
	var out []rowTest
	for _, table := range tables {
		text, err := os.ReadFile(table)
		if err != nil {
			return nil, err
		}
		for _, r := range fidelity.Rows(string(text)) {
			if !matches(ids, r.ID) {
				continue
			}
			for _, name := range r.Tests {
				of, function, testCase, ok := fidelity.Test(name)
				if !ok || of != folder {
					continue
				}
				if testCase != "" {
					function += "/" + testCase
				}
				out = append(out, rowTest{r.ID, function})
			}
		}
	}
	return out, nil
}

// pattern returns the expression for -test.run that runs the test or the case alone.
func (r rowTest) pattern() string {
	var parts []string
	for part := range strings.SplitSeq(strings.ReplaceAll(r.name, " ", "_"), "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
	}
	return strings.Join(parts, "/")
}

// drawn returns the tests of so many rows, drawn by the seed; all for 0.
func drawn(tests []rowTest, most int, rng *rand.Rand) []rowTest {
	if most == 0 {
		return tests
	}
	var rows []string
	for _, t := range tests {
		if !slices.Contains(rows, t.row) {
			rows = append(rows, t.row)
		}
	}
	rng.Shuffle(len(rows), func(i, k int) { rows[i], rows[k] = rows[k], rows[i] })
	rows = rows[:min(most, len(rows))]
	return slices.DeleteFunc(tests, func(t rowTest) bool { return !slices.Contains(rows, t.row) })
}

// enoughTries is how many mutations the tests of a row must miss before the row is an error in a sample of rows.
const enoughTries = 20

// mostTries is how many mutations a test of a row may miss before it counts as a test that notices nothing.
const mostTries = 60

// rowCheck is what is known of the rows.
type rowCheck struct {
	rng     *rand.Rand
	list    []*mutation
	ids     map[[2]string]int
	rows    []string
	noticed map[string]*mutation
	missed  map[string]map[*mutation]bool // by row; without those of functions that run at the start
	by      map[testIn]*mutation          // what a test of a folder has noticed, for the next row that names it
}

// checkRows prints for each row of docs/fidelity with tests in the binaries a mutation that one of these tests notices alone, and the
// rows without one. The mutations are those of the functions that the test runs.
// It looks at the rows and at as many as the settings say, and returns how many it looked at. A row of a sample whose tests miss many mutations is an error.
func checkRows(root, folder string, binaries []*binary, list []*mutation, ids map[[2]string]int, s settings) (int, error) {
	c := rowCheck{rand.New(rand.NewSource(s.seed)), list, ids, nil, map[string]*mutation{}, map[string]map[*mutation]bool{}, map[testIn]*mutation{}}
	for _, b := range binaries {
		tests, err := rowTests(root, b.folder, s.ids)
		if err != nil {
			return 0, err
		}
		if err := c.check(b, drawn(tests, s.most, c.rng)); err != nil {
			return 0, err
		}
	}
	var errs []error
	for _, row := range c.rows {
		if n := len(c.missed[row]); c.noticed[row] == nil {
			fmt.Printf("row %s  notices none of %d mutations\n", row, n)
			if s.most > 0 && n >= enoughTries {
				errs = append(errs, fmt.Errorf("row %s: its tests notice none of %d mutations", row, n))
			}
		}
	}
	fmt.Printf("%s: the tests of %d of %d rows notice a mutation\n", folder, len(c.noticed), len(c.rows))
	return len(c.rows), errors.Join(errs...)
}

// alone is what a test does by itself without a mutation.
type alone struct {
	reached map[int]bool // the functions that it runs, by their numbers
	took    time.Duration
}

// check asks the tests of a binary.
func (c *rowCheck) check(b *binary, tests []rowTest) error {
	started, _, _, _, err := b.reaches(atStart)
	if err != nil {
		return err
	}
	runs := map[string]alone{}
	reachedBy := map[int]int{} // how many of the tests run a function
	for _, t := range tests {
		if !slices.Contains(c.rows, t.row) {
			c.rows, c.missed[t.row] = append(c.rows, t.row), map[*mutation]bool{}
		}
		if _, known := runs[t.name]; known {
			continue
		}
		reached, passed, took, out, err := b.reaches(t.pattern())
		if err != nil {
			return err
		}
		if !passed { // it would notice everything
			return fmt.Errorf("row %s: %s of %s fails by itself without a mutation: %s", t.row, t.name, b.folder, firstLine(out))
		}
		runs[t.name] = alone{reached, took}
		for k := range reached {
			reachedBy[k]++
		}
	}
	for _, t := range tests {
		if c.noticed[t.row] != nil {
			continue
		}
		asked := testIn{b.folder, t.name}
		if m := c.by[asked]; m != nil {
			c.note(t.row, m)
			continue
		}
		run := runs[t.name]
		candidates := c.inTurn(run.reached, reachedBy)
		for _, m := range candidates[:min(mostTries, len(candidates))] {
			early := started[c.functionOf(m)] // what a test misses there says nothing about it
			noticed, err := b.notices(t, m, run.took, early)
			if err != nil {
				return err
			}
			if noticed {
				c.by[asked] = m
				c.note(t.row, m)
				break
			}
			if !early {
				c.missed[t.row][m] = true
			}
		}
	}
	return nil
}

// notices reports whether a test fails with a mutation. early says that the function runs at the start of the program,
// which must not fail by itself then.
func (b *binary) notices(t rowTest, m *mutation, took time.Duration, early bool) (bool, error) {
	passes := func(pattern string) (bool, error) {
		passed, _, _, err := b.run(strconv.Itoa(m.number), "", 2*time.Second+10*took, "-test.run", pattern, "-test.failfast", "-test.short")
		return passed, err
	}
	if passed, err := passes(t.pattern()); err != nil || passed || !early {
		return !passed, err
	}
	return passes(atStart)
}

// atStart is the expression for -test.run that runs no test: what runs then is run by every test.
const atStart = "^$"

// functionOf returns the number of the function in which a mutation is.
func (c *rowCheck) functionOf(m *mutation) int { return c.ids[[2]string{m.file.path, m.function}] }

// inTurn returns the mutations of the functions that a test reaches, in the order in which to try them: one of each function, then a second
// one of each, and so on. The functions that few tests reach come first: they are what the test is about. Among equals the order is drawn.
func (c *rowCheck) inTurn(reached map[int]bool, reachedBy map[int]int) []*mutation {
	of := map[int][]*mutation{}
	for _, k := range c.rng.Perm(len(c.list)) {
		m := c.list[k]
		if id := c.functionOf(m); reached[id] {
			of[id] = append(of[id], m)
		}
	}
	order := slices.Sorted(maps.Keys(of))
	c.rng.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
	slices.SortStableFunc(order, func(a, b int) int { return reachedBy[a] - reachedBy[b] })
	var out []*mutation
	for turn, before := 0, -1; before < len(out); turn++ {
		before = len(out)
		for _, id := range order {
			if turn < len(of[id]) {
				out = append(out, of[id][turn])
			}
		}
	}
	return out
}

// note prints a mutation that a test of a row notices.
func (c *rowCheck) note(row string, m *mutation) {
	c.noticed[row] = m
	fmt.Printf("row %s  notices %s\n", row, m)
}
