package gen_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/tools/dump"
)

var shapes = []gen.Shape{{}, {Nominated: true}, {Volumes: true}, {Crowded: true, Running: 20}, {Urgent: true}, {Roomy: true, Nodes: 9, Running: 30}, {Roomy: true, Volumes: true}}

// The API server would take every node; what it has against pods is asked while they are made.
func TestNodesAreValid(t *testing.T) {
	for seed := range int64(300) {
		for _, n := range gen.Of(seed, shapes[seed%int64(len(shapes))]).Nodes {
			require.NoError(t, gen.CheckNode(n), "seed %d", seed)
		}
	}
}

// The reader of podberth place takes what is printed, and finds everything in it.
func TestYAMLIsRead(t *testing.T) {
	gated := 0
	for seed := range int64(100) {
		c := gen.Of(seed, shapes[seed%int64(len(shapes))])
		o, err := dump.Read([]string{"-"}, bytes.NewReader(c.YAML()), dump.Options{})
		require.NoError(t, err, "seed %d", seed)
		read := o.Cluster()
		require.Len(t, read.Nodes, len(c.Nodes))
		require.Len(t, o.Pods, len(c.Pods)+len(c.Pending)+len(c.Gated))
		require.Len(t, read.PersistentVolumes, len(c.PersistentVolumes))
		require.Len(t, read.Services, len(c.Services))
		gated += len(c.Gated)
	}
	require.Positive(t, gated)
}

// Shrink leaves the one node, the one pod and the one label that matter.
func TestShrink(t *testing.T) {
	fails := func(c *gen.Cluster) bool {
		for _, n := range c.Nodes {
			for _, p := range c.Pending {
				if n.Labels[v1.LabelTopologyZone] == "a" && p.Labels["app"] == "web" {
					return true
				}
			}
		}
		return false
	}
	shrunk := 0
	for seed := range int64(20) {
		c := gen.New(seed)
		if !fails(c) {
			continue
		}
		shrunk++
		before := string(c.YAML())
		small := gen.Shrink(c, fails)
		require.Equal(t, before, string(c.YAML()), "the cluster itself is not changed")
		require.Len(t, small.Nodes, 1)
		require.Len(t, small.Pending, 1)
		require.Empty(t, small.Pods)
		require.Empty(t, small.Services)
		require.Equal(t, map[string]string{v1.LabelTopologyZone: "a"}, small.Nodes[0].Labels)
		require.Equal(t, map[string]string{"app": "web"}, small.Pending[0].Labels)
	}
	require.Positive(t, shrunk)
}
