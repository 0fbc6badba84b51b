package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// The world does what the API server does on a binding: the pod gets its node and the condition, and loses its nomination.
func TestBinding(t *testing.T) {
	o := options{files: []string{"-"}, percentage: -1, output: "json"}
	with, _, err := setup(o, io.Discard)
	require.NoError(t, err)
	input := nodeYAML("n1", "2", "") + podYAML("low", "n1", 0, "2", "") + podYAML("high", "", 9, "2", "")
	w, err := load(o, with.Profiles, strings.NewReader(input), io.Discard)
	require.NoError(t, err)
	x, err := newSimulation(w, o, nil, with)
	require.NoError(t, err)
	require.NoError(t, x.run(context.Background()))
	require.Equal(t, "n1", x.entries[0].NominatedNode)
	p := w.pods["default/high"]
	require.Equal(t, "n1", p.Spec.NodeName)
	require.Empty(t, p.Status.NominatedNodeName)
	for _, c := range p.Status.Conditions {
		if c.Type == v1.PodScheduled {
			require.Equal(t, v1.ConditionTrue, c.Status)
			require.Empty(t, c.Reason)
			return
		}
	}
	t.Fatal("no condition PodScheduled")
}
