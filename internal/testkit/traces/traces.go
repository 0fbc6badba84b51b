// Package traces runs the script that prints recorded traces of real clusters. The repository does not have the traces: the
// environment variable PODBERTH_TRACES names the folder of the script, with an absolute path. Tests are skipped when the
// variable is not set.
package traces

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Variable is the environment variable that names the folder with trace2yaml.py.
const Variable = "PODBERTH_TRACES"

// ErrNone is the error of Read when Variable is not set.
var ErrNone = errors.New(Variable + " names no folder with traces")

// Read returns the nodes and pods of a slice of a trace as YAML documents. The arguments are those of trace2yaml.py:
//
//	openb|dlrm --nodes NUMBER --pods NUMBER [--zones NUMBER] [--spec NAME]
func Read(args ...string) ([]byte, error) {
	folder := os.Getenv(Variable)
	if folder == "" {
		return nil, ErrNone
	}
	out, err := exec.Command("python3", append([]string{filepath.Join(folder, "trace2yaml.py")}, args...)...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("trace2yaml.py %v: %w: %s", args, err, exit.Stderr)
	}
	return out, err
}

// Text is Read for tests. It skips the test when Variable is not set.
func Text(t testing.TB, args ...string) []byte {
	t.Helper()
	out, err := Read(args...)
	if errors.Is(err, ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}
