package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
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
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: full, namespace: two}, spec: {minAvailable: 2, selector: {matchLabels: {app: a}}}}
`)))
	fails := map[string]any{"budget": "one/fails", "arithmetic": "its sync fails: jobs.batch does not implement the scale subresource"}
	full := map[string]any{"budget": "two/full", "arithmetic": "1 healthy of 1 expected, 2 needed"}
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

// Pods are counted where the question looks: in all namespaces, or in one.
func TestPodsOfTheOverview(t *testing.T) {
	text := ""
	for k, pod := range []string{"name: a, namespace: a", "name: b, namespace: a", "name: c, namespace: a", "name: a, namespace: b", "name: b, namespace: c"} {
		node := ""
		if k == 0 || k == 3 {
			node = "nodeName: n1, "
		}
		text += "{apiVersion: v1, kind: Pod, metadata: {" + pod + "}, spec: {" + node + "containers: [{name: c}]}}\n---\n"
	}
	c := connect(t, fileOptions(writeFile(t, "dump.yaml", text+"{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, pods: 10}}}")))
	for namespace, want := range map[string][]any{"a": {3.0, 2.0}, "b": {1.0, 0.0}, "c": {1.0, 1.0}} {
		s := ask(t, c, "overview", args{"namespace": namespace})
		require.Equal(t, want, []any{s.data["pods"], s.data["waiting"]}, namespace)
	}
	s := ask(t, c, "overview", args{})
	require.Equal(t, []any{5.0, 3.0}, []any{s.data["pods"], s.data["waiting"]})
}

// An answer that is too large loses items of its lists, until they have five; then its texts become shorter, until they have 120 bytes; then
// items go until there is one, and then texts. What goes is counted.
func TestOrderOfCuts(t *testing.T) {
	tree := func() map[string]any {
		out := []any{}
		for range 20 {
			out = append(out, strings.Repeat("x", mostText))
		}
		return map[string]any{"list": out}
	}
	type test struct {
		name              string
		size, items, text int
	}
	testkit.Run(t, []test{
		{"it fits", 20 * 700, 20, 600}, {"some items", 10 * 610, 10, 600}, {"the last items before texts", 5*606 + 20, 5, 600},
		{"a text", 5*606 - 20, 5, 540}, {"shorter texts", 5 * 300, 5, 240}, {"the last texts", 5*126 + 30, 5, 120}, {"items again", 4*126 + 30, 4, 120}, {"one item", 126 + 40, 1, 120}, {"a short text", 80, 1, 40}, {"the last", 60, 1, 20},
	}, func(t *testing.T, x test) {
		small := tree()
		require.NoError(t, fit(small, x.size))
		data, err := json.Marshal(small)
		require.NoError(t, err)
		require.LessOrEqual(t, len(data), x.size)
		list := small["list"].([]any)
		require.Equal(t, []int{x.items, x.text}, []int{len(list), len(list[0].(string))})
		if x.items < 20 {
			require.Equal(t, map[string]int{"list": 20 - x.items}, small["omitted"])
		} else {
			require.NotContains(t, small, "omitted")
		}
	})
	require.Error(t, fit(tree(), 30))
}
