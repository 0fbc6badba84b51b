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
