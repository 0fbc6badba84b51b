package main

import (
	"fmt"
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

// rowTests returns the tests of a folder that the rows of docs/fidelity name, in their order.
func rowTests(root, folder string) ([]rowTest, error) {
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

// mostTries is how many mutations a test of a row may miss before it counts as a test that notices nothing.
const mostTries = 60

// checkRows prints for each row of docs/fidelity with tests of the package a mutation that one of these tests notices alone, and the
// rows without one. The mutations are those of the functions that the test runs.
func checkRows(root, folder string, b *binary, list []*mutation, ids map[[2]string]int, seed int64) error {
	tests, err := rowTests(root, folder)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewSource(seed))
	noticed, missed := map[string]*mutation{}, map[string]int{}
	var rows []string
	for _, t := range tests {
		if !slices.Contains(rows, t.row) {
			rows = append(rows, t.row)
		}
		if noticed[t.row] != nil {
			continue
		}
		reached, passed, took, _, err := b.reaches(t.pattern())
		if err != nil {
			return err
		}
		if !passed { // it would notice everything
			continue
		}
		var candidates []*mutation
		for _, m := range list {
			if reached[ids[[2]string{m.file.path, m.function}]] {
				candidates = append(candidates, m)
			}
		}
		rng.Shuffle(len(candidates), func(i, k int) { candidates[i], candidates[k] = candidates[k], candidates[i] })
		for _, m := range candidates[:min(mostTries, len(candidates))] {
			passed, _, _, err := b.run(strconv.Itoa(m.number), "", 2*time.Second+10*took, "-test.run", t.pattern(), "-test.failfast", "-test.short")
			if err != nil {
				return err
			}
			if missed[t.row]++; !passed {
				noticed[t.row] = m
				break
			}
		}
	}
	for _, row := range rows {
		if m := noticed[row]; m != nil {
			fmt.Printf("row %s  notices %s\n", row, m)
		} else {
			fmt.Printf("row %s  notices none of %d mutations\n", row, missed[row])
		}
	}
	fmt.Printf("%s: the tests of %d of %d rows notice a mutation\n", folder, len(noticed), len(rows))
	return nil
}
