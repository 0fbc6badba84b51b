package command_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The help of a command has its examples, and its own words for flags that a command understands in its own way.
func TestExamplesOfHelps(t *testing.T) {
	for name, want := range map[string][]string{
		"consolidate": {"# as few nodes as possible\n", "kubectl podberth consolidate\n", "consolidate -f cluster.yaml --one-step\n"},
		"place":       {"# the pods of all namespaces\n", "with --pack: search for N steps for a better plan", "with --pack and --preemption optimal: end each search after this DURATION; 0: no limit"},
	} {
		var help, errs bytes.Buffer
		require.Zero(t, kubectl().Run(t.Context(), []string{name, "--help"}, nil, &help, &errs))
		text := strings.Join(strings.Fields(help.String()), " ")
		for _, part := range want {
			require.Contains(t, text, strings.TrimSpace(part), name)
		}
	}
}

// A command about all nodes or pods takes no name.
func TestNoArguments(t *testing.T) {
	for _, name := range []string{"consolidate", "place"} {
		code, _, errs := podberth(t, "", name, "-f", "-", "extra")
		require.Equal(t, 2, code)
		require.Contains(t, errs, `"extra"`, name)
	}
}

// The flag --live may be said to be off.
func TestLiveIsOff(t *testing.T) {
	code, _, errs := podberth(t, "{apiVersion: v1, kind: Namespace, metadata: {name: a}}", "lint", "-f", "-", "--live=false")
	require.Zero(t, code, errs)
}
