package placement

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/copies"
	"github.com/podberth/podberth/internal/testkit"
)

// A group is placed as a whole or not at all.
func TestPlaceAll(t *testing.T) {
	p, s := placerOf(t, cluster.Objects{Nodes: threeZones()})
	group := func(n int, cpu string) (out []*v1.Pod) {
		for k := range n {
			out = append(out, testkit.Pod(fmt.Sprintf("g%d-%s", k, cpu)).Request("cpu="+cpu).Obj())
		}
		return out
	}
	decisions, err := p.PlaceAll(group(6, "3"), Options{})
	var none *NoPlaceError
	require.ErrorAs(t, err, &none)
	require.EqualError(t, err, "pod default/g5-3: 0/5 nodes are available: 5 Insufficient cpu.")
	require.Equal(t, []string{"NodeResourcesFit"}, none.Rejecters)
	require.NoError(t, errors.Unwrap(err), "no plugin failed")
	require.Len(t, decisions, 6)
	require.True(t, decisions[4].Placed())
	require.Same(t, none.Failure, decisions[5].Failure)
	require.Zero(t, podsOn(s), "nobody stays")

	decisions, err = p.PlaceAll(group(5, "3"), Options{})
	require.NoError(t, err)
	require.Equal(t, 5, podsOn(s))
	for k, d := range decisions {
		require.Contains(t, slices.Collect(s.Pods(d.Slot)), s.Pod("default", fmt.Sprintf("g%d-3", k)))
	}
	_, err = p.PlaceAll([]*v1.Pod{testkit.Pod("new").Obj(), testkit.Pod("g0-3").Obj()}, Options{})
	requireType(t, err, field.ErrorTypeDuplicate, "one of the group is placed already")
	require.Nil(t, s.Pod("default", "new"))
	decisions, err = p.PlaceAll(nil, Options{})
	require.NoError(t, err, "an empty group has its place")
	require.Empty(t, decisions)
}

// The search for each pod of a group begins where the search before ended.
func TestPlaceAllGoesRound(t *testing.T) {
	var o cluster.Objects
	for k := range 200 {
		o.Nodes = append(o.Nodes, testkit.Node(fmt.Sprint("n", k)).Capacity("cpu=4").Obj())
	}
	p, _ := placerOf(t, o)
	decisions, err := p.PlaceAll([]*v1.Pod{testkit.Pod("a").Request("cpu=1").Obj(), testkit.Pod("b").Request("cpu=1").Obj()}, Options{Next: 20})
	require.NoError(t, err)
	require.Equal(t, []int{120, 20}, []int{decisions[0].Next, decisions[1].Next}, "100 feasible nodes of 200 end a search")
}

// HowMany returns the count of a loop of decisions on a fork, and changes nothing.
func TestHowMany(t *testing.T) {
	for seed := range uint64(60) {
		w := &world{r: rand.New(rand.NewPCG(seed, 23))}
		s := w.snapshot(t, 2+w.r.IntN(5), w.r.IntN(10))
		p, err := NewPlacer(s, DefaultProfile())
		require.NoError(t, err)
		pod := w.pod(w.r.IntN(30))
		room, err := p.HowMany(pod, nil)
		require.NoError(t, err)

		fork := s.Fork()
		slow, err := New(fork, DefaultProfile())
		require.NoError(t, err)
		slow.engine = nil
		var nodes []string
		for k := 0; ; k++ {
			c := pod.DeepCopy()
			c.Name = fmt.Sprintf("copy-%d", k)
			d := slow.Decide(c, Options{})
			if !d.Placed() {
				require.Equal(t, d.Failure, room.Stop, "seed %d", seed)
				break
			}
			nodes = append(nodes, d.Node)
			require.NoError(t, fork.Assume(c, d.Slot))
		}
		require.Equal(t, nodes, room.Nodes, "seed %d", seed)
		var asked []int
		limited, err := p.HowMany(pod, func(placed int) bool {
			asked = append(asked, placed)
			return placed < 2
		})
		require.NoError(t, err)
		require.Equal(t, nodes[:min(2, len(nodes))], limited.Nodes)
		require.Equal(t, []int{0, 1, 2}[:min(3, len(nodes)+1)], asked, "before each copy")
		require.Equal(t, len(nodes) < 2, limited.Stop != nil)
		again, err := p.HowMany(pod, nil)
		require.NoError(t, err)
		require.Equal(t, room, again, "seed %d", seed)
	}
}

