package lint

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/fidelity/diagnose.md lists every rule.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/fidelity/diagnose.md")
	require.NoError(t, err)
	for _, r := range Rules() {
		require.Contains(t, string(page), row(r))
	}
}

func row(r Rule) string {
	needs := ""
	if r.Cluster {
		needs = "nodes"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", r.ID, r.Severity, needs, r.Summary)
}
