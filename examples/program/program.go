// Package program is what the example programs share around their answer: exit codes, flags, and errors of one line.
// Package report writes the answer.
//
//	func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
//		o, err := parseFlags(args, stderr)
//		if err == nil {
//			err = answer(o, stdin, stdout, stderr)
//		}
//		return program.Code("drain", err, stderr)
//	}
package program

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// Exit codes of the programs.
const (
	OK       = 0
	No       = 1 // the answer is no, and a flag asked for it
	BadInput = 2
)

// Code returns the exit code for an error: OK for none and for flag.ErrHelp, else BadInput, with a line on stderr that
// begins with the program's name.
func Code(name string, err error, stderr io.Writer) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return OK
	}
	fmt.Fprintf(stderr, "%s: %v\n", name, err)
	return BadInput
}

// Flags returns an empty set of flags for a program, whose help says what it is for and how it is called.
func Flags(name, purpose, usage string, stderr io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprintf(stderr, "%s %s\n\nusage: %s\n\n", name, purpose, usage)
		f.PrintDefaults()
	}
	return f
}

// Parse parses the arguments. Errors but flag.ErrHelp point to the help.
func Parse(f *flag.FlagSet, args []string) error {
	err := f.Parse(args)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return err
	}
	return fmt.Errorf("%w; see %s -h", err, f.Name())
}

// Inputs defines the flag -f, which may be given several times.
func Inputs(f *flag.FlagSet, files *[]string, usage string) {
	f.Func("f", usage+", repeatable: a file, a folder, or - for standard input", func(s string) error {
		*files = append(*files, s)
		return nil
	})
}

// CheckInputs returns an error when there is no input.
func CheckInputs(files []string) error {
	if len(files) == 0 {
		return errors.New("-f: Required value: at least one file, folder or -")
	}
	return nil
}