// HowMany returns the nodes of the copies, and which plugins reject the next copy, with reasons and numbers of nodes.
func TestHowManyReasons(t *testing.T) {
	p, s := placerOf(t, cluster.Objects{Nodes: []*v1.Node{
		testkit.Node("large").Capacity("cpu=5").Obj(), testkit.Node("small").Capacity("cpu=2").Obj(),
		testkit.Node("tainted").Capacity("cpu=9").Taint("gpu=true:NoSchedule").Obj(),
	}})
	room, err := p.HowMany(testkit.Pod("web").Request("cpu=2").Obj(), nil)
	require.NoError(t, err)
	require.Equal(t, []string{"large", "large", "small"}, slices.Sorted(slices.Values(room.Nodes)))
	require.Equal(t, filter.Unschedulable, room.Stop.Code)
	require.Equal(t, []filter.Count{{Reason: "Insufficient cpu", Nodes: 2}, {Reason: "node(s) had untolerated taint(s)", Nodes: 1}}, room.Stop.Message.Reasons)
	require.Equal(t, []string{"TaintToleration", "NodeResourcesFit"}, room.Stop.Rejecters)
	require.Zero(t, podsOn(s), "nobody stays")
}

// WithNodes decides over nodes that do not exist yet, and the plan itself does not get these nodes.
func TestWithNodes(t *testing.T) {
	p, s := placerOf(t, cluster.Objects{Nodes: threeZones()})
	pod := testkit.Pod("p").Request("cpu=16").Obj()
	require.False(t, p.Decide(pod, Options{}).Placed())
	larger, err := p.WithNodes(testkit.Node("d1").Zone("d").Capacity("cpu=32,memory=8Gi").Obj(), testkit.Node("d2").Zone("d").Capacity("cpu=2").Obj())
	require.NoError(t, err)
	d := larger.Decide(pod, Options{})
	require.Equal(t, "d1", d.Node)
	require.NoError(t, larger.Assume(pod, d))
	slot, ok := larger.Slot("d2")
	require.True(t, ok)
	require.Equal(t, []Rejection{{Plugin: "NodeResourcesFit", Code: "UnschedulableAndUnresolvable", Reasons: []string{"Insufficient cpu"}, Numbers: []string{"cpu: asks for 16, 2 of 2 are free"}}}, larger.Rejections(pod, slot))
	require.Equal(t, 5, len(s.Order()))
	require.Zero(t, podsOn(s))
	require.False(t, p.Decide(pod, Options{}).Placed())
}

// The copies of a pod have names that no pod has.
func TestCopyNames(t *testing.T) {
	_, s := placerOf(t, cluster.Objects{Nodes: threeZones()})
	pod := testkit.Pod("p").Obj()
	pod.UID, pod.Status.NominatedNodeName = "own", "a1"
	for _, want := range []string{"p-1", "p-1-2", "p-1-3"} {
		c := copies.Of(s, pod, 1, nil)
		require.Equal(t, want, c.Name)
		require.Equal(t, "default/"+want, string(c.UID))
		require.Empty(t, c.Status.NominatedNodeName)
		require.NoError(t, s.Assume(c, 0))
	}
	require.Equal(t, "p-2", copies.Of(s, pod, 2, map[string]bool{"p-1": true}).Name)
	require.Equal(t, "a1", pod.Status.NominatedNodeName)
}
