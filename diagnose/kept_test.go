package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
)

// A pod with some changes is made once, whatever else changes beside the pod. So is the placer that decides.
func TestMadeOnce(t *testing.T) {
	d := begun(t, cluster.Objects{Nodes: five()}, testkit.Pod("web").NodeSelector("no=node").Request("cpu=2,memory=1Gi").Obj())
	d.list()
	all := uint64(1)<<len(d.changes) - 1
	for mask := range all + 1 {
		p := d.changed(mask)
		require.Equal(t, mask == 0, p == d.pod)
		for _, beside := range []uint64{0, 1, 2, 3} {
			require.Same(t, p, d.changed(mask|beside<<len(d.changes)))
		}
	}
	first, s := d.common.placerOf(d)
	before := s.Len()
	require.Equal(t, "n1", d.decided(d.listOf(choice{place: -1, pod: all}), nil))
	require.Empty(t, d.decided(nil, nil), "what a trial has changed is undone")
	again, _ := d.common.placerOf(d)
	require.Same(t, first, again)
	require.Equal(t, before, s.Len())
}

// Each smaller part of a set is asked about once, up to the first that is enough: the parts of one change, then larger ones. A set of one change has none.
func TestPart(t *testing.T) {
	asked := 0
	profile := placement.DefaultProfile()
	profile.Filters = append(profile.Filters, &placement.Plugin{Name: "Counts", Filter: func(*v1.Pod, placement.Cluster) placement.PreFiltered {
		asked++
		return placement.PreFiltered{Code: filter.Skip}
	}})
	s, err := cluster.New(cluster.Objects{Nodes: five()[:1], Pods: []*v1.Pod{running("a", "n1", "cpu=3")}})
	require.NoError(t, err)
	d, err := begin(Input{Snapshot: s, Profile: profile}, testkit.Pod("web").Request("cpu=2").Obj(), Options{})
	require.NoError(t, err)
	nothing := &Change{Kind: DropPort, edit: func(*v1.Pod, int64) {}}
	leaves, smaller := d.removal(0, 0)[0], &Change{Kind: LowerRequest, edit: func(p *v1.Pod, _ int64) { shrink(p, v1.ResourceCPU, 2000, 1000) }}
	for _, c := range []struct {
		list, want []*Change
		asks       int
	}{
		{[]*Change{leaves}, []*Change{leaves}, 0}, {[]*Change{leaves, nothing}, []*Change{leaves}, 1}, {[]*Change{nothing, leaves}, []*Change{leaves}, 2},
		{[]*Change{leaves, smaller}, []*Change{leaves}, 1}, {[]*Change{smaller, leaves}, []*Change{smaller}, 1}, {[]*Change{nothing, nothing, smaller, leaves}, []*Change{smaller}, 3},
	} {
		asked = 0
		require.Equal(t, c.want, d.part(c.list))
		require.Equal(t, c.asks, asked)
	}
	d.pod = testkit.Pod("web").Request("cpu=5").Obj()
	list := []*Change{leaves, smaller}
	smaller.edit = func(p *v1.Pod, _ int64) { shrink(p, v1.ResourceCPU, 5000, 4000) }
	asked = 0
	require.Equal(t, list, d.part(list), "both are needed")
	require.Equal(t, 2, asked)
	gated := &Change{Kind: DropGate, edit: func(p *v1.Pod, _ int64) { p.Spec.SchedulingGates = nil }}
	d.pod = testkit.Pod("web").Request("cpu=1").Obj()
	d.pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "wait"}}
	require.Equal(t, []*Change{gated}, d.part([]*Change{leaves, gated}), "a pod with gates goes nowhere")
}

// A filter is asked about the nodes that the pod may get.
func TestAskedOfTarget(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: five()})
	require.NoError(t, err)
	d, err := begin(Input{Snapshot: s}, testkit.Pod("web").Request("cpu=2").Obj(), Options{Where: func(n *v1.Node) bool { return n.Name == "n2" || n.Name == "n4" }})
	require.NoError(t, err)
	for _, f := range d.profile.Filters {
		for i := range s.Len() {
			name := s.Node(i).Name
			require.Equal(t, name == "n2" || name == "n4", d.asked(d.worlds[worldKey{place: -1}], f, d.pod).has(i), "%s, %s", f.Name, name)
		}
	}
}

// talks rejects slots below 5 with one of two verdicts, and counts how often it makes the texts.
type talks struct {
	made    map[string]int
	partial resources.Verdict
}

func (talks) Name() string { return "Talks" }
func (talks) Check(i int) resources.Verdict {
	if i >= 5 {
		return 0
	}
	return resources.Verdict(1 + i%2)
}
func (p talks) Partial(v resources.Verdict) bool {
	if v == 0 {
		p.made["none"]++
	}
	return v == p.partial
}
func (p talks) Reasons(resources.Verdict) []string { p.made["all"]++; return []string{"the same"} }
func (p talks) ReasonsAt(int) []string             { p.made["each"]++; return []string{"its own"} }

// The texts of a verdict are made once, and again for every node only where nodes of one verdict have texts of their own.
func TestTextsMadeOnce(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: five()})
	require.NoError(t, err)
	for partial, want := range map[resources.Verdict]map[string]int{9: {"all": 2}, 1: {"all": 1, "each": 3}, 2: {"all": 1, "each": 2}} {
		x, p := obstacles{snapshot: s}, talks{map[string]int{}, partial}
		x.ask(filter.Predicates{p}, []int{0, 1, 2, 5, 3, 4})
		require.Equal(t, want, p.made)
	}
}

// Apply and ApplyFlip return the error of a cluster that lacks the pods of a change.
func TestChangesOfOtherClusters(t *testing.T) {
	objects := cluster.Objects{Nodes: five()[:1], Pods: []*v1.Pod{running("a", "n1", "cpu=3")}}
	pod := testkit.Pod("web").Request("cpu=2").Obj()
	r := relax(t, objects, pod, Options{Cost: only(RemovePods, MovePods)}).Relaxations[0]
	flip := Flip{Kind: "pod", change: func(s *cluster.Snapshot, _ *v1.Pod) { takeAway(s, objects.Pods[0]) }}
	s, err := cluster.New(objects)
	require.NoError(t, err)
	for _, has := range []bool{true, false} {
		if !has {
			require.NoError(t, s.Remove(objects.Pods[0]))
		}
		p, err := Apply(s.Fork(), pod, r.Changes...)
		require.Equal(t, []bool{has, has}, []bool{err == nil, p != nil})
		p, err = ApplyFlip(s.Fork(), pod, flip)
		require.Equal(t, []bool{has, has}, []bool{err == nil, p != nil})
	}
}
