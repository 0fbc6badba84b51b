package program

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/tools/dump"
)

// Releases are the versions that podberth follows, as a flag names them.
func Releases() string {
	var known []string
	for _, v := range release.Versions() {
		known = append(known, v.String())
	}
	last := len(known) - 1
	return strings.Join(known[:last], ", ") + " or " + known[last]
}

// Help is what -h prints before the flags.
type Help struct {
	Name     string   // of the program
	Purpose  string   // what the program does, as a sentence after the name
	Usage    []string // ways to call the program
	Examples []string // commands, or lines that begin with # and say what the next command does
	Files    []string // a sample of a file that a flag reads, and lines that begin with #
}

// Set is the flags of a program. Flags makes one.
type Set struct {
	*flag.FlagSet
	help    Help
	stdout  io.Writer
	version bool
}

// Flags returns a set with the flag -version. Help and version go to stdout.
func Flags(h Help, stdout io.Writer) *Set {
	f := &Set{FlagSet: flag.NewFlagSet(h.Name, flag.ContinueOnError), help: h, stdout: stdout}
	f.SetOutput(io.Discard) // Parse returns errors and prints nothing but what was asked for
	f.Usage = func() {}
	f.BoolVar(&f.version, "version", false, "print the version")
	return f
}

// Parse parses the arguments. It prints the help or the version when the arguments ask for it and returns [flag.ErrHelp] then.
// Other errors point to the help.
func Parse(f *Set, args []string) error {
	switch err := f.FlagSet.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		if _, err := io.WriteString(f.stdout, f.text()); err != nil {
			return err
		}
		return flag.ErrHelp
	case err != nil:
		return fmt.Errorf("%w; see %s -h", err, f.Name())
	case f.version:
		if _, err := fmt.Fprintf(f.stdout, "%s %s, Kubernetes %s\n", f.Name(), version(), release.Current.Patch()); err != nil {
			return err
		}
		return flag.ErrHelp
	}
	return nil
}

// version returns the version of the module that the program was built from.
func version() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "(devel)"
}

// text returns the help.
func (f *Set) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", f.help.Name, f.help.Purpose)
	section := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s:\n  %s\n", title, strings.Join(lines, "\n  "))
		}
	}
	section("Usage", f.help.Usage)
	section("Examples", f.help.Examples)
	section("Files", f.help.Files)
	if f.Lookup("f") != nil {
		section("Make the input", []string{dump.Command + " > cluster.yaml"})
	}
	b.WriteString("\nFlags:\n")
	f.VisitAll(func(g *flag.Flag) {
		value, usage := flag.UnquoteUsage(g)
		if value != "" {
			value = " " + value
		}
		fmt.Fprintf(&b, "  -%s%s\n        %s", g.Name, value, usage)
		if ShowsDefault(g) {
			fmt.Fprintf(&b, " (default %s)", g.DefValue)
		}
		b.WriteString("\n")
	})
	return b.String()
}

// ShowsDefault reports whether a help prints the default of a flag. It leaves out zero values, negative numbers, which mean that the flag
// was not given, and the default that is called "default", which the usage names.
func ShowsDefault(f *flag.Flag) bool {
	switch f.DefValue {
	case "", "0", "0s", "false":
		return false
	}
	return !strings.HasPrefix(f.DefValue, "-") && f.DefValue != "default"
}
