package scheduler

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/spread"
)

// batch returns what the counters of batching have, by result and by reason, and forgets all.
func (s *sums) batch() map[string]float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]float64{}
	for key, x := range s.lines {
		if name, labels, _ := strings.Cut(key, " + [default-scheduler "); strings.HasPrefix(name, "batch_") {
			out[strings.TrimSuffix(labels, "]")] = x.value
		}
	}
	clear(s.lines)
	return out
}

// listed is the default profile without default constraints, with which pods can be signed.
func listed() Profile {
	return Profile{Args: map[string]any{"PodTopologySpread": placement.PluginArgs{PodTopologySpread: spread.Options{Defaults: spread.Defaults{Type: spread.ListDefaulting}}}.Profile().Filter("PodTopologySpread")}}
}

// batching makes a rig over three nodes, the first of which is the largest. The rig counts by metrics.
func batching(t *testing.T, o Options) (*rig, *sums) {
	t.Helper()
	c := &sums{}
	o.Metrics = c
	var nodes []*v1.Node
	for k, memory := range []string{"64Gi", "16Gi", "4Gi"} {
		nodes = append(nodes, testkit.Node(fmt.Sprint("n", k+1)).Capacity("cpu=4,memory="+memory+",pods=10").Obj())
	}
	return newRig(t, o, nodes), c
}

func sized(name, cpu string) *v1.Pod {
	return testkit.Pod("default/" + name).Request("cpu=" + cpu + ",memory=2Gi").Obj()
}

type counts = map[string]float64

// TestBatch schedules two pods. Each pod would fill a node. The cases say what the second pod's attempt does.
func TestBatch(t *testing.T) { // W13.3
	type test struct {
		name, why string
		second    *v1.Pod
		between   func(r *rig)
		node      string
		evaluated int
		want      counts
	}
	testkit.Run(t, []test{
		{"the next best node", "the first is full: only the hint is looked at", sized("q", "3"), nil, "n2", 1, counts{"hint_used": 1}},
		{"another size", "it is another pod, though the node has room for it", sized("q", "1"), nil, "n2", 3, counts{"no_hint": 1, "pod_incompatible": 1}},
		{"another pod", "its labels differ", testkit.Pod("default/q").Labels("a=b").Request("cpu=3,memory=2Gi").Obj(), nil, "n2", 3, counts{"no_hint": 1, "pod_incompatible": 1}},
		{"no signature", "it has a constraint of its own", testkit.Pod("default/q").Spread(1, "kubernetes.io/hostname", v1.ScheduleAnyway, "a=b").Request("cpu=3,memory=2Gi").Obj(), nil, "n2", 3,
			counts{"no_hint": 1, "pod_incompatible": 1, "pod_not_batchable": 1}},
		{"too late", "half a second is too long", sized("q", "3"), func(r *rig) { r.clock.advance(500 * time.Millisecond) }, "n2", 3, counts{"no_hint": 1, "expired": 1}},
		{"in time", "just less", sized("q", "3"), func(r *rig) { r.clock.advance(499 * time.Millisecond) }, "n2", 1, counts{"hint_used": 1}},
		{"the node is gone", "it cannot be full", sized("q", "3"), func(r *rig) { r.s.DeleteNode(testkit.Node("n1").Obj()) }, "n2", 2, counts{"no_hint": 1, "node_missing": 1}},
		{"room again", "the first pod was deleted", sized("q", "3"), func(r *rig) { _ = r.Delete(ctx, r.pods["default/p"]) }, "n1", 3, counts{"no_hint": 1, "node_not_full": 1}},
		{"the hint cannot take it", "somebody else was quicker: all are looked at", sized("q", "3"), func(r *rig) { r.add(testkit.Pod("default/x").On("n2").Request("cpu=4").Obj()) }, "n3", 3,
			counts{"hint_not_used": 1, "empty_list": 1}},
		{"the hinted node is gone", "all are looked at", sized("q", "3"), func(r *rig) { r.s.DeleteNode(testkit.Node("n2").Obj()) }, "n3", 2, counts{"hint_not_used": 1, "empty_list": 1}},
		{"an attempt between", "the ranking is of the last attempt but one", sized("q", "3"), func(r *rig) { r.add(sized("big", "9")).step(); r.s.o.Metrics.(*sums).batch() }, "n2", 3, counts{"no_hint": 1, "pod_skipped": 1}},
	}, func(t *testing.T, c test) {
		for _, each := range []bool{false, true} {
			t.Run(fmt.Sprintf("one by one %v", each), func(t *testing.T) {
				r, count := batching(t, Options{Profiles: []Profile{listed()}, OneByOne: each})
				r.add(sized("p", "3")).step()
				require.Equal(t, "n1", r.last().Node)
				require.Equal(t, counts{"no_hint": 1}, count.batch())
				if c.between != nil {
					c.between(r)
				}
				second := c.second.DeepCopy()
				r.add(second).step()
				require.Equal(t, c.node, r.last().Node, c.why)
				require.Equal(t, c.evaluated, r.last().Evaluated)
				require.Equal(t, c.want, count.batch())
			})
		}
	})
}

