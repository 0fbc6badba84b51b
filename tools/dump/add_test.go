package dump

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// Workload objects that are added make their pods; nothing that is added is ignored.
func TestAddedWorkloadsAreExpanded(t *testing.T) {
	const (
		head   = "{apiVersion: apps/v1, kind: "
		shape  = "metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c}]}}}}"
		budget = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {minAvailable: 1}}"
	)
	testkit.Run(t, []struct {
		name, why, text string
		count           int
		want, fails     string
	}{
		{"Deployment", "through its ReplicaSet", head + "Deployment, " + shape, 1, "web-6d7956c5f7-1 web-6d7956c5f7-2", ""},
		{"ReplicaSet", "named after it", head + "ReplicaSet, " + shape, 1, "web-1 web-2", ""},
		{"two of them", "each makes its pods", head + "ReplicaSet, " + shape, 2, "web-1-1 web-1-2 web-2-1 web-2-2", ""},
		{"StatefulSet", "one after the other", head + "StatefulSet, " + shape, 1, "web-0", ""},
		{"DaemonSet", "a pod for the node", head + "DaemonSet, " + shape, 1, "web-1", ""},
		{"a name that is there", "a second object of it would be lost", head + "ReplicaSet, " + shape + "\n---\n" + nodeYAML, 1, "",
			`metadata.name: Duplicate value: "n1": the input has a Node of that name`},
		{"PodDisruptionBudget", "part of the cluster from now on", budget, 1, "", ""},
		{"budgets by number", "they would all select the same pods", budget, 2, "", "PodDisruptionBudget default/b: kind: Unsupported value: there cannot be 2 of it; -count is for nodes, pods and workloads"},
		{"Eviction", "a request, not a part of the cluster", "{apiVersion: policy/v1, kind: Eviction, metadata: {name: e}}", 1, "", "Eviction default/e: kind: Unsupported value: an Eviction cannot be added"},
	}, func(t *testing.T, c struct {
		name, why, text string
		count           int
		want, fails     string
	}) {
		o, err := readText(nodeYAML, Options{})
		require.NoError(t, err)
		more, err := readText(c.text, Options{})
		require.NoError(t, err)
		made, err := o.Add(more, c.count)
		if c.fails != "" {
			require.EqualError(t, err, c.fails)
			return
		}
		require.NoError(t, err)
		names := ""
		for _, p := range made {
			names += p.Name + " "
		}
		if c.want != "" {
			c.want += " "
		}
		require.Equal(t, c.want, names)
		require.Len(t, o.Pods, len(made))
		if c.name == "PodDisruptionBudget" {
			require.Len(t, o.PodDisruptionBudgets, 1)
		}
	})
}

// Objects that are added by number have numbers in their names and no UID: the UID is that of one object.
func TestNumberedObjects(t *testing.T) {
	o := &Objects{}
	more, err := readText("{apiVersion: v1, kind: Node, metadata: {name: node, uid: u, labels: {kubernetes.io/hostname: node, zone: node}}}\n---\n{apiVersion: v1, kind: Node, metadata: {name: more, uid: v, labels: {kubernetes.io/hostname: other}}}", Options{})
	require.NoError(t, err)
	_, err = o.Add(more, 2)
	require.NoError(t, err)
	var got []string
	for _, n := range o.Nodes {
		got = append(got, fmt.Sprintf("%s uid=%q %v", n.Name, n.UID, n.Labels))
	}
	require.Equal(t, []string{
		`node-1 uid="" map[kubernetes.io/hostname:node-1 zone:node]`, `node-2 uid="" map[kubernetes.io/hostname:node-2 zone:node]`,
		`more-1 uid="" map[kubernetes.io/hostname:other]`, `more-2 uid="" map[kubernetes.io/hostname:other]`,
	}, got)
	require.Equal(t, "node", more.Nodes[0].Name)
	require.EqualValues(t, "u", more.Nodes[0].UID, "the object itself stays")
	require.Equal(t, "node", more.Nodes[0].Labels["kubernetes.io/hostname"])
	again, err := readText("{apiVersion: v1, kind: Node, metadata: {name: one, uid: w}}", Options{})
	require.NoError(t, err)
	_, err = o.Add(again, 1)
	require.NoError(t, err)
	require.EqualValues(t, "w", o.Nodes[4].UID)
}
