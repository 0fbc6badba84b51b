// Package program (experimental) is what the commands share around their answer: exit codes, flags, help, and errors of one line.
// Package [report] writes the answer.
//
//	err := program.Parse(flags, args)
//	if err == nil {
//		err = answer // what the command does
//	}
//	os.Exit(program.Code("drain", err, os.Stderr)) // 0, or the code of the error, which stands on one line
package program

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/podberth/podberth/tools/report"
)

// Exit codes of the programs.
const (
	OK       = 0
	No       = 1 // the answer is no, and a flag asked for it
	BadInput = 2
)

// Code returns the exit code for an error: OK for nil and for [flag.ErrHelp], [BadInput] for every other error. It writes that
// error to stderr as a line that begins with the program's name. Errors that were joined are a line each.
func Code(name string, err error, stderr io.Writer) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return OK
	}
	for _, e := range apart(err) {
		lines := []string{e.Error()}
		if errors.As(e, new(Lines)) {
			lines = strings.Split(lines[0], "\n")
		}
		report.Textf(stderr, "%s: %s\n", name, lines[0])
		for _, line := range lines[1:] {
			report.Textf(stderr, "%s\n", line)
		}
	}
	return BadInput
}

// Lines is an error whose text has lines of its own, such as a configuration as it should be. [Code] keeps them.
type Lines struct{ Err error }

// Error returns the text of Err.
func (e Lines) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e Lines) Unwrap() error { return e.Err }

// apart returns the errors that err joins, or err alone.
func apart(err error) (list []error) {
	joined, is := err.(interface{ Unwrap() []error })
	if !is {
		return []error{err}
	}
	for _, e := range joined.Unwrap() {
		list = append(list, apart(e)...)
	}
	return list
}

// Run answers the question of the command line and returns the exit code: No when answer reports no, otherwise the [Code] of its
// error.
func Run(name string, answer func() (no bool, err error), stderr io.Writer) int {
	no, err := answer()
	if err == nil && no {
		return No
	}
	return Code(name, err, stderr)
}

// Inputs defines the flag -f, which may be given several times.
func Inputs(f *Set, files *[]string, usage string) {
	f.Func("f", usage+", from a file, a folder, or - for standard input: `PATH`, repeatable", func(s string) error {
		*files = append(*files, s)
		return nil
	})
}

// Reading returns a function for [dump.Options.Progress]. It says on stderr how far the input is read when that takes long.
func Reading(stderr io.Writer) func(done, total int64) {
	p := report.NewProgress(stderr, "reading", "MiB", nil)
	return func(done, total int64) {
		if done == total {
			p.End()
			return
		}
		p.Step(int(done>>20), int(total>>20))
	}
}

// At returns the time that -at gives.
func At(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, fmt.Errorf("-at: Invalid value: %q: must be a time such as 2026-03-02T08:00:00Z", text)
	}
	return t, nil
}

// CheckInputs returns an error when there is no input.
func CheckInputs(files []string) error {
	if len(files) == 0 {
		return errors.New("-f: Required value: at least one file, folder or -")
	}
	return nil
}
