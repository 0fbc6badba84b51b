package place

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// numbered is a node with a taint that is a number, and a pod that tolerates it by comparison.
const numbered = `
{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {taints: [{key: sla, value: "95", effect: NoSchedule}]}, status: {allocatable: {cpu: "4", pods: "9"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}], tolerations: [{key: sla, operator: Gt, value: "90", effect: NoSchedule}]}}
`

// Feature gates switch plugins, with a configuration and without. Others are named.
func TestFeatureGates(t *testing.T) {
	const file = "testdata/gates_profile.yaml"
	type test struct {
		name, why string
		args      []string
		out, errs string
	}
	testkit.Run(t, []test{
		{"default", "Gt counts as no toleration", nil, "Unschedulable", "Gt needs the feature gate TaintTolerationComparisonOperators"},
		{"on", "the numbers are compared", []string{"-feature-gates", "TaintTolerationComparisonOperators=true"}, "Scheduled", ""},
		{"on with admission", "the API server has the gate too", []string{"-admit", "-feature-gates", "TaintTolerationComparisonOperators=true"}, "Scheduled", ""},
		{"off with admission", "the API server refuses the operator", []string{"-admit"}, "Refused", ""},
		{"on with a configuration", "its profiles follow the gate too", []string{"-config", file, "-feature-gates", "TaintTolerationComparisonOperators=true"}, "Scheduled", ""},
		{"off with a configuration", "as by default", []string{"-config", file}, "Unschedulable", "Gt needs the feature gate"},
		{"not followed", "a note names it", []string{"-feature-gates", "TaintTolerationComparisonOperators=true,SchedulerAsyncAPICalls=true"}, "Scheduled", "feature gate SchedulerAsyncAPICalls=true: podberth does not follow it, and decides as with SchedulerAsyncAPICalls=false"},
	}, func(t *testing.T, c test) {
		code, out, errs := simulate(t, numbered, append([]string{"-f", "-"}, c.args...)...)
		require.Zero(t, code, errs)
		require.Contains(t, out, c.out)
		require.Contains(t, errs, c.errs)
		require.Equal(t, c.errs == "", !strings.Contains(errs, "gate"), errs)
	})
}

// The pods of DaemonSets and the kubelets of nodes follow the gate as the scheduler does.
func TestComparedTaintsOfNodes(t *testing.T) {
	const on = "-feature-gates=TaintTolerationComparisonOperators=true"
	daemon := numbered[:strings.Index(numbered, "---")] + `---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d, uid: d}, spec: {selector: {matchLabels: {a: d}}, template: {metadata: {labels: {a: d}}, spec: {containers: [{name: c, image: i}], tolerations: [{key: sla, operator: Gt, value: "90"}]}}}}
`
	runs := strings.NewReplacer("NoSchedule", "NoExecute", "spec: {containers", "spec: {nodeName: n1, containers").Replace(numbered)
	for _, c := range []struct {
		objects   string
		args      []string
		out, errs string
	}{
		{daemon, []string{"-expand"}, "0 scheduled", ""},
		{daemon, []string{"-expand", on}, "1 scheduled", ""},
		{runs, nil, "", "whose kubelet would not admit it"},
		{runs, []string{on}, "", ""},
	} {
		code, out, errs := simulate(t, c.objects, append([]string{"-f", "-"}, c.args...)...)
		require.Zero(t, code, errs)
		require.Contains(t, out, c.out)
		require.Contains(t, errs, c.errs)
		require.Equal(t, c.errs != "", strings.Contains(errs, "kubelet"), errs)
	}
}
