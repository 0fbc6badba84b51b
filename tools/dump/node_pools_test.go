package dump

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The nodes of a NodePool are told which taints agents lift. The objects of the input stay as they are.
func TestStartupTaints(t *testing.T) {
	const text = "{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {karpenter.sh/nodepool: a}}}\n---\n{apiVersion: v1, kind: Node, metadata: {name: n2}}\n---\n"
	o, err := readText(text+"{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: a}, spec: {template: {spec: {startupTaints: [{key: example.com/x, value: wait, effect: NoSchedule}]}}}}", Options{})
	require.NoError(t, err)
	require.Empty(t, o.Warnings.Lines())
	got := o.Cluster().Nodes
	require.Equal(t, map[string]string{agentTaints: "example.com/x=wait:NoSchedule"}, got[0].Annotations)
	require.Same(t, o.Nodes[1], got[1])
	require.Empty(t, o.Nodes[0].Annotations)
	for _, other := range []string{"{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: a}}", "{apiVersion: example.com/v1, kind: NodePool, metadata: {name: a}, spec: {template: {spec: {startupTaints: [{key: x}]}}}}"} {
		o, err := readText(text+other, Options{})
		require.NoError(t, err)
		require.Same(t, o.Nodes[0], o.Cluster().Nodes[0])
	}
	_, err = readText("{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: a}, spec: {template: {spec: {startupTaints: 3}}}}", Options{})
	require.ErrorContains(t, err, "standard input: document 1 (NodePool a): ")
}
