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

// A pod with some changes is made once, whatever else changes beside the pod. So is the plan of a cluster.
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
	w := d.newWorld(d.base)
	require.False(t, d.decides(w, d.pod))
	plan := w.plan
	require.True(t, d.decides(w, d.changed(all)))
	require.Same(t, plan, w.plan)
}

// A set of one change has no smaller part: no filter is asked.
func TestPartOfOne(t *testing.T) {
	asked := 0
	profile := placement.DefaultProfile()
	profile.Filters = append(profile.Filters, &placement.Plugin{Name: "Counts", Filter: func(*v1.Pod, placement.Cluster) placement.Filtering {
		asked++
		return placement.Filtering{Code: filter.Skip}
	}})
	s, err := cluster.New(cluster.Objects{Nodes: five()[:1], Pods: []*v1.Pod{running("a", "n1", "cpu=3")}})
	require.NoError(t, err)
	d, err := begin(Input{Snapshot: s, Profile: profile}, testkit.Pod("web").Request("cpu=2").Obj(), Options{})
	require.NoError(t, err)
	list := []*Change{d.removal(0, 0)}
	require.Equal(t, list, d.part(list))
	require.Zero(t, asked)
	list = append(list, &Change{Kind: DropPort, edit: func(*v1.Pod, int64) {}})
	require.Equal(t, list[:1], d.part(list))
	require.Positive(t, asked)
}

// talks rejects every slot with one verdict, and counts how often it makes the texts.
type talks struct {
	made    map[string]int
	partial resources.Verdict
}

func (talks) Name() string                         { return "Talks" }
func (talks) Check(i int) resources.Verdict        { return resources.Verdict(1 + i%2) }
func (p talks) Partial(v resources.Verdict) bool   { return v == p.partial }
func (p talks) Reasons(resources.Verdict) []string { p.made["all"]++; return []string{"the same"} }
func (p talks) ReasonsAt(int) []string             { p.made["each"]++; return []string{"its own"} }

// The texts of a verdict are made once, and again for every node only where nodes of one verdict have texts of their own.
func TestTextsMadeOnce(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: five()})
	require.NoError(t, err)
	for partial, want := range map[resources.Verdict]map[string]int{9: {"all": 2}, 1: {"all": 1, "each": 3}, 2: {"all": 1, "each": 2}} {
		x, p := obstacles{snapshot: s}, talks{map[string]int{}, partial}
		x.ask(filter.Predicates{p}, []int{0, 1, 2, 3, 4})
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
			require.NoError(t, s.Unset(objects.Pods[0]))
		}
		p, err := Apply(s.Fork(), pod, r.Changes...)
		require.Equal(t, []bool{has, has}, []bool{err == nil, p != nil})
		p, err = ApplyFlip(s.Fork(), pod, flip)
		require.Equal(t, []bool{has, has}, []bool{err == nil, p != nil})
	}
}
