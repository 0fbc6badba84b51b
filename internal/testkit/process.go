package testkit

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// asProgram is the environment variable that makes a test binary the program.
const asProgram = "PODBERTH_AS_PROGRAM"

// withoutExit is the exit code of a program that returned from main: the programs leave with os.Exit.
const withoutExit = 99

// Main is the TestMain of a package main. It runs main in the processes of Process.
func Main(m *testing.M, main func()) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(withoutExit)
	}
	os.Exit(m.Run())
}

// Process returns the command that runs the program whose tests these are. The process ends with the test.
func Process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	c := exec.CommandContext(t.Context(), self, args...)
	c.Env = append(os.Environ(), asProgram+"=1")
	return c
}

// Streams checks how main calls the program: the version goes to standard output, standard input is read, an error goes to standard
// error, and the exit code of the process is the program's. The arguments make the program read standard input.
func Streams(t *testing.T, name string, args ...string) {
	t.Helper()
	run := func(stdin string, args ...string) (code int, stdout, stderr string) {
		var out, errs bytes.Buffer
		c := Process(t, args...)
		c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &errs
		if err := c.Run(); !errors.As(err, new(*exec.ExitError)) {
			require.NoError(t, err)
		}
		return c.ProcessState.ExitCode(), out.String(), errs.String()
	}
	code, out, errs := run("", "-version")
	require.Zero(t, code, errs)
	require.Empty(t, errs)
	require.Contains(t, out, name+" ")
	code, out, errs = run("not a document: [", args...)
	require.Equal(t, 2, code)
	require.Empty(t, out)
	require.Contains(t, errs, name+": standard input: document 1: ")
}
