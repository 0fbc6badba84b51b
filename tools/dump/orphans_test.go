package dump

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pods whose nodes are not in the input give one line, with their number and the first of them.
func TestPodsWithoutNodesAreOneLine(t *testing.T) {
	var pods []string
	for i := range 1000 {
		pods = append(pods, fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: p%d}, spec: {nodeName: m%d}}", i, i%3))
	}
	text := strings.Join(pods, "\n---\n")
	o, err := readText(text, Options{})
	require.NoError(t, err)
	require.EqualError(t, o.Orphans("counted nowhere"), `pod default/p0: spec.nodeName: Invalid value: "m0": no such node in the input`)
	require.Equal(t, []string{`1000 pods are on nodes, and the input has no Node; counted nowhere; the first: pod default/p0: spec.nodeName: Invalid value: "m0": no such node in the input; counted nowhere (-v lists them)`}, o.Warnings.Lines())

	o, err = readText(nodeYAML+"\n---\n"+text, Options{Verbose: true})
	require.NoError(t, err)
	require.Error(t, o.Orphans("counted nowhere"))
	require.Len(t, o.Warnings.Lines(), 1000, "all of them are asked for")
	o.Warnings.All = false
	require.Equal(t, []string{
		`1000 pods are on nodes that are not in the input; counted nowhere; the first: pod default/p0: spec.nodeName: Invalid value: "m0": no such node in the input; counted nowhere (-v lists them)`,
	}, o.Warnings.Lines())

	o, err = readText(nodeYAML+"\n---\n{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {nodeName: gone}, status: {phase: Succeeded}}", Options{})
	require.NoError(t, err)
	require.NoError(t, o.Orphans("counted nowhere"), "a finished pod takes no room")
}
