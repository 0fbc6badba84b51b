package whatif

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// numbered is a node with a taint that is a number, a node without, and a pod on it that tolerates the taint by comparison.
const numbered = `
{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {taints: [{key: sla, value: "95", effect: NoSchedule}]}, status: {allocatable: {cpu: "4", pods: "9"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: "4", pods: "9"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: u, controller: true}]}, spec: {nodeName: n2, containers: [{name: c}], tolerations: [{key: sla, operator: Gt, value: "90"}]}}
`

// gang is a group of two pods, of which the node takes one, and a node of its size.
const gang = `
{apiVersion: scheduling.k8s.io/v1alpha3, kind: PodGroup, metadata: {name: g, namespace: default, uid: g}, spec: {schedulingPolicy: {gang: {minCount: 2}}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "1", pods: "9"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, spec: {unschedulable: true}, status: {allocatable: {cpu: "1", pods: "9"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, spec: {schedulingGroup: {podGroupName: g}, containers: [{name: c, resources: {requests: {cpu: 1}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: default}, spec: {schedulingGroup: {podGroupName: g}, containers: [{name: c, resources: {requests: {cpu: 1}}}]}}
`

// The answers before and after the changes follow the feature gates, and so do the changes themselves.
func TestFeatureGates(t *testing.T) {
	const compares, groups = "-feature-gates=TaintTolerationComparisonOperators=true", "-feature-gates=GenericWorkload=true"
	type test struct {
		name, why, objects string
		args               []string
		moves              int
		waits              []string // the pods that wait afterwards
	}
	testkit.Run(t, []test{
		{"default", "Gt tolerates nothing", numbered, []string{"-remove-node=n2"}, 0, []string{"default/p"}},
		{"compared", "the pod tolerates the taint of the other node", numbered, []string{compares, "-remove-node=n2"}, 1, nil},
		{"leaves by default", "Gt does not tolerate a NoExecute taint, and the other node has one too", numbered, []string{"-taint=n2=sla=95:NoExecute"}, 0, []string{"default/p"}},
		{"stays when compared", "the change itself follows the gate", numbered, []string{compares, "-taint=n2=sla=95:NoExecute"}, 0, nil},
		{"pods alone", "without the gate each pod is placed alone", gang, []string{"-feature-gates=GenericWorkload=false", "-label=n1=x=y"}, 0, []string{"default/b"}},
		{"a gang", "one of two pods fits, so both wait", gang, []string{groups, "-label=n1=x=y"}, 0, []string{"default/a", "default/b"}},
		{"a gang that fits", "the new node takes the other pod", gang, []string{groups, "-add-node-like=n1"}, 0, nil},
	}, func(t *testing.T, c test) {
		var out, errs bytes.Buffer
		require.Zero(t, Run(t.Context(), append([]string{"-f=-", "-o=json"}, c.args...), strings.NewReader(c.objects), &out, &errs), errs.String())
		var a answer
		require.NoError(t, json.Unmarshal(out.Bytes(), &a))
		var waits []string
		for _, w := range a.Waits {
			waits = append(waits, w.Pod)
		}
		require.Equal(t, c.moves, a.Summary.Moves)
		require.ElementsMatch(t, c.waits, waits)
	})
}

// A gate that does not exist is an error of the command line.
func TestUnknownGate(t *testing.T) {
	code, out, errs := run(t, "-feature-gates=Gangs=true", "-cordon=general-a1")
	require.Equal(t, 2, code)
	require.Empty(t, out)
	require.Contains(t, errs, "unrecognized feature gate: Gangs")
}
