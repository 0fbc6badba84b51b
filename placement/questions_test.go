package placement

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// A running pod violates exactly the rules that would reject the pod on its node now.
func TestViolations(t *testing.T) {
	apart := func(name, app string) testkit.PodBuilder {
		return testkit.Pod(name).Labels("app="+app).RequireApart(v1.LabelHostname, "app="+app)
	}
	type test struct {
		name, why string
		nodes     []*v1.Node
		pods      []*v1.Pod
		want      []string
	}
	testkit.Run(t, []test{
		{"nothing wrong", "pods where they belong", threeZones(), []*v1.Pod{testkit.Pod("p").On("a1").Obj()}, nil},
		{"taint", "NoSchedule came later; the pod may stay, but it would not be let in",
			[]*v1.Node{testkit.Node("n1").Taint("team=a:NoSchedule").Obj()}, []*v1.Pod{testkit.Pod("p").On("n1").Obj(), testkit.Pod("q").Tolerate("team", v1.TolerationOpExists, "", "").On("n1").Obj()},
			[]string{"default/p on n1: TaintToleration"}},
		{"soft taint", "PreferNoSchedule rejects nobody", []*v1.Node{testkit.Node("n1").Taint("team=a:PreferNoSchedule").Obj()}, []*v1.Pod{testkit.Pod("p").On("n1").Obj()}, nil},
		{"cordon and resources", "a cordoned or full node breaks no rule of its pods", []*v1.Node{testkit.Node("n1").Capacity("cpu=1").Unschedulable().Obj()},
			[]*v1.Pod{testkit.Pod("p").Request("cpu=4").On("n1").Obj()}, nil},
		{"node label gone", "the selector no longer holds", threeZones(), []*v1.Pod{testkit.Pod("p").NodeSelector("disk=ssd").On("b1").Obj()}, []string{"default/p on b1: NodeAffinity"}},
		{"two pods of the same kind", "each is in the other's way, not in its own", threeZones(), []*v1.Pod{apart("p", "x").On("a1").Obj(), apart("q", "x").On("a1").Obj(), apart("r", "x").On("a2").Obj()},
			[]string{"default/p on a1: InterPodAffinity", "default/q on a1: InterPodAffinity"}},
		{"one-sided", "the other's term rejects the pod as well", threeZones(), []*v1.Pod{apart("p", "x").On("a1").Obj(), testkit.Pod("q").Labels("app=x").On("a1").Obj()},
			[]string{"default/p on a1: InterPodAffinity", "default/q on a1: InterPodAffinity"}},
		{"company left", "the pod that it followed is gone", threeZones(), []*v1.Pod{testkit.Pod("p").RequireWith(v1.LabelTopologyZone, "app=db").On("a1").Obj()}, []string{"default/p on a1: InterPodAffinity"}},
		{"skew", "the zone has three pods and the other zones have none: each more pod is one too many", threeZones(), []*v1.Pod{
			testkit.Pod("p").Labels("app=w").Spread(1, v1.LabelTopologyZone, v1.DoNotSchedule, "app=w").On("a1").Obj(),
			testkit.Pod("q").Labels("app=w").On("a2").Obj(), testkit.Pod("r").Labels("app=w").On("a1").Obj()},
			[]string{"default/p on a1: PodTopologySpread"}},
		{"even", "one in each zone", threeZones(), []*v1.Pod{
			testkit.Pod("p").Labels("app=w").Spread(1, v1.LabelTopologyZone, v1.DoNotSchedule, "app=w").On("a1").Obj(),
			testkit.Pod("q").Labels("app=w").On("b1").Obj(), testkit.Pod("r").Labels("app=w").On("c1").Obj()}, nil},
		{"leaving", "a terminating pod is on its way already", threeZones(), []*v1.Pod{testkit.Pod("p").NodeSelector("disk=ssd").On("b1").Terminating().Obj()}, nil},
	}, func(t *testing.T, c test) {
		p, _ := planOf(t, cluster.Objects{Nodes: c.nodes, Pods: c.pods})
		require.Equal(t, c.want, violations(p))
	})
}

