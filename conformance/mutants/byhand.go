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
	dir, err := os.MkdirTemp("", "podberth-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	x := bench{root: root, dir: dir, built: map[[2]string]string{}}
	var errs []error
	noticed, tried := 0, 0
	for _, m := range list {
		if !rows.MatchString(m.row) {
			continue
		}
		tried++
		by, err := x.noticedBy(m, tests[m.row])
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("row %s: %w", m.row, err))
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

// bench builds tests with a mistake and without. Rows that share a mistake share the binary.
type bench struct {
	root, dir string
	built     map[[2]string]string // test binaries, by what is changed and the folder of the tests
}

// noticedBy returns the first of the tests that passes without the mistake and fails with it; "" when none does.
func (x bench) noticedBy(m rowMistake, tests []string) (string, error) {
	for _, name := range tests {
		folder, function, testCase, ok := fidelity.Test(name)
		if !ok {
			continue
		}
		if testCase != "" {
			function += "/" + testCase
		}
		pattern := rowTest{m.row, function}.pattern()
		if fails, err := x.fails(&m, folder, pattern); err != nil || !fails {
			if err != nil {
				return "", err
			}
			continue
		}
		if fails, err := x.fails(nil, folder, pattern); err != nil || fails {
			return "", errors.Join(err, fmt.Errorf("%s fails without the mistake too", name))
		}
		return name, nil
	}
	return "", nil
}

// fails reports whether the tests of a folder that a pattern names fail with a mistake, nil for none.
func (x bench) fails(m *rowMistake, folder, pattern string) (bool, error) {
	path, err := x.build(m, folder)
	if err != nil {
		return false, err
	}
	cmd := exec.Command(path, "-test.run", pattern, "-test.failfast", "-test.v")
	cmd.Dir = filepath.Join(x.root, folder)
	out, err := cmd.CombinedOutput()
	if !bytes.Contains(out, []byte("=== RUN")) {
		return false, fmt.Errorf("%s of %s: no such test: %s", pattern, folder, out)
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return false, err
	}
	return err != nil, nil
}

// build compiles the tests of a folder with a mistake, and returns the path of the binary.
func (x bench) build(m *rowMistake, folder string) (string, error) {
	key := [2]string{"", folder}
	if m != nil {
		key[0] = m.file + "\x00" + m.old + "\x00" + m.new
	}
	if path := x.built[key]; path != "" {
		return path, nil
	}
	path := filepath.Join(x.dir, fmt.Sprintf("%d.test", len(x.built)))
	args := []string{"test", "-c", "-vet=off", "-ldflags=-w", "-o", path}
	if m != nil {
		text, err := m.changed(x.root)
		if err != nil {
			return "", err
		}
		file, overlay := path+".go", path+".json"
		replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(x.root, m.file): file}})
		if err = errors.Join(err, os.WriteFile(file, text, 0o644), os.WriteFile(overlay, replace, 0o644)); err != nil {
			return "", err
		}
		args = append(args, "-overlay", overlay)
	}
	dir, below := x.root, folder
	if inner, ok := strings.CutPrefix(folder, conformance+"/"); ok {
		dir, below = filepath.Join(x.root, conformance), inner
	}
	if _, err := goCommand(dir, append(args, "./"+below)...); err != nil {
		return "", err
	}
	x.built[key] = path
	return path, nil
}
