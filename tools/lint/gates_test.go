package lint

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// compared is a Deployment that tolerates a number by comparison, and the one node, with a taint that is such a number.
const compared = `
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}, spec: {taints: [{key: sla, value: "95", effect: NoSchedule}]}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {tolerations: [{key: sla, operator: Gt, value: "VALUE", effect: NoSchedule}], containers: [{name: c, image: i, resources: {requests: {cpu: 100m, memory: 64Mi}}}]}}}}
`

// The gate of comparisons switches what the API server takes and what a toleration matches; another gate is named.
func TestFeatureGates(t *testing.T) {
	type test struct {
		name, why, gates, value string
		code                    int
		out, errs               string
	}
	testkit.Run(t, []test{
		{"default", "the API server refuses Gt", "", "90", 1, `Unsupported value: "Gt"`, ""},
		{"on", "95 is larger than 90", "TaintTolerationComparisonOperators=true", "90", 0, "0 errors", ""},
		{"on, too small", "no node is tolerated", "TaintTolerationComparisonOperators=true", "99", 1, "all-nodes-closed", ""},
		{"on, no number", "the API server refuses it", "TaintTolerationComparisonOperators=true", "high", 1, "tolerations[0].value", ""},
		{"not followed", "a note names it", "SchedulerAsyncAPICalls=true", "90", 1, `Unsupported value: "Gt"`, "feature gate SchedulerAsyncAPICalls=true: podberth does not follow it"},
	}, func(t *testing.T, c test) {
		code, out, errs := linting(strings.ReplaceAll(compared, "VALUE", c.value), "-f", "-", "-feature-gates", c.gates)
		require.Equal(t, c.code, code, out+errs)
		require.Contains(t, out, c.out)
		require.Contains(t, errs, c.errs)
	})
	code, _, errs := linting(compared, "-f", "-", "-feature-gates", "Comparisons=true")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "unrecognized feature gate: Comparisons")
}
