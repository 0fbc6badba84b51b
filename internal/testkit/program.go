package testkit

import (
	"bytes"
	"io"
	"strings"
)

// Program runs a program in the test's process and returns its exit code and what it printed.
func Program(run func(args []string, stdin io.Reader, stdout, stderr io.Writer) int, stdin string, args []string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}
