package program

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/podberth/podberth/tools/report"
)

// Tables are the flags about tables, -n and -no-headers. The zero value shows all namespaces and headers.
type Tables struct {
	Namespace string // "" shows all
	Layout    report.Layout
	All       bool // prints every line; Cut has no effect
}

// MostLines is how many lines Cut leaves.
const MostLines = 60

// OfNames is what the help says of -n when names of pods are flags of the program.
const OfNames = ", and take it for names without a namespace"

// Flags defines -n and -no-headers. things are what is printed: "pods". more is what the help says of -n besides: [OfNames], or nothing.
func (t *Tables) Flags(f *Set, things, more string) {
	f.StringVar(&t.Namespace, "n", "", "print the "+things+" of this `NAMESPACE` only"+more)
	f.BoolVar(&t.Layout.NoHeaders, "no-headers", false, "print tables without their headers and the summary")
}

// AllFlag defines -all, for programs that Cut their tables.
func (t *Tables) AllFlag(f *Set) {
	f.BoolVar(&t.All, "all", false, fmt.Sprintf("print the whole of the tables; without the flag the first %d lines", MostLines))
}

// Cut shortens a table to at most [MostLines] lines. The last line of the table then says how many more there are, and the lines of end
// always follow. With All nothing is cut.
func (t *Tables) Cut(out *strings.Builder, end string) {
	text := out.String()
	lines, most := strings.Count(text, "\n"), MostLines-strings.Count(end, "\n")
	if t.All || lines <= most {
		out.WriteString(end)
		return
	}
	out.Reset()
	kept := 0
	for line := range strings.Lines(text) {
		if kept++; kept == most {
			break
		}
		out.WriteString(line)
	}
	report.Textf(out, "%d more lines; --all prints them\n", lines-most+1)
	out.WriteString(end)
}

// Fit makes the tables as wide as the terminal that stdout is. Texts that are too long go on in the next line. Tables that go
// elsewhere are as wide as their texts.
func (t *Tables) Fit(stdout io.Writer) { t.Layout.Width, t.Layout.Wrap = report.Width(stdout), true }

// Check returns an error when the flags do nothing with the form of output.
func (t *Tables) Check(form string) error {
	if t.Layout.NoHeaders && report.IsData(form) {
		return errors.New("-no-headers: Invalid value: true: goes with tables")
	}
	return nil
}

// Shows reports whether things of a namespace are printed.
func (t *Tables) Shows(namespace string) bool { return t.Namespace == "" || t.Namespace == namespace }

// Qualified returns a name with its namespace: as it is given, of -n, or default. "" stays "".
func (t *Tables) Qualified(name string) string {
	switch {
	case name == "" || strings.Contains(name, "/"):
		return name
	case t.Namespace != "":
		return t.Namespace + "/" + name
	}
	return "default/" + name
}
