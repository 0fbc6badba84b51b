package mcp

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The budgets that allow no eviction are those of the namespace that the question names. The next question has those of all. A budget whose
// sync fails says so.
func TestBudgetsOfTheOverview(t *testing.T) {
	c := connect(t, fileOptions(writeFile(t, "dump.yaml", `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, pods: 10}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: job, namespace: one, uid: u}, spec: {template: {spec: {containers: [{name: c}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: j, namespace: one, labels: {app: j}, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: job, uid: u, controller: true}]}, spec: {nodeName: n1, containers: [{name: c}]}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: fails, namespace: one}, spec: {maxUnavailable: 1, selector: {matchLabels: {app: j}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: two, labels: {app: a}}, spec: {nodeName: n1, containers: [{name: c}]}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: full, namespace: two}, spec: {minAvailable: 1, selector: {matchLabels: {app: a}}}}
`)))
	fails := map[string]any{"budget": "one/fails", "arithmetic": "its sync fails: jobs.batch does not implement the scale subresource"}
	full := map[string]any{"budget": "two/full", "arithmetic": "1 healthy of 1 expected, 1 needed"}
	for _, x := range []struct {
		namespace string
		want      []any
	}{{"two", []any{full}}, {"one", []any{fails}}, {"", []any{fails, full}}} {
		a := args{}
		if x.namespace != "" {
			a["namespace"] = x.namespace
		}
		require.Equal(t, x.want, ask(t, c, "overview", a).data["budgets"], x.namespace)
	}
}
