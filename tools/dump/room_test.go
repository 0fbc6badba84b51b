package dump

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// Of many equal replicas those are made for which empty nodes have room, twice, and one more, but a thousand at least. The others are counted.
func TestReplicasWithoutRoomAreCounted(t *testing.T) {
	node := func(name, allocatable string) string {
		return fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: %s}, status: {allocatable: {%s}}}\n---\n", name, allocatable)
	}
	crowd := func(kind, version, number, spec string) string {
		selector := "selector: {matchLabels: {a: b}}, "
		if kind == "ReplicationController" {
			selector = "selector: {a: b}, "
		}
		if kind == "Job" {
			selector, spec = "", "restartPolicy: Never, "+spec
		}
		return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: web, namespace: d}, spec: {%s, %stemplate: {metadata: {labels: {a: b}}, spec: {%s}}}}\n---\n", version, kind, number, selector, spec)
	}
	asking := "containers: [{name: c, resources: {requests: {cpu: 1500m, memory: 1Gi}}}]"
	nodes := node("n1", "cpu: 400, memory: 400Gi, pods: 500") + node("n2", "cpu: 6400, memory: 300Gi, pods: 500") + node("n3", "cpu: 6400, memory: 6400Gi, pods: 400") + node("n4", "cpu: 64, memory: 64Gi")
	deployment := crowd("Deployment", "apps/v1", "replicas: 2000", asking)
	class := "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 7}\n---\n"
	type test struct {
		name, why, in string
		all           bool
		made, counted int
	}
	testkit.Run(t, []test{
		{"Deployment", "266 by cpu, 300 by memory, 400 by pods, none: 966", nodes + deployment, false, 1933, 67},
		{"ReplicaSet", "as a Deployment", nodes + crowd("ReplicaSet", "apps/v1", "replicas: 2000", asking), false, 1933, 67},
		{"ReplicationController", "as a Deployment", nodes + crowd("ReplicationController", "v1", "replicas: 2000", asking), false, 1933, 67},
		{"Job", "as a Deployment", nodes + crowd("Job", "batch/v1", "parallelism: 2000", asking), false, 1933, 67},
		{"indexed Job", "its pods are not equal", nodes + crowd("Job", "batch/v1", "parallelism: 2000, completions: 2000, completionMode: Indexed", asking), false, 2000, 0},
		{"StatefulSet", "its pods are not equal", nodes + crowd("StatefulSet", "apps/v1", "replicas: 2000, podManagementPolicy: Parallel", asking), false, 2000, 0},
		{"all", "asked for", nodes + deployment, true, 2000, 0},
		{"no node", "no room, but a short answer has all", deployment, false, 1000, 1000},
		{"nothing asked", "pods alone count: 500+500+400", nodes + crowd("Deployment", "apps/v1", "replicas: 2802", "containers: [{name: c}]"), false, 2801, 1},
		{"a quota", "it counts every pod", nodes + deployment + "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: d}}", false, 2000, 0},
		{"a quota elsewhere", "it counts other pods", nodes + deployment + "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: e}}", false, 1933, 67},
		{"a waiting pod of higher priority", "it may take the place of a replica", nodes + deployment + "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {priority: 1, containers: [{name: c}]}}", false, 2000, 0},
		{"a running pod of higher priority", "it has its node", nodes + deployment + "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: n1, priority: 1, containers: [{name: c}]}}", false, 1933, 67},
		{"a template of higher priority", "its pods wait too", nodes + class + deployment + strings.Replace(crowd("Job", "batch/v1", "parallelism: 1", "priorityClassName: high, "+asking), "name: web", "name: job", 1), false, 2001, 0},
		{"a replica of the highest priority", "the others have less", nodes + class + crowd("Deployment", "apps/v1", "replicas: 2000", "priorityClassName: high, "+asking), false, 1933, 67},
	}, func(t *testing.T, c test) {
		o, err := readText(c.in, Options{})
		require.NoError(t, err)
		got, err := o.Expand(c.all)
		require.NoError(t, err)
		counted := 0
		for _, x := range got.Counted {
			require.Same(t, got.Pods[len(got.Pods)-1], x.Pod)
			counted += x.More
		}
		require.Equal(t, []int{c.made, c.counted}, []int{len(got.Pods), counted})
	})
}

// A planner warns of the pods that it counts.
func TestCountedPodsAreSaid(t *testing.T) {
	o, err := readText("{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, namespace: d}, spec: {replicas: 100000, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}", Options{})
	require.NoError(t, err)
	_, err = o.Snapshot(Planning{Expand: true})
	require.NoError(t, err)
	require.Contains(t, o.Warnings.Texts(), "ReplicaSet d/web: 99000 of its pods are counted and not made: the nodes have no room for them")
}
