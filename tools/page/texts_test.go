package page

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/tools/explain"
)

// The model holds each text once, even when many pods have it. The lanes of a timeline point to their pods.
func TestTextsAndLanesOfPods(t *testing.T) {
	p := New("t", []*v1.Node{nodeOf("n1", "a", "4")}, []*v1.Pod{podOf("a", "n1", "1"), podOf("b", "n1", "1"), podOf("c", "n1", "2")})
	p.Timeline = &Timeline{}
	for _, pod := range []string{"default/c", "default/b", "default/gone"} {
		p.Timeline.Add("", pod, Span{From: time.Second, To: time.Second, Kind: Leaves})
	}
	m := p.model()
	seen := map[string]bool{}
	for _, text := range m.Texts {
		require.False(t, seen[text], text)
		seen[text] = true
	}
	require.Equal(t, m.Pods.State[0], m.Pods.State[1])
	at := map[string]int{}
	for _, lane := range m.Timeline.Lanes {
		at[lane.Name] = lane.Pod
	}
	require.Equal(t, map[string]int{"default/c": 2, "default/b": 1, "default/gone": -1}, at)
}

// One node is no nodes.
func TestNumbersOfNodes(t *testing.T) {
	require.Empty(t, left(0))
	require.Equal(t, "1 node does not count.", left(1))
	require.Equal(t, "2 nodes do not count.", left(2))
	v := VerdictOf(nil, explain.Answer{Obstacles: []explain.Obstacle{{Nodes: 1, Reason: "no"}, {Nodes: 2, Reason: "never"}}}, nil)
	require.Len(t, v.out.Obstacles, 2)
	require.True(t, strings.HasPrefix(v.out.Obstacles[0], "1 node: "), v.out.Obstacles[0])
	require.True(t, strings.HasPrefix(v.out.Obstacles[1], "2 nodes: "), v.out.Obstacles[1])
}

// A page has all parts of the script, in their order.
func TestScriptOfPage(t *testing.T) {
	require.Contains(t, written(t, New("t", nil, nil)), "\"use strict\";\n"+listScript+pageScript)
}
