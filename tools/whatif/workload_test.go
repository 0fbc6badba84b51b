package whatif

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// owned is a pod of a controller, which is KIND/NAME.
type owned struct {
	name, node, owner string
	ready             bool
	created           int // minute
}

// shop is the text of two nodes, a workload of a kind with so many replicas, and pods.
func shop(kind, name string, replicas int, pods ...owned) string {
	text := ""
	for _, n := range []string{"n1", "n2"} {
		text += "---\n{apiVersion: v1, kind: Node, metadata: {name: " + n + "}, status: {allocatable: {cpu: 8, pods: 20}}}\n"
	}
	spec := "selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: c}]}}"
	version := "apps/v1"
	if kind == "ReplicationController" {
		spec, version = "selector: {app: x}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: c}]}}", "v1"
	}
	text += fmt.Sprintf("---\n{apiVersion: %s, kind: %s, metadata: {name: %s, namespace: shop, uid: u}, spec: {replicas: %d, %s}}\n", version, kind, name, replicas, spec)
	if kind == "Deployment" {
		text += fmt.Sprintf("---\n{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: %s-1, namespace: shop, uid: r, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: %s, uid: u, controller: true}]}, spec: {replicas: %d, %s}}\n", name, name, replicas, spec)
	}
	for _, p := range pods {
		k, of, _ := strings.Cut(p.owner, "/")
		ready := "False"
		if p.ready {
			ready = "True"
		}
		node, phase := "", "Pending"
		if p.node != "" {
			node, phase = "nodeName: "+p.node+", ", "Running"
		}
		text += fmt.Sprintf("---\n{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: shop, creationTimestamp: '2026-01-01T00:%02d:00Z', labels: {app: x}, ownerReferences: [{apiVersion: %s, kind: %s, name: %s, uid: %s, controller: true}]}, spec: {%scontainers: [{name: c, image: c}]}, status: {phase: %s, conditions: [{type: Ready, status: '%s'}]}}\n",
			p.name, p.created, version, k, of, map[bool]string{true: "r", false: "u"}[of == name+"-1"], node, phase, ready)
	}
	return text
}

func answered(t *testing.T, objects string, args ...string) (a answer) {
	t.Helper()
	var out, errs bytes.Buffer
	require.Zero(t, Run(t.Context(), append([]string{"-f=-", "-o=json"}, args...), strings.NewReader(objects), &out, &errs), errs.String())
	require.NoError(t, json.Unmarshal(out.Bytes(), &a))
	return a
}

// A workload that shrinks loses the pods that the page "ReplicaSet" names first, a StatefulSet those of the highest ordinals.
func TestWhoGoesWhenAWorkloadShrinks(t *testing.T) {
	const rs = "ReplicaSet/web"
	type test struct {
		name, kind, of string
		pods           []owned
		to             int
		gone           []string // name and node
	}
	testkit.Run(t, []test{
		{"without a node", "ReplicaSet", "web", []owned{{"a", "n1", rs, true, 3}, {"b", "", rs, false, 1}, {"c", "n2", rs, false, 2}}, 2, []string{"b "}},
		{"a node and not ready", "ReplicaSet", "web", []owned{{"a", "n1", rs, true, 3}, {"b", "", rs, false, 1}, {"c", "n2", rs, false, 2}}, 1, []string{"b ", "c n2"}},
		{"the fuller node", "ReplicaSet", "web", []owned{{"a", "n2", rs, true, 9}, {"b", "n1", rs, true, 2}, {"c", "n1", rs, true, 1}}, 2, []string{"b n1"}},
		{"the younger", "ReplicaSet", "web", []owned{{"a", "n1", rs, true, 1}, {"b", "n1", rs, true, 2}, {"c", "n1", rs, true, 1}}, 2, []string{"b n1"}},
		{"pods of others stay", "ReplicaSet", "web", []owned{{"a", "n1", rs, true, 1}, {"b", "n1", "ReplicaSet/other", true, 2}, {"c", "n1", "StatefulSet/web", true, 3}}, 0, []string{"a n1"}},
		{"of a Deployment by its ReplicaSet", "Deployment", "web", []owned{{"a", "n1", "ReplicaSet/web-1", true, 1}, {"b", "n2", "ReplicaSet/web-2", true, 2}}, 0, []string{"a n1"}},
		{"the highest ordinals", "StatefulSet", "db", []owned{{"db-9", "n1", "StatefulSet/db", true, 1}, {"db-10", "n2", "StatefulSet/db", true, 1}, {"db-0", "", "StatefulSet/db", false, 2}}, 1, []string{"db-10 n2", "db-9 n1"}},
		{"of a ReplicationController", "ReplicationController", "old", []owned{{"a", "n1", "ReplicationController/old", true, 1}, {"b", "n2", "ReplicationController/old", false, 1}}, 1, []string{"b n2"}},
	}, func(t *testing.T, c test) {
		a := answered(t, shop(c.kind, c.of, len(c.pods), c.pods...), fmt.Sprintf("-scale=%s/shop/%s=%d", c.kind, c.of, c.to))
		var got []string
		for _, g := range a.Gone {
			require.Equal(t, "its workload has fewer replicas", g.Why)
			got = append(got, strings.TrimPrefix(g.Pod, "shop/")+" "+g.Node)
		}
		require.Equal(t, c.gone, got)
	})
}

