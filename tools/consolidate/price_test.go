package consolidate

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/tools/program"
)

// Prices are from 0 to 1000000000 and have up to six decimals.
func TestPrices(t *testing.T) {
	n := &v1.Node{}
	n.Name = "n1"
	for text, want := range map[string]int64{"0": 0, "1": 1_000_000, "0.096": 96_000, "0.000001": 1, "1000000000": 1e15, "1e3": 1e9, "1/2": 500_000} {
		n.Labels = map[string]string{"price": text}
		got, err := price(n, "price")
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "x", "-1", "-0.000001", "0.0000001", "1000000000.000001", "1e30"} {
		n.Labels["price"] = text
		got, err := price(n, "price")
		require.Zero(t, got)
		require.ErrorContains(t, err, "must be a number from 0 to 1000000000 with at most six decimals", text)
	}
}

// A node without the label has no price.
func TestNoPrice(t *testing.T) {
	got, err := price(&v1.Node{}, "price")
	require.Zero(t, got)
	require.Error(t, err)
}

// Pods without a node are named in a warning, and input that cannot be read ends the program.
func TestWarningsOfInput(t *testing.T) {
	const cluster = "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: '4', pods: '10'}}}\n---\n{apiVersion: v1, kind: PodDisruptionBudget, metadata: {name: b}}\n"
	const running = "---\n{apiVersion: v1, kind: Pod, metadata: {name: r}, spec: {nodeName: n1}}\n"
	pending := cluster + "---\n{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}\n"
	_, _, errs := planning(cluster+running, "-f", "-")
	require.NotContains(t, errs, "without a node")
	_, _, errs = planning(pending, "-f", "-")
	require.Contains(t, errs, "warning: 1 pod without a node: the plan leaves them no room\n")
	code, out, errs := planning("kind: [", "-f", "-")
	require.Equal(t, program.BadInput, code)
	require.Empty(t, out)
	require.Contains(t, errs, "consolidate: standard input: ")
}

// A node that costs nothing stays, though its pods find another node.
func TestNodeThatCostsNothing(t *testing.T) {
	const cluster = `{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {cost: '0'}}, status: {allocatable: {cpu: '4', pods: '10'}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {cost: '0'}}, status: {allocatable: {cpu: '4', pods: '10'}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: r, uid: r, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: r, controller: true}]}, spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: 1}}}]}, status: {phase: Running}}
`
	_, out, errs := planning(cluster, "-f", "-", "-price-label", "cost", "-why", "n1")
	require.Contains(t, out, "n1 (price 0): its price is 0: to remove it saves nothing\n", errs)
}
