package place

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// Two configurations on one input: the default spreads two pods over two nodes, MostAllocated packs them onto one. JSON, table and page
// say the same; what does nothing beside -against is refused.
func TestAgainst(t *testing.T) {
	var in strings.Builder
	for i, zone := range []string{"a", "b"} {
		fmt.Fprintf(&in, "{apiVersion: v1, kind: Node, metadata: {name: n%d, labels: {kubernetes.io/hostname: n%d, topology.kubernetes.io/zone: %s}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}}\n---\n", i, i, zone)
	}
	for i := range 2 {
		fmt.Fprintf(&in, "{apiVersion: v1, kind: Pod, metadata: {name: p%d}, spec: {containers: [{name: c, resources: {requests: {cpu: 1, memory: 1Gi}}}]}}\n---\n", i)
	}
	in.WriteString("{apiVersion: v1, kind: Pod, metadata: {name: big}, spec: {containers: [{name: c, resources: {requests: {cpu: 9}}}]}}\n")
	packs := filepath.Join(t.TempDir(), "packs.yaml")
	require.NoError(t, os.WriteFile(packs, []byte(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]}}
  plugins: {score: {disabled: [{name: NodeResourcesBalancedAllocation}]}}
`), 0o600))
	code, out, errs := simulate(t, in.String(), "-f", "-", "-against", packs)
	require.Zero(t, code, errs)
	require.True(t, strings.HasPrefix(out, "1 of 3 pods end otherwise; 1 wait instead of 1, 0 victims instead of 0\n") || strings.HasPrefix(out, "1 of 3 pod ends otherwise; 1 wait instead of 1, 0 victims instead of 0\n"), out)
	require.Regexp(t, `(?m)^default/p1 +n1 +n0$`, out)
	require.Regexp(t, `(?m)^nodes with pods +2 +1$`, out)
	require.Regexp(t, `(?m)^cpu requested of these +25.0% +50.0%$`, out)
	require.Regexp(t, `(?m)^pods more in the fullest zone +0 +2$`, out)
	code, out, errs = simulate(t, in.String(), "-f", "-", "-config", packs, "-against", packs, "-o", "json")
	require.Zero(t, code, errs)
	var c comparison
	require.NoError(t, json.Unmarshal([]byte(out), &c))
	require.Empty(t, c.Differ)
	require.Equal(t, []int{2, 1, 1}, []int{c.Against.Scheduled, c.Against.Waiting, c.Against.Nodes})
	_, out, _ = simulate(t, in.String(), "-f", "-", "-against", packs, "-o", "json")
	doc, err := os.ReadFile("../../docs/json.md")
	require.NoError(t, err)
	missing, err := report.Undocumented(string(doc), []byte(out))
	require.NoError(t, err)
	require.Empty(t, missing)
	_, out, _ = simulate(t, in.String(), "-f", "-", "-against", packs, "-o", "html")
	require.Contains(t, out, "<title>Two configurations</title>")
	code, _, _ = simulate(t, in.String(), "-f", "-", "-against", packs, "-fail-unschedulable")
	require.Equal(t, program.No, code)
	for _, flag := range []string{"-pack", "-how-many=p0", "-explain=p0", "-map", "-o=wide"} {
		code, _, errs = simulate(t, in.String(), "-f", "-", "-against", packs, flag)
		require.Equal(t, program.BadInput, code, flag)
		require.Contains(t, errs, "does nothing with -", flag)
	}
}
