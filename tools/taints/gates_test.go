package taints

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// numbered is a node with a taint that is a number, and a pod that tolerates it by comparison. The kubelet falls silent.
const numbered = `
{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {taints: [{key: sla, value: "95", effect: NoExecute}]}, status: {conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: n1, containers: [{name: c}], tolerations: [{key: sla, operator: Gt, value: "90", effect: NoExecute}]}}
`

// The gate of comparisons switches what a toleration matches; another gate is named.
func TestFeatureGates(t *testing.T) {
	type test struct {
		name, why, gates string
		leaves           bool
		errs             string
	}
	testkit.Run(t, []test{
		{"default", "Gt counts as no toleration", "", true, ""},
		{"on", "the numbers are compared", "TaintTolerationComparisonOperators=true", false, ""},
		{"not followed", "a note names it", "SchedulerAsyncAPICalls=true", true, "feature gate SchedulerAsyncAPICalls=true: podberth does not follow it"},
	}, func(t *testing.T, c test) {
		code, out, errs := forecast(numbered, "-f", "-", "-stop", "n2", "-until", "10s", "-feature-gates", c.gates)
		require.Zero(t, code, errs)
		require.Equal(t, c.leaves, strings.Contains(out, "default/p"), out)
		require.Contains(t, errs, c.errs)
	})
	code, _, errs := forecast(numbered, "-f", "-", "-stop", "n2", "-feature-gates", "Comparisons=true")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "unrecognized feature gate: Comparisons")
}
