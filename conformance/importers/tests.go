package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

const failed = "fail"

// results has what go test says of each test, by package and name: pass, fail or skip.
type results map[string]string

// String counts the tests.
func (r results) String() string {
	count := map[string]int{}
	for _, result := range r {
		count[result]++
	}
	return fmt.Sprintf("%d tests pass, %d fail, %d are skipped", count["pass"], count[failed], count["skip"])
}

// tests runs the tests of packages. The error says that they could not run, not that some fail.
func tests(dir string, packages []string) (results, error) {
	cmd := exec.Command("go", append([]string{"test", "-json", "-p", "1"}, packages...)...)
	cmd.Dir, cmd.Env = dir, environment()
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	found := results{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var e struct{ Action, Package, ImportPath, Test, Output string }
		if err := dec.Decode(&e); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		switch {
		case e.Action == "build-fail":
			return nil, fmt.Errorf("%s does not build:\n%s%s", e.ImportPath, out[:min(len(out), 4000)], complaints.String())
		case e.Test != "" && (e.Action == "pass" || e.Action == failed || e.Action == "skip"):
			found[e.Package+" "+e.Test] = e.Action
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no test ran\n%s", complaints.String())
	}
	return found, nil
}
