package mcp

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/diagnose"
)

func nowForTests() time.Time { return time.Unix(0, 0) }

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// remediesOf returns remedies with these risks.
func remediesOf(risks []string) (out []diagnose.Remedy) {
	changes := map[string]diagnose.Change{
		riskUnsafe: {Kind: diagnose.Tolerate, To: "node-role.kubernetes.io/control-plane:NoSchedule"}, riskCost: {Kind: diagnose.AddNode, Object: "Node n1"},
		riskOthers: {Kind: diagnose.Scale}, riskOver: {Kind: diagnose.Uncordon}, riskRestart: {Kind: diagnose.LowerRequest},
	}
	for _, r := range risks {
		out = append(out, diagnose.Remedy{Changes: []diagnose.Change{changes[r]}})
	}
	return out
}

// A preference that comes with the deletion of running pods is a risk for them.
func TestRiskOfDeletedPods(t *testing.T) {
	require.Equal(t, riskRestart, riskOf([]diagnose.Change{{Kind: diagnose.Prefer}}))
	require.Equal(t, riskOthers, riskOf([]diagnose.Change{{Kind: diagnose.Prefer, To: "db-0 and db-1"}}))
}
