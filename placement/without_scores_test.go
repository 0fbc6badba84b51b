package placement

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// A profile without scores takes the first node that fits and examines no other, unless the caller adds scores of its own. Its totals are 1;
// those of a profile whose scores all skip the pod are 0.
func TestProfileWithoutScores(t *testing.T) {
	var nodes []*v1.Node
	for k, cpu := range []string{"1", "8", "1", "4", "8"} {
		nodes = append(nodes, testkit.Node(fmt.Sprint("n", k)).Capacity("pods=9,cpu="+cpu).Obj())
	}
	s, err := cluster.New(cluster.Objects{Nodes: nodes})
	require.NoError(t, err)
	profile := DefaultProfile()
	profile.Scores = nil
	type test struct {
		name string
		cpu  string
		o    Options
		want string
	}
	testkit.Run(t, []test{
		{"the first", "2", Options{}, "1 n1 total 0, 1 of 2 evaluated of 5, next 2 "},
		{"the first from a place on", "2", Options{Next: 2}, "3 n3 total 0, 1 of 2 evaluated of 5, next 4 "},
		{"around the end", "2", Options{Next: 5}, "1 n1 total 0, 1 of 2 evaluated of 5, next 2 "},
		{"scores of the caller", "2", Options{Scored: true}, "1 n1 total 1, 3 of 5 evaluated of 5, next 0 "},
		{"scores of the caller and a tie", "2", Options{Scored: true, Tie: func(n int) int { return n - 1 }}, "4 n4 total 1, 3 of 5 evaluated of 5, next 0 "},
		{"no node", "9", Options{}, "-1  total 0, 0 of 5 evaluated of 5, next 0 Unschedulable [NodeResourcesFit]0/5 nodes are available: 5 Insufficient cpu."},
	}, func(t *testing.T, c test) {
		with, err := New(s, profile)
		require.NoError(t, err)
		without, err := New(s, profile)
		require.NoError(t, err)
		without.engine = nil
		for k := range 3 {
			pod := testkit.Pod(fmt.Sprint("p", k)).Request("cpu=" + c.cpu).Obj()
			require.Equal(t, c.want, text(without.Decide(pod, c.o)))
			require.Equal(t, c.want, text(with.Decide(pod, c.o)))
		}
	})
	p, err := New(s, profile)
	require.NoError(t, err)
	pod := testkit.Pod("p").Request("cpu=2").Obj()
	table, err := p.Table(pod)
	require.NoError(t, err)
	for k, total := range []int64{0, 1, 0, 1, 1} {
		require.Equal(t, total, table[k].Total, table[k].Node)
		require.Empty(t, table[k].Scores)
	}
	columns, totals, err := (&Attempt{plan: p, pod: pod}).Scores([]int{1, 3})
	require.NoError(t, err)
	require.Empty(t, columns)
	require.Equal(t, []int64{1, 1}, totals)
}
