package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/testkit/situation"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

// A pod without a group preempts pods of groups as their groups say, when PreemptOptions.Groups is set.
func TestGroupUnits(t *testing.T) {
	type test struct {
		name, why, world string
		alone, grouped   string // node and victims, or the message
	}
	testkit.Run(t, []test{
		{"E63", "a group of mode All leaves as a whole, also from other nodes",
			"node n1,n2:2; group low basic ^1 all; pod w1:2 in=low on=n1 ^1; pod w2:1 in=low on=n2 ^1; pod a:2 ^10",
			"n2: w2", "n1: w1 w2"},
		{"E63 own priorities", "the choice among nodes reads the priorities of the pods themselves",
			"node n1,n2:2; group low basic ^5; pod w:2 in=low on=n1 ^1; pod v:2 on=n2 ^3; pod a:2 ^10", "n1: w", "n1: w"},
		{"E64", "the priority of the group counts, not that of its pod",
			"node n1:1; group low basic ^20; pod w1:1 in=low on=n1 ^1; pod a:1 ^10", "n1: w1", "0/1 nodes are available: 1 No preemption victims found for incoming pod."},
		{"lower group", "a pod whose group is less important than the preemptor may leave, whatever its own priority is",
			"node n1:1; group low basic ^1; pod w1:1 in=low on=n1 ^20; pod a:1 ^10", "0/1 nodes are available: 1 No preemption victims found for incoming pod.", "n1: w1"},
		{"without object", "a pod of a group without an object is more important than one without a group",
			"node n1:2; pod v:1 on=n1 ^1; pod w:1 in=gone on=n1 ^1; pod a:1 ^10", "n1: w", "n1: v"},
		{"leaving", "a victim whose group is as important as the preemptor is not waited for",
			"node n1:2; node n2:2; group low basic ^10 all; pod w:1 in=low on=n1 ^1 preempted; pod x:1 on=n1 ^9; pod v:2 on=n2 ^1; pod a:2 ^10 nominated=n1",
			"not eligible due to a terminating pod on the nominated node.", "n2: v"},
		{"more pods", "of two groups the larger one stays",
			"node n1:2; node n2:1; group x basic ^1 all; group y basic ^1 all; pod x1:1 in=x on=n1 ^1; pod y1:1 in=y on=n1 ^1; pod x2:1 in=x on=n2 ^30; pod a:1 ^10",
			"n1: y1", "n1: y1"},
	}, func(t *testing.T, c test) {
		s, err := situation.Parse(c.world)
		require.NoError(t, err)
		snapshot, err := cluster.New(cluster.Objects{Nodes: s.Nodes, Pods: s.Running, PodGroups: s.Groups})
		require.NoError(t, err)
		pod := s.Queued[0]
		answer := func(over placement.Cluster, po placement.PreemptOptions) string {
			p, err := placement.New(over, placement.DefaultProfile())
			require.NoError(t, err)
			po.Now = situation.Noon
			d := p.Decide(pod, placement.Options{})
			require.False(t, d.Placed())
			r := p.Preempt(pod, d.Failure, placement.Options{}, po)
			if r.Outcome != preemption.Success {
				return r.Message
			}
			text := r.Node + ":"
			for _, v := range r.Victims {
				text += " " + v.Pod.Name
			}
			require.Zero(t, r.Foreign, "nobody counts the pods of a group on other nodes")
			return text
		}
		require.Equal(t, c.alone, answer(snapshot, placement.PreemptOptions{}))
		require.Equal(t, c.grouped, answer(snapshot, placement.PreemptOptions{Groups: &s.Gates}))
		own := placement.PreemptOptions{Groups: &s.Gates, Options: preemption.Options{Units: []preemption.Unit{}}}
		require.Equal(t, c.alone, answer(snapshot, own), "units of the caller come first")
		require.Equal(t, c.alone, answer(struct{ placement.Cluster }{snapshot}, placement.PreemptOptions{Groups: &s.Gates}), "a cluster without groups")
	})
}
