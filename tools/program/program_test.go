package program

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/report"
)

func TestCode(t *testing.T) {
	var errs strings.Builder
	require.Equal(t, OK, Code("x", nil, &errs))
	require.Equal(t, OK, Code("x", fmt.Errorf("wrapped: %w", flag.ErrHelp), &errs))
	require.Empty(t, errs.String())
	require.Equal(t, BadInput, Code("x", errors.New("a.yaml: bad"), &errs))
	require.Equal(t, "x: a.yaml: bad\n", errs.String())
}

// Errors that were joined are a line each, and a text keeps the lines of its own. Of all others a line end shows as \n: a name of the
// input cannot write a line.
func TestLines(t *testing.T) {
	var errs strings.Builder
	Code("x", errors.Join(errors.New("a\nb"), fmt.Errorf("file: %w", Lines{Err: errors.New("c\n- d\x1b")})), &errs)
	require.Equal(t, "x: a\\nb\nx: file: c\n- d\\x1b\n", errs.String())
}

func TestFlags(t *testing.T) {
	var out strings.Builder
	var files []string
	f := Flags(Help{Name: "x", Purpose: "does things.", Usage: []string{"x -f PATH"}, Examples: []string{"# read a file", "x -f cluster.yaml"}, Files: []string{"# plan.yaml, for -plan", "steps: []"}}, &out)
	Inputs(f, &files, "input")
	f.Int("percentage", -1, "`PERCENT` of nodes")
	f.Int("count", 1, "`N` copies")
	require.NoError(t, Parse(f, []string{"-f", "a", "-f", "-"}))
	require.Equal(t, []string{"a", "-"}, files)
	require.EqualError(t, Parse(f, []string{"-none"}), "flag provided but not defined: -none; see x -h")
	require.Empty(t, out.String(), "an error prints nothing")
	require.ErrorIs(t, Parse(f, []string{"-h"}), flag.ErrHelp)
	require.Equal(t, `x does things.

Usage:
  x -f PATH

Examples:
  # read a file
  x -f cluster.yaml

Files:
  # plan.yaml, for -plan
  steps: []

Make the input:
  `+dump.Command+` > cluster.yaml

Flags:
  -count N
        N copies (default 1)
  -f PATH
        input, from a file, a folder, or - for standard input: PATH, repeatable
  -percentage PERCENT
        PERCENT of nodes
  -version
        print the version
`, out.String())
	out.Reset()
	require.ErrorIs(t, Parse(f, []string{"--version"}), flag.ErrHelp)
	require.Regexp(t, `^x \S+, Kubernetes v1\.37\.2\n$`, out.String())
	require.NoError(t, CheckInputs(files))
	require.EqualError(t, CheckInputs(nil), "-f: Required value: at least one file, folder or -")
}

func TestNear(t *testing.T) {
	names := []string{"shop/web-1", "shop/web-2", "shop/api", "data/web-1", "data/db-0"}
	for wrong, want := range map[string]string{
		"shop/wbe-1":  "; near: shop/web-1, shop/web-2",
		"ml/web-1":    "; near: data/web-1, shop/web-1",
		"shop/web":    "; near: shop/web-1, shop/web-2, data/web-1",
		"zzz/nothing": "",
	} {
		require.Equal(t, want, Near(wrong, names), wrong)
	}
	require.Empty(t, Near("a", nil))
}

func TestTables(t *testing.T) {
	var tables Tables
	f := Flags(Help{Name: "x"}, &strings.Builder{})
	tables.Flags(f, "pods", OfNames)
	require.True(t, tables.Shows("shop"), "all without -n")
	require.Equal(t, "default/web", tables.Qualified("web"))
	require.NoError(t, Parse(f, []string{"-n", "shop", "--no-headers"}))
	require.True(t, tables.Shows("shop"))
	require.False(t, tables.Shows("data"))
	require.Equal(t, []string{"shop/web", "data/db", ""}, []string{tables.Qualified("web"), tables.Qualified("data/db"), tables.Qualified("")})
	require.NoError(t, tables.Check("table"))
	require.EqualError(t, tables.Check("json"), "-no-headers: Invalid value: true: goes with tables")
}

// A long table is cut to 60 lines, unless all are asked for. The end stays.
func TestCut(t *testing.T) {
	cut := func(all bool, lines int, end string) string {
		var b strings.Builder
		b.WriteString(strings.Repeat("x\n", lines))
		(&Tables{All: all}).Cut(&b, end)
		return b.String()
	}
	require.Equal(t, strings.Repeat("x\n", 60), cut(false, 60, ""))
	require.Equal(t, strings.Repeat("x\n", 59)+"2 more lines; --all prints them\n", cut(false, 61, ""))
	require.Equal(t, strings.Repeat("x\n", 57)+"3 more lines; --all prints them\n\nend\n", cut(false, 60, "\nend\n"))
	require.Equal(t, strings.Repeat("x\n", 58)+"\nend\n", cut(false, 58, "\nend\n"))
	require.Equal(t, strings.Repeat("x\n", 61), cut(true, 61, ""))
	var tables Tables
	f := Flags(Help{Name: "x"}, &strings.Builder{})
	tables.AllFlag(f)
	require.NoError(t, Parse(f, []string{"-all"}))
	require.True(t, tables.All)
}

