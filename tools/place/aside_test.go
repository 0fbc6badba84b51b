package place

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pods that run and that their kubelets would not admit are one line, after the answer. Manifests without pods say what makes them.
func TestAsides(t *testing.T) {
	input := []string{strings.TrimSpace(onePod)}
	for _, n := range []string{"a", "b"} {
		input = append(input, "{apiVersion: v1, kind: Node, metadata: {name: "+n+"}, status: {allocatable: {cpu: '1', memory: 1Gi, pods: '10'}}}")
		for _, p := range []string{"x", "y"} {
			input = append(input, "{apiVersion: v1, kind: Pod, metadata: {name: "+n+p+"}, spec: {nodeName: "+n+", containers: [{name: c, resources: {requests: {cpu: 900m}}}]}, status: {phase: Running}}")
		}
	}
	var both strings.Builder
	Run(t.Context(), []string{"-f", "-"}, strings.NewReader(strings.Join(input, "\n---\n")), &both, &both)
	answer, rest, found := strings.Cut(both.String(), "warning: 4 pods exceed the cpu of their nodes; the first: pod default/ax is on node a, whose kubelet would not admit it: OutOfcpu")
	require.True(t, found, both.String())
	require.Contains(t, answer, "default")
	require.Equal(t, 1, strings.Count(rest, "\n"), "one line for the kind")

	_, _, errs := simulate(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: w}, spec: {selector: {matchLabels: {app: w}}, template: {metadata: {labels: {app: w}}, spec: {containers: [{name: c, image: i}]}}}}", "-f", "-")
	require.Contains(t, errs, "warning: no pod waits for a node; -expand makes the pods of 1 workload of the input\n")
}