func violations(p *Plan) (out []string) {
	for _, v := range p.Violations() {
		for _, r := range v.Rejections {
			out = append(out, fmt.Sprintf("%s on %s: %s", v.Pod, v.Node, r.Plugin))
		}
	}
	slices.Sort(out)
	return out
}

// Violations agrees with a slow search: remove each pod from a fork, and ask whether the pod may return.
func TestViolationsAgainstForks(t *testing.T) {
	found := 0
	for seed := range uint64(60) {
		w := &world{r: rand.New(rand.NewPCG(seed, 19))}
		s := w.snapshot(t, 3+w.r.IntN(5), 4+w.r.IntN(20))
		p, err := New(s, DefaultProfile())
		require.NoError(t, err)
		var profile Profile
		for _, f := range DefaultProfile().Filters {
			if f.CanStopHolding {
				profile.Filters = append(profile.Filters, f)
			}
		}
		var want []string
		for slot := range s.Len() {
			for pod := range s.Pods(slot) {
				fork := s.Fork()
				require.NoError(t, fork.Remove(pod))
				alone, err := New(fork, profile)
				require.NoError(t, err)
				for _, r := range alone.Rejections(pod, slot) {
					want = append(want, fmt.Sprintf("%s/%s on %s: %s", pod.Namespace, pod.Name, s.Node(slot).Name, r.Plugin))
				}
			}
		}
		slices.Sort(want)
		require.Equal(t, want, violations(p), "seed %d", seed)
		require.Equal(t, want, violations(p), "asked again, seed %d", seed)
		found += len(want)
	}
	require.Greater(t, found, 200)
}

// The options of a decision: a seed for ties, nominated pods, the start of a sampled search.
func TestDecideOptions(t *testing.T) {
	p, s := planOf(t, cluster.Objects{Nodes: threeZones()})
	pod := testkit.Pod("p").Request("cpu=3").Obj()
	require.Equal(t, "a1", p.Decide(pod, Options{}).Node, "the first of equals in scan order")
	require.Equal(t, "b2", p.Decide(pod, Options{Tie: func(n int) int { return n - 1 }}).Node, "a1 b1 c1 a2 b2")

	vip := testkit.Pod("vip").Priority(10).Request("cpu=3").Obj()
	nominated := func(i int) []*v1.Pod {
		if s.Node(i).Name != "c1" {
			return []*v1.Pod{vip}
		}
		return nil
	}
	require.Equal(t, "c1", p.Decide(pod, Options{Nominated: nominated}).Node, "the others are kept for a pod of higher priority")
	equal := testkit.Pod("equal").Priority(10).Request("cpu=3").Obj()
	require.Equal(t, "c1", p.Decide(equal, Options{Nominated: nominated}).Node, "a nomination of equal priority counts as well")
	urgent := testkit.Pod("urgent").Priority(20).Request("cpu=3").Obj()
	require.Equal(t, "a1", p.Decide(urgent, Options{Nominated: nominated}).Node, "a nomination of lower priority does not count")

	mine := pod.DeepCopy()
	mine.Status.NominatedNodeName = "b1"
	d := p.Decide(mine, Options{})
	require.Equal(t, "b1", d.Node, "the pod's own nominated node comes first")
	require.Equal(t, 1, d.Feasible)
	mine.Status.NominatedNodeName = "gone"
	require.Equal(t, "a1", p.Decide(mine, Options{}).Node)

	only := testkit.Pod("only").NodeSelector(v1.LabelTopologyZone + "=c").Obj()
	require.Zero(t, p.Decide(only, Options{}).Total, "a single node is not scored")

	none, _ := planOf(t, cluster.Objects{})
	d = none.Decide(pod, Options{})
	require.Equal(t, "no nodes available to schedule pods", d.Failure.Text())

	var many []*v1.Node
	for k := range 300 {
		many = append(many, testkit.Node(fmt.Sprintf("n%03d", k)).Capacity("cpu=4").Obj())
	}
	large, _ := planOf(t, cluster.Objects{Nodes: many})
	first := large.Decide(pod, Options{})
	require.Less(t, first.Evaluated, 300, "a share of a large cluster is enough")
	require.Equal(t, first.Evaluated, first.Next)
	second := large.Decide(pod, Options{Next: first.Next})
	require.Equal(t, many[first.Next].Name, second.Node)
}