// Reading says how far it is every ten seconds, and nothing when it is done.
func TestReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		tell := Reading(&out)
		time.Sleep(12 * time.Second) // of the bubble
		tell(4<<20, 5<<20)
		require.Equal(t, "reading: 4 of 5 MiB, 0 a second, 3s left\n", out.String())
		time.Sleep(12 * time.Second)
		tell(5<<20, 5<<20)
		require.Equal(t, 1, strings.Count(out.String(), "\n"))

		var screen terminal
		tell = Reading(&screen)
		time.Sleep(2 * time.Second)
		tell(4<<20, 5<<20)
		require.Contains(t, screen.String(), "4 of 5 MiB, 2 a second")
		time.Sleep(2 * time.Second)
		tell(5<<20, 5<<20)
		require.True(t, strings.HasSuffix(screen.String(), "left\r\x1b[K"), "the bar goes")
	})
}

// Package flag prints nothing by itself.
func TestQuietFlags(t *testing.T) {
	require.Equal(t, io.Discard, Flags(Help{Name: "x"}, &strings.Builder{}).Output())
}

// What cannot be written is an error of Parse, and a wrong command line is one of Code.
func TestBrokenOutput(t *testing.T) {
	for _, arg := range []string{"-h", "-version"} {
		require.ErrorIs(t, Parse(Flags(Help{Name: "x"}, broken{}), []string{arg}), errBroken)
	}
}

var errBroken = errors.New("the pipe is broken")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// The help has no section without lines, and no default that is nothing.
func TestShortHelp(t *testing.T) {
	var out strings.Builder
	f := Flags(Help{Name: "x", Purpose: "waits."}, &out)
	for name, value := range map[string]string{"a": "", "b": "0", "c": "0s", "d": "false", "e": "-3", "f2": "3"} {
		f.String(name, value, "something")
	}
	require.ErrorIs(t, Parse(f, []string{"-h"}), flag.ErrHelp)
	require.Equal(t, "x waits.\n\nFlags:\n  -a string\n        something\n  -b string\n        something\n  -c string\n        something\n  -d string\n        something\n"+
		"  -e string\n        something\n  -f2 string\n        something (default 3)\n  -version\n        print the version\n", out.String())
}

// The exit code is 1 for the answer no, and 2 for an error whatever the answer is.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		no   bool
		err  error
		want int
	}{{false, nil, 0}, {true, nil, 1}, {false, errBroken, 2}, {true, errBroken, 2}, {true, flag.ErrHelp, 0}} {
		var errs strings.Builder
		require.Equal(t, c.want, Run("x", func() (bool, error) { return c.no, c.err }, &errs))
		require.Equal(t, c.want == 2, errs.String() == "x: the pipe is broken\n", errs.String())
	}
}

// Names that are near come first, then names that have the wrong one in them; there are at most three.
func TestNearest(t *testing.T) {
	for _, c := range []struct {
		wrong, want string
		names       []string
	}{
		{"node-1", "; near: node-1, node-10, node-2", []string{"node-2", "node-3", "node-10", "node-1"}},
		{"ab", "; near: a, aa, xxabxx", []string{"xxabxx", "aa", "xxxx", "a"}},
		{"abcdefgh", "; near: abcdefxx", []string{"abcdexxx", "abcdefxx"}},
		{"abc", "", []string{"xxx", "", "ab12"}},
		{"n/", "; near: n/a", []string{"n/a", "zzzz/b"}},
		{"x/web", "; near: a/web, x/wob, b/web-1", []string{"b/web-1", "a/web", "x/wob", "web/c"}},
		{"web", "; near: a/web-1", []string{"a/web-1"}},
		{"web-1-long", "", []string{"web-1"}},
		{"x/web", "; near: abcdefgh/web, x/wob", []string{"x/wob", "abcdefgh/web"}},
		{"web", "; near: aaaa-web, zz-web", []string{"zz-web", "aaaa-web"}},
		{"x/web", "; near: zzzzzz/web, x/web2", []string{"x/web2", "zzzzzz/web"}},
	} {
		require.Equal(t, c.want, Near(c.wrong, c.names), c.wrong)
	}
	require.NoError(t, CheckNode("-node", "n1", []string{"n0", "n1"}))
	require.EqualError(t, CheckNode("-node", "n1", []string{"n2", "other"}), `-node: Not found: "n1": no such node in the input; near: n2`)
}

// terminal is 60 characters wide.
type terminal struct{ strings.Builder }

func (*terminal) Width() int { return 60 }

// A table is as wide as the terminal. Reading says nothing before it takes long.
func TestTerminal(t *testing.T) {
	var tables Tables
	var out terminal
	tables.Fit(&out)
	require.Equal(t, Tables{Layout: report.Layout{Width: 60, Wrap: true}}, tables)
	tell := Reading(&out)
	tell(1<<20, 5<<20)
	tell(5<<20, 5<<20)
	require.Empty(t, out.String())
	f := Flags(Help{Name: "x"}, &out)
	tables.Flags(f, "pods", OfNames)
	require.ErrorIs(t, Parse(f, []string{"-h"}), flag.ErrHelp)
	require.Contains(t, out.String(), "  -n NAMESPACE\n        print the pods of this NAMESPACE only, and take it for names without a namespace\n")
	require.NoError(t, (&Tables{}).Check("json"))
}
