// Package report (experimental) writes the answers of the commands: as tables for people, as JSON or YAML for other programs.
// Package dump reads their input.
//
//	var form string
//	report.Flag(flags, &form)
//	…
//	out, err := report.Render(form, answer, func(b *strings.Builder) {
//		b.WriteString(report.Columns([]string{"POD", "NODE"}, rows))
//	})
//	if err == nil {
//		err = report.Print(out, warnings, os.Stdout, os.Stderr)
//	}
//
// The functions hold no state. They may be called at the same time.
package report

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Forms returns the forms of output that every program has: table, json and yaml. The first is the default.
func Forms() []string { return []string{"table", "json", "yaml"} }

// Flag defines the flag -o for the form of output. The forms are those of [Forms], and more for this program.
func Flag(f *flag.FlagSet, form *string, more ...string) {
	forms := append(Forms(), more...)
	f.StringVar(form, "o", forms[0], "output in this `FORM`: "+strings.Join(forms, ", "))
}

// Check returns an error when form is neither in [Forms] nor in more.
func Check(form string, more ...string) error {
	forms := append(Forms(), more...)
	if slices.Contains(forms, form) {
		return nil
	}
	return fmt.Errorf("-o: Unsupported value: %q: supported values: %s", form, strings.Join(forms, ", "))
}

// IsData reports whether [Data] writes the form: json and yaml.
func IsData(form string) bool { return form == "json" || form == "yaml" }

// Data returns v as YAML when form is "yaml" and as indented JSON otherwise, with a line feed at the end. The error is that
// of package json.
func Data(form string, v any) ([]byte, error) {
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

// Render returns v as [Data] does when form is json or yaml, and what table writes otherwise.
func Render(form string, v any, table func(out *strings.Builder)) ([]byte, error) {
	if IsData(form) {
		return Data(form, v)
	}
	var b strings.Builder
	table(&b)
	return []byte(b.String()), nil
}

// Print writes the warnings to stderr and then the result to stdout in one piece. Warnings about objects that the result is not about
// ([Warnings.Aside]) come after it. The error is that of stdout.
func Print(result []byte, warnings Warnings, stdout, stderr io.Writer) error {
	before, after := warnings.Part()
	before.Print(stderr)
	_, err := stdout.Write(result)
	if err == nil {
		after.Print(stderr)
	}
	return err
}
