// Command importers runs the tests of other projects over podberth: it takes a module from the module proxy, puts podberth under named functions of
// it in a temporary copy, runs the module's own tests unchanged, and deletes the copy. None of their code is kept.
//
//	GOWORK=off go run ./importers descheduler
//
// The packages first run as they are: tests that fail then are not counted. A test that differs must be named here with the reason, and a
// reason that no test needs any more is an error. docs/reports/importers.md has the last reports.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// project is a module whose tests run over podberth.
type project struct {
	module, version string
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

var projects = map[string]project{"descheduler": descheduler}

func main() {
	flag.Parse()
	p, ok := projects[flag.Arg(0)]
	if !ok || flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "importers: name one of", strings.Join(slices.Sorted(maps.Keys(projects)), ", "))
		os.Exit(2)
	}
	if err := p.run(); err != nil {
		fmt.Fprintln(os.Stderr, "importers:", err)
		os.Exit(1)
	}
}

func (p project) run() error {
	out, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("the folder of the tree: %w", err)
	}
	dir, err := os.MkdirTemp("", "importers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := p.copy(dir); err != nil {
		return err
	}
	before, err := tests(dir, p.packages)
	if err != nil {
		return err
	}
	fmt.Printf("%s %s as it is: %s\n", p.module, p.version, before)
	if err := p.replace(dir, strings.TrimSpace(string(out))); err != nil {
		return err
	}
	after, err := tests(dir, p.packages)
	if err != nil {
		return err
	}
	fmt.Printf("over podberth: %s\n", after)
	return p.compare(before, after)
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

// command runs the go command outside the workspace. The output is in the error.
func command(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -buildvcs=false")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return out, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out[:min(len(out), 4000)])
	}
	return out, nil
}

// copy copies the module from the module cache, where files are read-only.
func (p project) copy(dir string) error {
	if _, err := command(dir, "mod", "download", p.module+"@"+p.version); err != nil {
		return err
	}
	cache, err := command(dir, "env", "GOMODCACHE")
	if err != nil {
		return err
	}
	from := os.DirFS(filepath.Join(strings.TrimSpace(string(cache)), filepath.FromSlash(p.module)+"@"+p.version))
	return os.CopyFS(dir, from)
}