// The pod's own nomination goes before the hint of the batch, and the ranking is lost.
func TestBatchNominated(t *testing.T) { // W13.3, L10.1
	for k, each := range []bool{false, true, false, true} {
		o, want := Options{Profiles: []Profile{listed()}, OneByOne: each}, counts{"no_hint": 1, "pod_nominated": 1, "empty_list": 1}
		if k > 1 {
			o.Release, want = release.V1_36, counts{"hint_not_used": 1, "empty_list": 1}
		}
		r, count := batching(t, o)
		r.add(sized("p", "3")).step()
		count.batch()
		q := sized("q", "3")
		q.Status.NominatedNodeName = "n3"
		r.add(q).step()
		require.Equal(t, "n3", r.last().Node)
		require.Equal(t, want, count.batch())
	}
}

// A pod that PreFilter rejects does not come to the step of batching, with or without a signature.
func TestNoBatchBeforePreFilter(t *testing.T) {
	for _, each := range []bool{false, true} {
		for _, p := range []Profile{{}, listed()} {
			r, count := batching(t, Options{Profiles: []Profile{p}, OneByOne: each})
			x := sized("p", "3")
			x.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "none"}}}}
			r.add(x).step()
			require.Equal(t, Rejected, r.last().Outcome)
			require.Empty(t, count.batch())
		}
	}
}

// A pod that PreFilter keeps from every node, one by one, comes to the step of batching.
func TestBatchWithoutCandidates(t *testing.T) {
	for _, each := range []bool{false, true} {
		for _, p := range []Profile{{}, listed()} {
			r, count := batching(t, Options{Profiles: []Profile{p}, OneByOne: each})
			x := sized("p", "3")
			x.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
				{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"gone"}}}}}}}}
			r.add(x).step()
			require.Equal(t, Rejected, r.last().Outcome)
			require.Zero(t, r.last().Evaluated)
			require.Equal(t, counts{"no_hint": 1}, count.batch())
		}
	}
}

// A single node needs no ranking, and no score is asked for it: a score that fails does no harm.
func TestNoRankingOfOneNode(t *testing.T) {
	for _, each := range []bool{false, true} {
		p := listed()
		p.Args["ImageLocality"] = &placement.Plugin{Name: "ImageLocality", Score: func(*v1.Pod, placement.Cluster) (placement.Scorer, error) {
			return nil, errors.New("no score")
		}}
		r := newRig(t, Options{Profiles: []Profile{p}, OneByOne: each}, []*v1.Node{node("n1")})
		require.Equal(t, each, r.framework().plan == nil)
		x := sized("p", "3")
		require.NotEmpty(t, r.framework().SignPod(ctx, x), "equal pods could follow")
		r.add(x).step()
		require.Equal(t, "n1", r.last().Node)
		require.Empty(t, r.errs)

		r = newRig(t, Options{Profiles: []Profile{p}, OneByOne: each}, three())
		x = sized("q", "3")
		r.add(x).step()
		require.Equal(t, SchedulingError, r.last().Outcome, "of several nodes the scores decide")
		require.Contains(t, r.last().Message, "no score")
		require.Empty(t, r.last().Node)
	}
}

// A ranking that fails is reported. The pod has its node all the same, and the next pod has no hint.
func TestRankingFails(t *testing.T) {
	p, calls := listed(), 0
	p.Args["ImageLocality"] = &placement.Plugin{Name: "ImageLocality", Score: func(*v1.Pod, placement.Cluster) (placement.Scorer, error) {
		if calls++; calls == 2 {
			return nil, errors.New("no second score")
		}
		return nil, nil
	}}
	r, count := batching(t, Options{Profiles: []Profile{p}})
	require.NotNil(t, r.framework().plan)
	r.add(sized("p", "3")).step()
	require.Equal(t, Scheduled, r.last().Outcome)
	require.Len(t, r.errs, 1)
	require.ErrorContains(t, r.errs[0], "no second score")
	r.add(sized("q", "3")).step()
	require.Equal(t, counts{"no_hint": 2}, count.batch())
}

// Of two nodes the second is for the next pod.
func TestRankingOfTwo(t *testing.T) {
	for _, each := range []bool{false, true} {
		r, count := batching(t, Options{Profiles: []Profile{listed()}, OneByOne: each})
		r.s.DeleteNode(r.s.nodes.named("n3").Node)
		r.add(sized("p", "3")).step()
		r.add(sized("q", "3")).step()
		require.Equal(t, counts{"no_hint": 1, "hint_used": 1}, count.batch())
	}
}

// One ranking serves several pods, until it has no node left.
func TestBatchRanking(t *testing.T) { // W13.3
	r, count := batching(t, Options{Profiles: []Profile{listed()}})
	for k, want := range []string{"n1", "n2", "n3", ""} {
		r.add(sized(fmt.Sprint("p", k), "3")).step()
		require.Equal(t, want, r.last().Node)
	}
	require.Equal(t, counts{"no_hint": 2, "hint_used": 2}, count.batch(), "for the last pod there is nothing left")
}
