package taintforecast

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/examples/program"
	"github.com/podberth/podberth/internal/testkit"
)

// What the page of a forecast shows is asserted whole.
func TestPage(t *testing.T) {
	for _, name := range []string{"events", "zone-outage"} {
		code, out, errs := forecast("", "-f", shop, "-events", "../testdata/"+name+".yaml", "-admit", "-o", "html")
		require.Zero(t, code, errs)
		testkit.GoldenPage(t, "../testdata/"+name+".page", out)
	}
}

// The longest forecast is allowed, and the shortest.
func TestLengths(t *testing.T) {
	require.NotNil(t, Flags().Lookup("until"))
	one := filepath.Join(t.TempDir(), "one.yaml") // every pass of the monitor looks at every node
	require.NoError(t, os.WriteFile(one, []byte("{apiVersion: v1, kind: Node, metadata: {name: general-a1}}\n"), 0o600))
	for until, code := range map[string]int{"0s": program.OK, longest.String(): program.OK, (longest + 1).String(): program.BadInput, "-1ns": program.BadInput} {
		got, _, errs := forecast("", "-f", one, "-stop", "general-a1", "-until", until)
		require.Equal(t, code, got, "%s: %s", until, errs)
	}
	require.Zero(t, timeline(t, "", "-f", one, "-stop", "general-a1", "-until", "0s").Until)
	script := func(at string) string { return "events: [{at: " + at + ", node: general-a1, heartbeats: stop}]" }
	last := longest - 600_000_000_000
	code, _, errs := forecast(script(last.String()), "-f", one, "-events", "-")
	require.Zero(t, code, errs)
	code, _, errs = forecast(script((last + 1).String()), "-f", one, "-events", "-")
	require.Equal(t, program.BadInput, code)
	require.Contains(t, errs, "the last one must be at least 10m before")
	code, out, errs := forecast("", "-f", "none.yaml", "-stop", "general-a1")
	require.Equal(t, program.BadInput, code)
	require.Empty(t, out)
	require.Contains(t, errs, "none.yaml")
}
