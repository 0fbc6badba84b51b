package program

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
	var help strings.Builder
	var files []string
	var form string
	f := Flags("x", "does things.", "x -f PATH", &help)
	Inputs(f, &files, "input")
	Form(f, &form)
	require.NoError(t, Parse(f, []string{"-f", "a", "-f", "-"}))
	require.Equal(t, []string{"a", "-"}, files)
	require.Equal(t, "table", form, "unless it is given")
	require.ErrorIs(t, Parse(f, []string{"-h"}), flag.ErrHelp)
	require.True(t, strings.HasPrefix(help.String(), "x does things.\n\nusage: x -f PATH\n\n"), help.String())
	require.ErrorContains(t, Parse(f, []string{"-none"}), "; see x -h")
	require.NoError(t, CheckForm("yaml"))
	require.EqualError(t, CheckForm("xml"), `-o: Unsupported value: "xml": supported values: table, json, yaml`)
	require.NoError(t, CheckInputs(files))
	require.EqualError(t, CheckInputs(nil), "-f: Required value: at least one file, folder or -")
}

func TestRender(t *testing.T) {
	type answer struct {
		Pod string `json:"pod"`
	}
	table := func(out *strings.Builder) {
		Columns(out, []string{"POD", "NODE"}, [][]string{{"default/web", ""}, {"db", "n1"}})
	}
	for form, want := range map[string]string{
		"table": "POD           NODE\ndefault/web\ndb            n1\n",
		"json":  "{\n  \"pod\": \"a\"\n}\n",
		"yaml":  "pod: a\n",
	} {
		got, err := Render(form, answer{"a"}, table)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	_, err := Render("json", func() {}, table)
	require.Error(t, err, "what JSON cannot hold")
}

func TestPrint(t *testing.T) {
	var out, errs strings.Builder
	require.NoError(t, Print([]byte("result\n"), []string{"one", "two"}, &out, &errs))
	require.Equal(t, "result\n", out.String())
	require.Equal(t, "warning: one\nwarning: two\n", errs.String())
}
