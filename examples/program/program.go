// Package program is what the example programs have in common: exit codes, forms of output, tables, and errors of one line.
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
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"sigs.k8s.io/yaml"
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

// forms of output that every program has.
var forms = []string{"table", "json", "yaml"}

// Form defines the flag -o for the form of output: table, json or yaml. CheckForm tells whether it is one of them.
func Form(f *flag.FlagSet, form *string) {
	f.StringVar(form, "o", forms[0], "output: "+strings.Join(forms, ", "))
}

// CheckForm returns an error for a form that is not there.
func CheckForm(form string) error {
	if slices.Contains(forms, form) {
		return nil
	}
	return fmt.Errorf("-o: Unsupported value: %q: supported values: %s", form, strings.Join(forms, ", "))
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

// Render returns v in a form: what table writes for "table", else v as JSON or YAML.
func Render(form string, v any, table func(out *strings.Builder)) ([]byte, error) {
	if form == "table" {
		var b strings.Builder
		table(&b)
		return []byte(b.String()), nil
	}
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	data = append(data, '\n')
	if form == "yaml" {
		return yaml.JSONToYAML(data)
	}
	return data, nil
}

// Print writes the warnings, a line each, and then the result in one piece.
func Print(result []byte, warnings []string, stdout, stderr io.Writer) error {
	for _, w := range warnings {
		fmt.Fprintf(stderr, "warning: %s\n", w)
	}
	_, err := stdout.Write(result)
	return err
}

// Columns writes rows under a header as kubectl does, without blanks at the end of lines.
func Columns(out *strings.Builder, header []string, rows [][]string) {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 8, 3, ' ', 0)
	fmt.Fprintln(t, strings.Join(header, "\t"))
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	t.Flush() // a Buffer never fails
	for line := range strings.Lines(b.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}
