package mcp

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// smallNodes are n1, which has room for four pods and has three, and n2, which has room for three and has two.
func smallNodes() (text string) {
	for n, pods := range []int{4, 3} {
		text += fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: n%d}, status: {allocatable: {cpu: 4, pods: %d}}}\n---\n", n+1, pods)
	}
	text += "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, uid: u}, spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}\n"
	for k, n := range []string{"n2", "n2", "n1", "n1", "n1"} {
		text += fmt.Sprintf("---\n{apiVersion: v1, kind: Pod, metadata: {name: web-%d, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: u, controller: true}]}, spec: {nodeName: %s, priority: 0, containers: [{name: c, image: i}]}, status: {phase: Running}}\n", k, n)
	}
	return text
}

// Pods that leave and get no node are counted by their reason. A drain of several nodes counts them for each node that is drained alone.
func TestHomelessPods(t *testing.T) {
	c := connect(t, fileOptions(writeFile(t, "dump.yaml", smallNodes())))
	s := ask(t, c, "drain", args{"nodes": []string{"n1"}})
	require.Equal(t, []any{map[string]any{"reason": "0/2 nodes are available: 1 Too many pods, 1 node(s) were unschedulable.", "pods": 2.0, "examples": []any{"default/web-3", "default/web-4"}}}, s.data["homeless"])
	require.Equal(t, []any{map[string]any{"node": "n2", "pods": 1.0}}, s.data["destinations"])
	require.Equal(t, "3 of 3 pods can leave, in 1 wave; blocked: 0.", s.text)
	require.NotContains(t, s.data, "eachAlone")
	s = ask(t, c, "drain", args{"nodes": []string{"n1", "n2"}})
	require.Equal(t, []any{
		map[string]any{"node": "n1", "blocked": 0.0, "homeless": 2.0, "budgets": []any{}}, map[string]any{"node": "n2", "blocked": 0.0, "homeless": 1.0, "budgets": []any{}},
	}, s.data["eachAlone"])
	require.Equal(t, "5 of 5 pods can leave, in 1 wave; blocked: 0.\nFix: drain one node after the other, each open again before the next: together they leave pods without room", s.text)
}

// How many more pods fit is said of each node.
func TestFitByNode(t *testing.T) {
	c := connect(t, fileOptions(writeFile(t, "dump.yaml", smallNodes()+"---\n{apiVersion: v1, kind: Node, metadata: {name: n3}, status: {allocatable: {cpu: 4, pods: 2}}}\n")))
	s := ask(t, c, "fit", args{"pod": "web-0"})
	require.Equal(t, []any{map[string]any{"node": "n3", "pods": 2.0}, map[string]any{"node": "n1", "pods": 1.0}, map[string]any{"node": "n2", "pods": 1.0}}, s.data["nodes"])
	require.Equal(t, []any{4.0, 3.0}, []any{s.data["count"], s.data["nodesAll"]})
}

// A pod that no budget covers is blocked with its group. Its line names no budget, and what helps is said once.
func TestBlockedWithoutBudget(t *testing.T) {
	c := connect(t, fileOptions(writeFile(t, "dump.yaml", `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: 4, pods: 10}}}
---
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: held}, spec: {schedulingPolicy: {gang: {minCount: 1}}, disruptionMode: {all: {}}}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, uid: u}, spec: {replicas: 2, selector: {matchLabels: {app: held}}, template: {metadata: {labels: {app: held}}, spec: {containers: [{name: c, image: i}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: held, one: one}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: u, controller: true}]}, spec: {nodeName: n1, schedulingGroup: {podGroupName: held}, containers: [{name: c}]}, status: {phase: Running}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b, labels: {app: held}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: u, controller: true}]}, spec: {nodeName: n1, schedulingGroup: {podGroupName: held}, containers: [{name: c}]}, status: {phase: Running}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: held}, spec: {minAvailable: 1, selector: {matchLabels: {one: one}}}}
`)))
	s := ask(t, c, "drain", args{"nodes": []string{"n1", "n2"}})
	require.Equal(t, `0 of 2 pods can leave, in 0 waves; blocked: 2.
Blocked: 1 pod of ReplicaSet web by budget default/held: budget default/held lets at most 0 of 1 pods leave at once, and podgroup/default/held has 1 of them
Blocked: 1 pod of ReplicaSet web: budget default/held lets at most 0 of 1 pods leave at once, and podgroup/default/held has 1 of them
Fix: for the time of the drain: let budget default/held allow 1 disruptions, or make the group again with disruption mode Single`, s.text)
	require.Equal(t, []any{
		map[string]any{"node": "n1", "blocked": 2.0, "homeless": 0.0, "budgets": []any{"default/held"}}, map[string]any{"node": "n2", "blocked": 0.0, "homeless": 0.0, "budgets": []any{}},
	}, s.data["eachAlone"])
}

