package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/podberth/podberth/internal/testkit/fidelity"
)

// byHand has a mistake a line for rows of docs/fidelity: those whose tests look at lists, texts or functions of other modules, where no
// operator finds a place, and those whose tests are in another package. The columns are the row, the file, the old text, which stands once
// in the file, the new text and what it means, separated by tabs.
//
//go:embed byhand.txt
var byHand string

// rowMistake is a line of [byHand].
type rowMistake struct{ row, file, old, new, what string }

func (m rowMistake) String() string { return fmt.Sprintf("%s: %s", m.file, m.what) }

// rowMistakes reads the lines of [byHand].
func rowMistakes(list string) (out []rowMistake, err error) {
	unescape := strings.NewReplacer(`\n`, "\n", `\t`, "\t")
	scanner := bufio.NewScanner(strings.NewReader(list))
	for n := 1; scanner.Scan(); n++ {
		if line := scanner.Text(); line != "" && !strings.HasPrefix(line, "#") {
			f := strings.Split(line, "\t")
			if len(f) != 5 {
				return nil, fmt.Errorf("byhand.txt:%d: %d fields, want 5", n, len(f))
			}
			out = append(out, rowMistake{f[0], f[1], unescape.Replace(f[2]), unescape.Replace(f[3]), f[4]})
		}
	}
	return out, scanner.Err()
}

// changed returns the file's text with the mistake.
func (m rowMistake) changed(root string) ([]byte, error) {
	source, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(source, []byte(m.old)); n != 1 {
		return nil, fmt.Errorf("row %s: %s has %q %d times, want once", m.row, m.file, m.old, n)
	}
	return bytes.Replace(source, []byte(m.old), []byte(m.new), 1), nil
}

// testsByRow returns the tests of every row of docs/fidelity.
func testsByRow(root string) (map[string][]string, error) {
	tables, err := filepath.Glob(filepath.Join(root, "docs/fidelity/*.md"))
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, table := range tables {
		text, err := os.ReadFile(table)
		if err != nil {
			return nil, err
		}
		for _, r := range fidelity.Rows(string(text)) {
			out[r.ID] = r.Tests
		}
	}
	return out, nil
}

// checkByHand makes each mistake of [byHand] whose row the expression matches, and prints whether a test of the row, run alone, notices it.
func checkByHand(root string, rows *regexp.Regexp) error {
	list, err := rowMistakes(byHand)
	if err != nil {
		return err
	}
	tests, err := testsByRow(root)
	if err != nil {
		return err
	}
	var errs []error
	noticed, tried := 0, 0
	for _, m := range list {
		if !rows.MatchString(m.row) {
			continue
		}
		tried++
		by, err := m.noticedBy(root, tests[m.row])
		switch {
		case err != nil:
			errs = append(errs, err)
		case by == "":
			errs = append(errs, fmt.Errorf("row %s: no test notices: %s", m.row, m))
		default:
			noticed++
			fmt.Printf("row %s  %s notices %s\n", m.row, by, m)
		}
	}
	fmt.Printf("the tests of %d of %d rows notice the mistake made by hand\n", noticed, tried)
	return errors.Join(errs...)
}

// noticedBy returns the first of the tests that passes without the mistake and fails with it; "" when none does.
func (m rowMistake) noticedBy(root string, tests []string) (string, error) {
	text, err := m.changed(root)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "podberth-mutants-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, m.file): file}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, replace, 0o644); err != nil {
		return "", err
	}
	for _, name := range tests {
		folder, function, testCase, ok := fidelity.Test(name)
		if !ok {
			continue
		}
		if testCase != "" {
			function += "/" + testCase
		}
		pattern := rowTest{m.row, function}.pattern()
		if fails, err := failsAlone(root, folder, pattern, overlay); err != nil || !fails {
			if err != nil {
				return "", fmt.Errorf("row %s: %w", m.row, err)
			}
			continue
		}
		if fails, err := failsAlone(root, folder, pattern, ""); err != nil || fails {
			return "", errors.Join(err, fmt.Errorf("row %s: %s fails without the mistake too", m.row, name))
		}
		return name, nil
	}
	return "", nil
}

// failsAlone reports whether the tests of a folder that a pattern names fail. A test that does not compile is an error.
func failsAlone(root, folder, pattern, overlay string) (bool, error) {
	args := []string{"test", "-count=1", "-vet=off", "-ldflags=-w", "-run", pattern}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	dir, rest := root, folder
	if inner, ok := strings.CutPrefix(folder, conformance+"/"); ok {
		dir, rest = filepath.Join(root, conformance), inner
	}
	out, err := goCommand(dir, append(args, "./"+rest)...)
	if text := string(out) + fmt.Sprint(err); strings.Contains(text, "[build failed]") || strings.Contains(text, "[setup failed]") || strings.Contains(text, "no tests to run") {
		return false, fmt.Errorf("%s of %s: %s", pattern, folder, text)
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) && !strings.Contains(err.Error(), "FAIL") {
		return false, err
	}
	return err != nil, nil
}
