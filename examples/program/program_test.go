package program

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/examples/dump"
)

func TestCode(t *testing.T) {
	var errs strings.Builder
	require.Equal(t, OK, Code("x", nil, &errs))
	require.Equal(t, OK, Code("x", fmt.Errorf("wrapped: %w", flag.ErrHelp), &errs))
	require.Empty(t, errs.String())
	require.Equal(t, BadInput, Code("x", errors.New("a.yaml: bad"), &errs))
	require.Equal(t, "x: a.yaml: bad\n", errs.String())
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
	require.Regexp(t, `^x \S+, Kubernetes v1\.36\.3\n$`, out.String())
	require.NoError(t, CheckInputs(files))
	require.EqualError(t, CheckInputs(nil), "-f: Required value: at least one file, folder or -")
}

func TestNear(t *testing.T) {
	names := []string{"shop/web-1", "shop/web-2", "shop/api", "data/web-1", "data/db-0"}
	for wrong, want := range map[string]string{
		"shop/wbe-1":  "; near: shop/web-1",
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
	tables.Flags(f, OfNames)
	require.True(t, tables.Shows("shop"), "all without -n")
	require.Equal(t, "default/web", tables.Qualified("web"))
	require.NoError(t, Parse(f, []string{"-n", "shop", "--no-headers"}))
	require.True(t, tables.Shows("shop"))
	require.False(t, tables.Shows("data"))
	require.Equal(t, []string{"shop/web", "data/db", ""}, []string{tables.Qualified("web"), tables.Qualified("data/db"), tables.Qualified("")})
	require.NoError(t, tables.Check("table"))
	require.EqualError(t, tables.Check("json"), "-no-headers: Invalid value: true: goes with tables")
}
