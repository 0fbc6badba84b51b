package place

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/tools/program"
)

// Flags that do nothing together are refused.
func TestFlagsThatDoNothingTogether(t *testing.T) {
	for _, c := range []struct {
		args string
		want string
	}{
		{"-explain default/p -how-many default/p", "-how-many: Forbidden: does nothing with -explain"},
		{"-explain default/p -log log", "-log: Forbidden: does nothing with -explain"},
		{"-explain default/p -detail -o json", "-detail: Forbidden: does nothing with -explain"},
		{"-explain default/p -no-headers", "-no-headers: Forbidden: does nothing with -explain"},
		{"-explain default/p -o wide", `-o: Unsupported value: "wide": does nothing with -explain`},
		{"-how-many default/p -log log", "-log: Forbidden: does nothing with -how-many"},
		{"-how-many default/p -timeline x", "-timeline: Forbidden: does nothing with -how-many"},
		{"-how-many default/p -grace", "-grace: Forbidden: does nothing with -how-many"},
		{"-pack -timeline x", "-timeline: Forbidden: does nothing with -pack"},
		{"-pack -o wide", `-o: Unsupported value: "wide": does nothing with -pack`},
		{"-how-many default/p -seed 7", "-seed: Forbidden: does nothing with -how-many"},
		{"-how-many default/p -o wide", `-o: Unsupported value: "wide": does nothing with -how-many`},
		{"-all", "-all: Invalid value: true: goes with -explain"},
		{"-where n1", `-where: Invalid value: "n1": goes with -explain`},
		{"-count 1", "-count: Invalid value: goes with -add"},
		{"-detail", "-detail: Invalid value: true: goes with -o json or -o yaml"},
		{"-no-headers -o json", "-no-headers: Invalid value: true: goes with tables"},
		{"-log - -o json", `-log: Invalid value: "-": goes with tables`},
	} {
		t.Run(c.args, func(t *testing.T) {
			code, out, errs := simulate(t, documents(oneNode, onePod), append([]string{"-f", "-"}, strings.Fields(c.args)...)...)
			require.Equal(t, program.BadInput, code)
			require.Empty(t, out)
			require.Equal(t, "place: "+c.want+"\n", errs)
		})
	}
}

// -log - writes the log to standard output, before the table, and no file.
func TestLogToStandardOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	code, out, errs := simulate(t, documents(oneNode, onePod), "-f", "-", "-log", "-")
	require.Zero(t, code, errs)
	file := filepath.Join(t.TempDir(), "log")
	_, table, _ := simulate(t, documents(oneNode, onePod), "-f", "-", "-log", file)
	log, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotEmpty(t, log)
	require.Equal(t, string(log)+"\n"+table, out)
	_, err = os.Stat("-")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// -n prints one namespace and completes names; -no-headers leaves the header and the summary out.
func TestNamespaceAndHeaders(t *testing.T) {
	code, out, errs := simulate(t, crowd(), "-f", "-", "-n", "default")
	require.Zero(t, code, errs)
	require.Equal(t, "NAMESPACE   NAME   PRIORITY   OUTCOME     NODE   VICTIMS       MESSAGE\ndefault     high   10         Scheduled   n1     default/low\n\n1 scheduled, 0 unschedulable, 0 gated, 1 victim\n", out)
	_, out, _ = simulate(t, crowd(), "-f", "-", "-n", "default", "--no-headers")
	require.Equal(t, "default   high   10   Scheduled   n1   default/low\n", out)
	a := answered(t, crowd(), "-n", "batch")
	require.Len(t, a.Pods, 4)
	require.Len(t, a.Attempts, 4)
	require.Equal(t, summary{Unschedulable: 4}, a.Summary)
	require.Contains(t, firstLines(t, crowd(), "x-0", "-n", "batch")[0], "Pod batch/x-0 waits: ")
	require.Contains(t, firstLines(t, crowd(), "high")[0], "Pod default/high waits: ")
}

// Help and version go to standard output. Flags have their own words for the value and no internal defaults.
func TestHelp(t *testing.T) {
	code, out, errs := simulate(t, "", "-h")
	require.Zero(t, code)
	require.Empty(t, errs)
	require.Contains(t, out, "\nExamples:\n")
	require.NotRegexp(t, `(?m)^  -\S+ (value|int|uint|string|float|duration)$|default -`, out)
	code, out, errs = simulate(t, "", "-version")
	require.Zero(t, code)
	require.Empty(t, errs)
	require.Regexp(t, `^place \S+, Kubernetes v1\.37\.2\n$`, out)
}
