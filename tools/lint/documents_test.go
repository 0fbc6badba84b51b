package lint

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/diagnose/lint"
)

// Manifests that the documentation shows as right: no error and no warning, alone and on a cluster. What is left are notes about
// missing requests and unused tolerations.
func TestDocuments(t *testing.T) {
	for _, args := range [][]string{{}, {"-cluster", "testdata/documents_cluster.yaml"}} {
		code, out, errs := linting("", append([]string{"-f", "testdata/documents.yaml", "-o", "json"}, args...)...)
		require.Zero(t, code, errs)
		var a lintReport
		require.NoError(t, json.Unmarshal([]byte(out), &a))
		for _, f := range a.Findings {
			require.Equal(t, lint.Info, f.Severity, "%s %s: %s", f.Object, f.Rule, f.Explanation)
			require.Contains(t, []string{"no-requests", "toleration-unused"}, f.Rule)
		}
	}
}
