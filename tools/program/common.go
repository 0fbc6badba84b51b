package program

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/report"
)

// Common is what every command that reads a dump has: its input and the form of its answer. The options of a command embed it.
type Common struct {
	Files  []string
	Input  dump.Options
	Output string // a form of package report
	Tables Tables
}

// InputFlags defines -f, whose help begins with usage, and the flags of the input.
func (c *Common) InputFlags(f *Set, usage string) {
	Inputs(f, &c.Files, usage)
	c.Input.Flags(f.FlagSet)
}

// OutputFlags defines -o with these forms besides those of every command, and the flags of [Tables.Flags].
func (c *Common) OutputFlags(f *Set, things, more string, forms ...string) {
	report.Flag(f.FlagSet, &c.Output, forms...)
	c.Tables.Flags(f, things, more)
}

// Check returns the first error of the flags: an argument that is left, no input, an output that is none of the forms.
func (c *Common) Check(f *Set, forms ...string) error {
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; see %s -h", f.Arg(0), f.Name())
	}
	return cmp.Or(CheckInputs(c.Files), report.Check(c.Output, forms...), c.Tables.Check(c.Output))
}

func (c *Common) common() *Common { return c }

// Main returns the function Run of a command with options O, which embed [Common]. Run parses the arguments, answers and returns
// the exit code: No when answer reports no, otherwise the [Code] of the error. What the arguments ask for, help or the version,
// parse writes to stdout. Tables are as wide as the terminal, and stderr shows how far a long input is read. When the context has
// ended nothing more is written.
func Main[O any, P interface {
	*O
	common() *Common
}](name string, parse func(args []string, stdout io.Writer) (O, error), answer func(ctx context.Context, o O, stdin io.Reader, stdout, stderr io.Writer) (no bool, err error)) func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
		stdout = Until(ctx, stdout)
		return Run(name, func() (no bool, err error) {
			o, err := parse(args, stdout)
			if err != nil {
				return false, err
			}
			c := P(&o).common()
			c.Tables.Fit(stdout)
			c.Input.Progress = Reading(stderr)
			return answer(ctx, o, stdin, stdout, stderr)
		}, stderr)
	}
}

// Never is for the answer of a command that never says no.
func Never[O any](answer func(ctx context.Context, o O, stdin io.Reader, stdout, stderr io.Writer) error) func(ctx context.Context, o O, stdin io.Reader, stdout, stderr io.Writer) (no bool, err error) {
	return func(ctx context.Context, o O, stdin io.Reader, stdout, stderr io.Writer) (no bool, err error) {
		return false, answer(ctx, o, stdin, stdout, stderr)
	}
}