// Pods of one owner that one budget blocks for one reason are one group, with its first pods and each of its nodes once. Pods that are
// blocked only because nodes are drained together come last, and have no proposal of their own.
func TestBlockedTogether(t *testing.T) {
	var p planned
	require.NoError(t, json.Unmarshal([]byte(`{"blocked": [
		{"pod": "a/late", "node": "n1", "owner": "StatefulSet db", "budget": "a/db", "cause": "c", "remedy": "more replicas"},
		{"pod": "a/later", "node": "n2", "owner": "StatefulSet last", "budget": "a/db", "cause": "c", "remedy": "more replicas"},
		{"pod": "a/x-0", "node": "n1", "owner": "ReplicaSet x", "budget": "a/x", "cause": "c", "remedy": "raise"},
		{"pod": "a/x-1", "node": "n2", "owner": "ReplicaSet x", "budget": "a/x", "cause": "c", "remedy": "raise"},
		{"pod": "a/x-2", "node": "n1", "owner": "ReplicaSet x", "budget": "a/x", "cause": "c", "remedy": "raise"},
		{"pod": "a/x-3", "node": "n1", "owner": "ReplicaSet x", "budget": "a/x", "cause": "c", "remedy": "raise"},
		{"pod": "a/y-0", "node": "n1", "owner": "ReplicaSet y", "budget": "a/y", "cause": "c", "remedy": "raise"}
	], "budgets": [{"budget": "a/x", "expectedPods": 4, "desiredHealthy": 3, "currentHealthy": 2, "disruptionsAllowed": 1}]}`), &p))
	a := &drainAnswer{}
	alone := map[string]bool{"a/y-0": true}
	for k := range 4 {
		alone[fmt.Sprint("a/x-", k)] = true
	}
	a.block(&p, true, alone)
	x := blockGroup{Budget: "a/x", Owner: "ReplicaSet x", Pods: 4, Examples: []string{"a/x-0", "a/x-1", "a/x-2"}, Nodes: []string{"n1", "n2"}, Cause: "c",
		Arithmetic: "2 healthy of 4 expected, 3 needed: 1 may leave", Remedy: "raise"}
	require.Equal(t, []blockGroup{
		x, {Budget: "a/y", Owner: "ReplicaSet y", Pods: 1, Examples: []string{"a/y-0"}, Nodes: []string{"n1"}, Cause: "c", Remedy: "raise"},
		{Budget: "a/db", Owner: "StatefulSet db", Pods: 1, Examples: []string{"a/late"}, Nodes: []string{"n1"}, Cause: "c", Remedy: "drain one node after the other", Together: true},
		{Budget: "a/db", Owner: "StatefulSet last", Pods: 1, Examples: []string{"a/later"}, Nodes: []string{"n2"}, Cause: "c", Remedy: "drain one node after the other", Together: true},
	}, a.Blocked)
	a.propose(true)
	var texts []string
	for _, f := range a.Fixes {
		texts = append(texts, f.Text)
	}
	require.Equal(t, []string{
		"for the time of the drain: raise", "for the time of the drain: raise",
		"drain one node after the other, each open again before the next: together they leave pods without room",
	}, texts)

	a = &drainAnswer{}
	a.block(&p, false, nil) // of one node
	require.Equal(t, []string{"StatefulSet db", "StatefulSet last", "ReplicaSet x"}, []string{a.Blocked[0].Owner, a.Blocked[1].Owner, a.Blocked[2].Owner})
	require.Equal(t, "more replicas", a.Blocked[0].Remedy)
}
