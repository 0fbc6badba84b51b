// Command mutate shows that the differential tests notice mistakes: it applies one small mistake after the other to a copy
// of the repository, runs the tests of this module on it, and lists those that no test notices.
//
//	go run ./mutate                        // all of mutations.txt; exit 1 if one survives
//	go run ./mutate -only spread/,queue/   // those of files that begin so
//
// It takes about fifteen seconds a mutation.
package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// mutations.txt has one mutation a line: file, test package, tests, old text, new text and what it means, separated by tabs.
//
//go:embed mutations.txt
var list string

type mutation struct{ file, pkg, tests, old, new, what string }

func main() {
	only := flag.String("only", "", "apply only mutations of files with one of these `prefixes`, separated by commas")
	keep := flag.Bool("v", false, "print the output of each run")
	flag.Parse()
	survivors, err := run(*only, *keep)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if survivors > 0 {
		os.Exit(1)
	}
}

func parse(text string) (out []mutation, err error) {
	scanner := bufio.NewScanner(strings.NewReader(text))
	for n := 1; scanner.Scan(); n++ {
		line := scanner.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 6 {
			return nil, fmt.Errorf("mutations.txt:%d: %d fields, want 6", n, len(f))
		}
		out = append(out, mutation{f[0], f[1], f[2], f[3], f[4], f[5]})
	}
	return out, scanner.Err()
}

func run(only string, verbose bool) (survivors int, err error) {
	mutations, err := parse(list)
	if err != nil {
		return 0, err
	}
	root, err := repository()
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "podberth-mutate-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if err := copyTree(root, dir); err != nil {
		return 0, err
	}
	caught, sound := 0, map[[2]string]bool{}
	for _, m := range mutations {
		if !slices.ContainsFunc(strings.Split(only, ","), func(prefix string) bool { return strings.HasPrefix(m.file, prefix) }) {
			continue
		}
		if tests := [2]string{m.pkg, m.tests}; !sound[tests] { // tests that fail anyhow would catch everything
			failed, out, err := m.test(dir)
			if err == nil && failed {
				err = fmt.Errorf("%s of %s fails without a mutation: %s", m.tests, m.pkg, out)
			}
			if err != nil {
				return survivors, err
			}
			sound[tests] = true
		}
		ok, out, err := m.try(dir)
		if err != nil {
			return survivors, err
		}
		if verbose {
			os.Stdout.Write(out)
		}
		if ok {
			caught++
			fmt.Printf("caught    %s: %s\n", m.file, m.what)
		} else {
			survivors++
			fmt.Printf("SURVIVED  %s: %s\n", m.file, m.what)
		}
	}
	fmt.Printf("%d caught, %d survived\n", caught, survivors)
	return survivors, nil
}

// try applies the mutation, runs the tests and takes it back. A mutation that does not compile is an error.
func (m mutation) try(dir string) (caught bool, output []byte, err error) {
	path := filepath.Join(dir, m.file)
	source, err := os.ReadFile(path)
	if err != nil {
		return false, nil, err
	}
	old, new := unescape(m.old), unescape(m.new)
	if n := bytes.Count(source, []byte(old)); n != 1 {
		return false, nil, fmt.Errorf("%s: %q occurs %d times, want once", m.file, old, n)
	}
	if err := os.WriteFile(path, bytes.Replace(source, []byte(old), []byte(new), 1), 0o644); err != nil {
		return false, nil, err
	}
	defer func() {
		if e := os.WriteFile(path, source, 0o644); err == nil {
			err = e
		}
	}()
	return m.test(dir)
}

// test runs the tests that ought to notice the mutation.
func (m mutation) test(dir string) (failed bool, output []byte, err error) {
	// -ldflags=-w: linking takes half the time without debugging data.
	args := []string{"test", "-count=1", "-failfast", "-vet=off", "-ldflags=-w", "-run", m.tests, m.pkg}
	if strings.HasPrefix(m.pkg, ".") { // the library's own tests leave out some tests when they are short
		args = append(args, "-short")
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = filepath.Join(dir, "conformance")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	output, err = cmd.CombinedOutput()
	if bytes.Contains(output, []byte("[build failed]")) || bytes.Contains(output, []byte("no tests to run")) {
		return false, output, fmt.Errorf("%s: %s: %s", m.file, m.what, output)
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return true, output, nil
	}
	return false, output, err
}

// unescape turns \n and \t of the list into what they mean.
func unescape(s string) string { return strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(s) }

// repository is the folder above this module.
func repository() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", err
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && rel != "." {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o644)
	})
}
