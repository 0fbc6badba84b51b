package mcp

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// Why a member of a gang waits is said of its group, with the words of the command why: a trap, a gang without room, one with too few pods, and a
// pod whose group has no object. A pod of a gang that is placed goes with it.
func TestWhyPodOfAGroup(t *testing.T) {
	c := connect(t, fileOptions("../../../tools/place/testdata/gang_trap.yaml"))
	s := ask(t, c, "why_pod", args{"pod": "trap-1"})
	require.Equal(t, `Pod default/trap-1 waits with its group default/trap: 2 pods needed, 2 exist, 0 have nodes.
1 of 2 members fit, 2 needed: trap-1 asks for cpu 4, and both open nodes are too full: big is nearest with 2 of 4 free
a placement exists: kube-scheduler misses it because it puts trap-0 on big first, then trap-1 fits nowhere, and it takes no member back
Fix (none): nominate trap-0 to small (status.nominatedNodeName)
Fix (restart): make the pods again in the order trap-1, trap-0`, s.text)
	group := s.data["group"].(map[string]any)
	require.Equal(t, []any{
		map[string]any{"pod": "default/trap-0", "state": "would fit but the group fails", "node": "big"},
		map[string]any{"pod": "default/trap-1", "state": "rejected itself", "cause": "0/2 nodes are available: 2 Insufficient cpu."},
	}, group["states"])
	require.Len(t, s.list("fixes"), 3)

	c = connect(t, fileOptions("../command/testdata/gangs.yaml"))
	for pod, want := range map[string]string{
		"large-0": "Pod default/large-0 waits with its group default/large: 3 pods needed, 3 exist, 0 have nodes.\n" +
			"0 of 3 members fit, 3 needed: large-0 asks for cpu 4, and all 4 open nodes are too full: n2 is nearest with 3 of 4 free\nno placement exists: the cluster has a node for 0 of 3 members that must come\nNo fix without a risk was found.",
		"few-0":  "Pod default/few-0 waits with its group default/few: 4 pods needed, 2 exist, 0 have nodes.\n2 of 4 members exist, 4 needed\nFix (fewer): PodGroup default/few: spec.schedulingPolicy.gang.minCount 2",
		"lost-0": "Pod default/lost-0: Gated: pod group default/lost: no object of the group",
		"east-0": "Pod default/east-0 goes to n3: 4 of 4 nodes can take it.",
	} {
		s := ask(t, c, "why_pod", args{"pod": pod})
		require.Equal(t, want, s.text)
		noNull(t, pod, s.data)
	}
}

// How many more fit of a pod of a group is said of whole groups, and of pods of the group itself.
func TestFitOfAGroup(t *testing.T) {
	c := connect(t, fileOptions("../command/testdata/gangs.yaml"))
	s := ask(t, c, "fit", args{"pod": "train-0", "count": 9})
	require.Equal(t, `3 more groups like podgroup/default/train fit, each with 3 pods, on 4 nodes.
9 fit.
One more does not: 2 of 3 pods of its group find nodes; default/train-2-4: 0/2 nodes are available: 2 Insufficient cpu`, s.text)
	require.Equal(t, []any{9.0, true}, []any{s.data["count"], s.data["enough"]})
	require.Equal(t, 5.0, s.data["group"].(map[string]any)["members"].(map[string]any)["count"])
	require.True(t, strings.HasPrefix(ask(t, c, "fit", args{"pod": "east-0"}).text, "6 more groups like compositepodgroup/default/fleet fit, each with 2 pods, on 4 nodes.\n"))
	s = ask(t, c, "fit", args{"pod": "single", "leader": "large-0"})
	require.Equal(t, "n3", s.data["leader"], "the leader goes alone")
}

// A drain that takes a group with disruption mode All says which pods on other nodes leave with it, and names the first.
func TestDrainOfAGroup(t *testing.T) {
	text := `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: train}, spec: {disruptionMode: {all: {}}, schedulingPolicy: {gang: {minCount: 2}}}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: train, uid: u}, spec: {replicas: 3, selector: {matchLabels: {app: train}}, template: {metadata: {labels: {app: train}}, spec: {schedulingGroup: {podGroupName: train}, containers: [{name: c, image: i}]}}}}
`
	for k, node := range []string{"n1", "n2", "n2"} {
		text += fmt.Sprintf("---\n{apiVersion: v1, kind: Pod, metadata: {name: train-%d, labels: {app: train}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: train, uid: u, controller: true}]}, "+
			"spec: {priority: 0, nodeName: %s, schedulingGroup: {podGroupName: train}, containers: [{name: c, image: i}]}, status: {phase: Running}}\n", k, node)
	}
	dump := t.TempDir() + "/dump.yaml"
	require.NoError(t, os.WriteFile(dump, []byte(text), 0o600))
	c := connect(t, fileOptions(dump))
	s := ask(t, c, "drain", args{"nodes": []string{"n1"}})
	require.Contains(t, s.text, "\npodgroup/default/train leaves whole: 2 pods on n2 too: default/train-1 and 1 more. kubectl drain leaves them: evict them too.")
	require.Equal(t, []any{map[string]any{"group": "podgroup/default/train", "pods": 2.0, "nodes": []any{"n2"}, "examples": []any{"default/train-1", "default/train-2"}}}, s.data["elsewhere"])
	s = ask(t, c, "drain", args{"nodes": []string{"n1", "n2"}})
	require.NotContains(t, s.text, "leaves whole: ")
	require.NotContains(t, s.data, "elsewhere")
}

// The name of a pod is left out of its reason where it stands as a name, so that pods with equal reasons are one line.
func TestNameless(t *testing.T) {
	type test struct{ name, why, message, pod, want string }
	testkit.Run(t, []test{
		{"letter", "it is a part of words", "waiting for a gate", "a", "waiting for a gate"},
		{"quoted", "the API server quotes it", `pods "web-0" is forbidden`, "web-0", `pods "POD" is forbidden`},
		{"slash", "it follows its namespace", "claim d/web-0-data: pod d/web-0", "web-0", "claim d/POD-data: pod d/POD"},
		{"longer", "another pod", `pod "web-01", pod d/web-0.x`, "web-0", `pod "web-01", pod d/web-0.x`},
	}, func(t *testing.T, c test) { require.Equal(t, c.want, nameless(c.message, c.pod)) })
}

// Where nothing was searched for, the message of the group says why a member waits: here priorities that differ.
func TestWhyMembersDisagree(t *testing.T) {
	dump := t.TempDir() + "/dump.yaml"
	require.NoError(t, os.WriteFile(dump, []byte(`
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: g}, spec: {schedulingPolicy: {gang: {minCount: 1}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {priority: 7, schedulingGroup: {podGroupName: g}, containers: [{name: c, image: i}]}}
`), 0o600))
	require.Equal(t, "Pod default/a waits with its group default/g: 1 pod needed, 1 exist, 0 have nodes.\n"+
		"all pods in a single pod group should have the same priority as the pod group's priority, got 7 and 0", ask(t, connect(t, fileOptions(dump)), "why_pod", args{"pod": "a"}).text)
}
