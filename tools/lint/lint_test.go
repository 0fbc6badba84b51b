package lint

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/internal/schema"
	"github.com/podberth/podberth/tools/program"
)

func linting(stdin string, args ...string) (code int, stdout, stderr string) {
	return testkit.Program(Run, stdin, args)
}

var shipped = []string{"-f", "testdata/manifests.yaml", "-cluster", "testdata/cluster.yaml"}

// The output on the shipped manifests is asserted whole, in every form.
func TestShippedManifests(t *testing.T) {
	for form, ending := range map[string]string{"table": "table", "json": "json", "yaml": "out.yaml", "sarif": "sarif"} {
		code, out, errs := linting("", append(shipped, "-o", form)...)
		require.Equal(t, program.No, code, errs)
		testkit.Golden(t, "testdata/manifests."+ending, out)
	}
	code, out, errs := linting("", "-f", "testdata/manifests.yaml")
	require.Zero(t, code, "%s %s", out, errs) // without a cluster nothing is proved
}

// Exit codes, and flags that do not fit.
func TestFlags(t *testing.T) {
	code, help, _ := linting("", "-h")
	require.Zero(t, code)
	require.Contains(t, help, "lint -f PATH [-cluster PATH] [flags]")
	code, rules, _ := linting("", "-rules")
	require.Zero(t, code)
	require.Contains(t, rules, "spread-conflict")
	for _, c := range []struct{ args, want string }{
		{"", "-f"},
		{"-f testdata/manifests.yaml -o csv", "csv"},
		{"-f testdata/manifests.yaml web", `unexpected argument "web"`},
		{"-f testdata/manifests.yaml -cluster=", "must be a path"},
		{"-f testdata/manifests.yaml -cluster no/such/file", "no/such/file"},
	} {
		code, out, errs := linting("", strings.Fields(c.args)...)
		require.Equal(t, program.BadInput, code, c.args)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
	}
	code, out, _ := linting("", append(shipped, "-n", "default")...)
	require.Zero(t, code)
	require.Equal(t, "0 errors, 0 warnings, 0 notes\n", out)
}

// The JSON has the form of the schema, and the SARIF is what the format asks for.
func TestForms(t *testing.T) {
	_, out, _ := linting("", append(shipped, "-o", "json")...)
	_, baseline, _ := linting("", append(shipped, "-o", "json", "-baseline", "testdata/manifests.json")...)
	schema.Check(t, testkit.Golden, map[string]any{"LintReport": lintReport{}}, []string{out, baseline}, nil)
	_, out, _ = linting("", append(shipped, "-o", "sarif")...)
	var s sarif
	require.NoError(t, json.Unmarshal([]byte(out), &s))
	require.Equal(t, "2.1.0", s.Version)
	known := map[string]bool{}
	for _, r := range s.Runs[0].Tool.Driver.Rules {
		known[r.ID] = true
	}
	require.NotEmpty(t, s.Runs[0].Results)
	for _, r := range s.Runs[0].Results {
		require.True(t, known[r.RuleID])
	}
}

// terminal is 60 characters wide.
type terminal struct{ strings.Builder }

func (*terminal) Width() int { return 60 }

// The table of the rules is as wide as the terminal.
func TestTerminal(t *testing.T) {
	var out terminal
	require.Zero(t, Run(t.Context(), []string{"-rules"}, nil, &out, &strings.Builder{}))
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, len([]rune(line))-1, 60, line)
	}
}
