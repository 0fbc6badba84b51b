package dump

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// Of a held input every Read gives the same objects, whatever a program does to those of an earlier Read.
func TestHold(t *testing.T) {
	const path = "../../examples/testdata/cluster.yaml"
	want, err := Read([]string{path}, nil, Options{})
	require.NoError(t, err)
	Hold(want) // gives UIDs
	held, err := Read([]string{path}, nil, Options{})
	require.NoError(t, err)
	in := Hold(held)
	first, err := Read([]string{"-"}, in, Options{Verbose: true})
	require.NoError(t, err)
	require.True(t, first.Warnings.All)
	for _, n := range first.Nodes {
		n.Spec.Unschedulable = true
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: "added"})
	}
	for _, p := range first.Pods {
		p.Spec.NodeName = "elsewhere"
		require.True(t, first.Sound(p))
	}
	_, err = first.Expand(true)
	require.NoError(t, err)
	first.Pods = first.Pods[:1]
	first.Warnings.Add("of the first")

	second, err := Read([]string{"-"}, in, Options{})
	require.NoError(t, err)
	require.Equal(t, want.Nodes, second.Nodes)
	require.Equal(t, want.Pods, second.Pods)
	require.Equal(t, want.Deployments, second.Deployments)
	require.Equal(t, want.ReplicaSets, second.ReplicaSets)
	require.Equal(t, want.Warnings.Lines(), second.Warnings.Lines())

	_, err = Read([]string{"-", path}, in, Options{})
	require.ErrorContains(t, err, "has no text", "beside other files")
	_, err = io.ReadAll(in)
	require.Error(t, err)
	bad, err := Read([]string{"-"}, strings.NewReader("{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {tolerations: [{operator: Like}], containers: [{name: a}]}}"), Options{})
	require.NoError(t, err)
	checked, err := Read([]string{"-"}, Hold(bad), Options{})
	require.NoError(t, err)
	require.False(t, checked.Sound(checked.Pods[0]))
	require.False(t, bad.Sound(bad.Pods[0]), "nobody has checked it")
}