// Choice explains why a node was chosen, with the total of the decision.
func TestChoice(t *testing.T) {
	for seed := range uint64(40) {
		w := &world{r: rand.New(rand.NewPCG(seed, 29))}
		s := w.snapshot(t, 2+w.r.IntN(5), w.r.IntN(10))
		p, err := New(s, DefaultProfile())
		require.NoError(t, err)
		pod := w.pod(w.r.IntN(30))
		d := p.Decide(pod, Options{})
		if d.Feasible < 2 {
			continue
		}
		why, err := p.Choice(pod, d.Slot)
		require.NoError(t, err)
		require.True(t, strings.Contains(why.String(), d.Node), why.String())
		reports, err := p.Table(pod)
		require.NoError(t, err)
		best := slices.MaxFunc(reports, func(a, b NodeReport) int {
			return cmp.Or(cmp.Compare(len(b.Rejections), len(a.Rejections)), cmp.Compare(a.Total, b.Total))
		})
		require.Equal(t, best.Total, d.Total, "seed %d", seed)
		for _, n := range reports {
			if !n.Feasible() {
				_, err := p.Choice(pod, s.Slot(n.Node))
				require.Error(t, err, "a rejected node was not chosen")
			}
		}
	}
}

// No question changes its arguments.
func TestPurity(t *testing.T) {
	for seed := range uint64(20) {
		w := &world{r: rand.New(rand.NewPCG(seed, 31))}
		s := w.snapshot(t, 2+w.r.IntN(5), w.r.IntN(10))
		p, err := NewPlacer(s, DefaultProfile())
		require.NoError(t, err)
		pod, more := w.pod(w.r.IntN(30)), w.node("more")
		var nodes []*v1.Node
		pods := []*v1.Pod{pod}
		for i := range s.Len() {
			nodes = append(nodes, s.Node(i))
			pods = slices.AppendSeq(pods, s.Pods(i))
		}
		version, total := s.Version(), podsOn(s)
		ask := func() {
			for range 3 {
				p.Decide(pod, Options{})
			}
			_, err := p.Table(pod)
			require.NoError(t, err)
			p.Rejections(pod, 0)
			p.Violations()
		}
		testkit.Unchanged(t, func() { testkit.Unchanged(t, ask, pods...) }, append(nodes, more)...)
		require.Equal(t, version, s.Version(), "questions do not touch the cluster")
		testkit.Unchanged(t, func() {
			testkit.Unchanged(t, func() {
				_, err := p.HowMany(pod, func(placed int) bool { return placed < 3 })
				require.NoError(t, err)
				var none *NoPlaceError
				_, err = p.PlaceAll([]*v1.Pod{pod, testkit.Pod("huge").Request("cpu=1000").Obj()}, Options{})
				require.ErrorAs(t, err, &none)
				larger, err := p.WithNodes(more)
				require.NoError(t, err)
				larger.Decide(pod, Options{})
			}, pods...)
		}, append(nodes, more)...)
		require.Equal(t, total, podsOn(s))
	}
}

// Without score plugins every node has 1 in all; plugins that all skip the pod give 0.
func TestTotalsWithoutScores(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(t, err)
	profile := DefaultProfile()
	skips := slices.DeleteFunc(slices.Clone(profile.Scores), func(w Weighted) bool { return w.Plugin.Name != "InterPodAffinity" })
	for want, scores := range map[int64][]Weighted{1: nil, 0: skips} {
		profile.Scores = scores
		p, err := New(s, profile)
		require.NoError(t, err)
		_, totals, err := p.Prepare(testkit.Pod("p").Obj()).Scores([]int{0, 1})
		require.NoError(t, err)
		require.Equal(t, []int64{want, want}, totals)
	}
}