// A workload of each kind that grows gets new pods, and the answer tells them from pods that waited before.
func TestGrowingWorkloads(t *testing.T) {
	for _, kind := range []string{"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"} {
		of := kind + "/web"
		if kind == "Deployment" {
			of = "ReplicaSet/web-1"
		}
		a := answered(t, shop(kind, "web", 1, owned{"web-0", "n1", of, true, 1}), "-scale="+strings.ToLower(kind)+"/shop/web=3")
		fresh := 2
		if kind == "StatefulSet" { // one at a time
			fresh = 1
		}
		require.Len(t, a.Placed, fresh, kind)
		for _, p := range a.Placed {
			require.True(t, p.New, kind)
			require.Contains(t, []string{"n1", "n2"}, p.Node, kind)
			require.True(t, strings.HasPrefix(p.Pod, "shop/web"), p.Pod)
		}
		require.Empty(t, a.Gone, kind)
	}
}

// A change of a request is about the only container: with two it is an error, and an init container is none of them.
func TestRequestOfContainers(t *testing.T) {
	one := shop("ReplicaSet", "web", 1, owned{"a", "n1", "ReplicaSet/web", true, 1})
	initial := strings.ReplaceAll(one, "containers: [{name: c, image: c}]", "initContainers: [{name: i, image: i}, {name: j, image: j}], containers: [{name: c, image: c}]")
	for _, text := range []string{one, initial} {
		a := answered(t, text, "-request=replicaset/shop/web=cpu=9")
		require.Len(t, a.Waits, 1)
		require.Equal(t, waits{Pod: "shop/a", Since: "change", From: "n1", Message: a.Waits[0].Message}, a.Waits[0])
		require.Contains(t, a.Waits[0].Message, "2 Insufficient cpu")
	}
	two := strings.ReplaceAll(one, "containers: [{name: c, image: c}]", "containers: [{name: c, image: c}, {name: d, image: d}]")
	var out, errs bytes.Buffer
	require.Equal(t, 2, Run(t.Context(), []string{"-f=-", "-request=replicaset/shop/web=cpu=9"}, strings.NewReader(two), &out, &errs))
	require.Contains(t, errs.String(), "its pods have 2 containers")
}

// Bare pods, and pods that belong to a node, go with the node. The answer says from which node they go, and the table has a section for each kind.
func TestPodsThatGoWithTheirNode(t *testing.T) {
	text := shop("ReplicaSet", "web", 1, owned{"a", "n1", "DaemonSet/agent", true, 1}, owned{"b", "n1", "Node/n1", true, 1}, owned{"c", "n1", "ReplicaSet/web", true, 1}, owned{"d", "n2", "DaemonSet/agent", true, 1}) +
		"---\n{apiVersion: v1, kind: Pod, metadata: {name: bare, namespace: shop}, spec: {nodeName: n1, containers: [{name: c, image: c}]}}\n"
	a := answered(t, text, "-remove-node=n1")
	require.ElementsMatch(t, []gone{
		{Pod: "shop/a", Node: "n1", Why: "it belongs to the node"}, {Pod: "shop/b", Node: "n1", Why: "it belongs to the node"}, {Pod: "shop/bare", Node: "n1", Why: "no controller makes it again"},
	}, a.Gone)
	require.Equal(t, []move{{"shop/c", "n1", "n2"}}, a.Moves)
	require.Len(t, answered(t, text, "-remove-node=n1", "-n=shop").Gone, 3)
	require.Empty(t, answered(t, text, "-remove-node=n1", "-n=other").Gone)
	var out, errs bytes.Buffer
	require.Zero(t, Run(t.Context(), []string{"-f=-", "-remove-node=n1", "-evict=shop/d"}, strings.NewReader(text), &out, &errs), errs.String())
	for _, line := range []string{"Move\n", "shop/c   n1     n2", "Go\n", "shop/bare   n1     no controller makes it again"} {
		require.Contains(t, out.String(), line)
	}
}

// New pods that a quota refuses are named with the API server's text.
func TestRefusedGrowth(t *testing.T) {
	text := shop("ReplicaSet", "web", 1, owned{"a", "n1", "ReplicaSet/web", true, 1}) +
		"---\n{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: shop}, spec: {hard: {pods: 2}}, status: {hard: {pods: 2}, used: {pods: 1}}}\n"
	a := answered(t, text, "-scale=replicaset/shop/web=4", "-n=shop")
	require.Len(t, a.Placed, 1)
	require.Len(t, a.Refused, 2)
	var out, errs bytes.Buffer
	require.Zero(t, Run(t.Context(), []string{"-f=-", "-scale=replicaset/shop/web=4"}, strings.NewReader(text), &out, &errs), errs.String())
	for _, r := range a.Refused {
		require.Contains(t, out.String(), r.Pod+" ")
	}
	require.Empty(t, answered(t, text, "-scale=replicaset/shop/web=4", "-n=other").Refused)
	for _, r := range a.Refused {
		require.True(t, strings.HasPrefix(r.Pod, "shop/web-"), r.Pod)
		require.Contains(t, r.Message, "exceeded quota: q")
	}
}

// Pods that wait because of the changes come before pods that wait as things are, whatever their names and the names of their nodes.
func TestOrderOfWaits(t *testing.T) {
	a := answered(t, `
{apiVersion: v1, kind: Node, metadata: {name: a1}, status: {allocatable: {cpu: 4, pods: 10}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: large}, spec: {containers: [{name: c, resources: {requests: {cpu: 9}}}]}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, uid: u}, spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-0, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: u, controller: true}]}, spec: {nodeName: a1, containers: [{name: c, image: i}]}, status: {phase: Running}}
`, "-remove-node=a1")
	require.Len(t, a.Waits, 2)
	require.Equal(t, []string{"default/web-0 change a1", "default/large before "}, []string{
		a.Waits[0].Pod + " " + a.Waits[0].Since + " " + a.Waits[0].From, a.Waits[1].Pod + " " + a.Waits[1].Since + " " + a.Waits[1].From,
	})
}
