package optimal_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/preemption/optimal"
)

func node(name, cpu string) *v1.Node {
	return testkit.Node(name).Zone("a").Capacity("cpu=" + cpu + ",memory=64Gi,pods=110").Obj()
}

func running(name string, priority int32, cpu, on string) testkit.PodBuilder {
	return testkit.Pod(name).Priority(priority).Request("cpu=" + cpu).On(on)
}

// since returns a pod that started at Epoch.
func since(b testkit.PodBuilder) *v1.Pod {
	p := b.Obj()
	at := metav1.NewTime(testkit.Epoch)
	p.Status.StartTime = &at
	return p
}

// owned returns a pod with a controller, whose name is also the pod's generateName.
func owned(b testkit.PodBuilder, kind, name string) *v1.Pod {
	p, yes := b.Obj(), true
	p.GenerateName = name
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, Controller: &yes}}
	return p
}

func protected(labels string, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: labels},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: testkit.Pairs(labels)}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}

// shown is "n1: a b" or the message.
func shown(r *preemption.Result) string {
	if r.Outcome != preemption.Success {
		return r.Message
	}
	var names []string
	for _, v := range r.Victims {
		name := v.Pod.Name
		if v.Violates {
			name += "!"
		}
		names = append(names, name)
	}
	return r.Node + ": " + strings.Join(names, " ")
}

// Each case says what v1.36 does and what the search finds.
func TestSearch(t *testing.T) {
	big := testkit.Pod("p").Priority(100).Request("cpu=4").Obj()
	type test struct {
		name, why string
		s         situation
		o         optimal.Options
		v136      string
		want      string
	}
	testkit.Run(t, []test{
		{
			"one in place of two", "the sum of priorities counts each victim; v1.36 lets the pod come back that is first on the node",
			situation{nodes: []*v1.Node{node("n1", "6")}, pod: big, pods: []*v1.Pod{
				running("a", 1, "1", "n1").Obj(), running("b", 1, "4", "n1").Obj(), running("c", 1, "1", "n1").Obj(),
			}},
			optimal.Options{}, "n1: b", "n1: b",
		},
		{
			"the pod that stayed first", "a comes back first and takes the room that b needs",
			situation{nodes: []*v1.Node{node("n1", "6")}, pod: big, pods: []*v1.Pod{
				running("a", 1, "2", "n1").Obj(), running("b", 1, "2", "n1").Obj(), running("c", 1, "2", "n1").Obj(),
			}},
			optimal.Options{}, "n1: b c", "n1: b c",
		},
		{
			"a budget that can be kept", "v1.36 draws for all pods, so that d looks as if it broke the budget, and c leaves with a higher priority",
			situation{nodes: []*v1.Node{node("n1", "6")}, pod: testkit.Pod("p").Priority(100).Request("cpu=2").Obj(), pods: []*v1.Pod{
				running("a", 9, "2", "n1").Labels("app=x").Obj(), running("c", 5, "2", "n1").Obj(), running("d", 1, "2", "n1").Labels("app=x").Obj(),
			}, budgets: []*policyv1.PodDisruptionBudget{protected("app=x", 1)}},
			optimal.Options{}, "n1: c", "n1: d",
		},
		{
			"fewest victims", "by the order of the caller",
			situation{nodes: []*v1.Node{node("n1", "4")}, pod: testkit.Pod("p").Priority(100).Request("cpu=2").Obj(), pods: []*v1.Pod{
				running("a", 9, "2", "n1").Obj(), running("b", 1, "1", "n1").Obj(), running("c", 1, "1", "n1").Obj(),
			}},
			optimal.Options{Order: []optimal.Criterion{optimal.Victims}}, "n1: b c", "n1: a",
		},
		{
			"a cost of the caller", "b is dear",
			situation{nodes: []*v1.Node{node("n1", "4")}, pod: testkit.Pod("p").Priority(100).Request("cpu=2").Obj(), pods: []*v1.Pod{
				running("a", 9, "2", "n1").Obj(), running("b", 1, "2", "n1").Obj(),
			}},
			optimal.Options{Order: []optimal.Criterion{optimal.Cost}, Cost: func(v preemption.Placed) int64 { return int64(strings.Count(v.Pod.Name, "b")) }},
			"n1: b", "n1: a",
		},
		{
			"budgets are binding", "the only victim is protected",
			situation{nodes: []*v1.Node{node("n1", "4")}, pod: big, pods: []*v1.Pod{running("a", 1, "4", "n1").Labels("app=x").Obj()},
				budgets: []*policyv1.PodDisruptionBudget{protected("app=x", 0)}},
			optimal.Options{NeverViolate: true}, "n1: a!", "0/1 nodes are available: 1 no acceptable preemption victims.",
		},
		{
			"a quorum", "two of the three pods of db stay, so that a pod of higher priority leaves",
			situation{nodes: []*v1.Node{node("n1", "4")}, pod: testkit.Pod("p").Priority(100).Request("cpu=2").Obj(), pods: []*v1.Pod{
				running("a", 9, "1", "n1").Obj(), owned(running("db-0", 1, "1", "n1"), "StatefulSet", "db"),
				owned(running("db-1", 1, "1", "n1"), "StatefulSet", "db"), owned(running("db-2", 1, "1", "n1"), "StatefulSet", "db"),
			}},
			optimal.Options{Quorum: func(pod *v1.Pod) (string, int) { return pod.GenerateName, 1 }}, "n1: db-1 db-2", "n1: a db-2",
		},
		{
			"the pod that the preemptor needs", "v1.36 removes web as well, and then the preemptor's affinity is not satisfied",
			situation{nodes: []*v1.Node{node("n1", "6")}, pods: []*v1.Pod{
				running("web", 1, "2", "n1").Labels("app=web").Obj(), running("a", 5, "4", "n1").Obj(),
			}, pod: testkit.Pod("p").Priority(100).Request("cpu=4").RequireWith(zoneKey, "app=web").Obj()},
			optimal.Options{}, "0/1 nodes are available: 1 node(s) didn't match pod affinity rules.", "n1: a",
		},
		{
			"a better node", "n1 is first by name; n2 has the victim of lower priority",
			situation{nodes: []*v1.Node{node("n1", "4"), node("n2", "4")}, pod: big, pods: []*v1.Pod{
				running("a", 5, "4", "n1").Obj(), running("b", 1, "4", "n2").Obj(),
			}},
			optimal.Options{}, "n2: b", "n2: b",
		},
		{
			"a later start", "both nodes lose five pods of priority 0 at most; on n2 all of them started later, and a pod there asks for nothing",
			situation{nodes: []*v1.Node{node("n1", "3"), node("n2", "3")}, pod: testkit.Pod("p").Priority(10).Request("cpu=1").Obj(), pods: []*v1.Pod{
				running("a1", 5, "500m", "n1").Obj(), running("a2", 0, "1500m", "n1").Obj(), running("a3", 10, "1", "n1").Obj(), running("a4", -1, "1", "n1").Obj(),
				running("a5", 0, "750m", "n1").Obj(), since(running("a6", 0, "1500m", "n1")), running("a7", 0, "1", "n1").Obj(),
				running("b1", 5, "500m", "n2").Obj(), running("b2", 0, "1500m", "n2").Obj(), running("b3", 10, "1", "n2").Obj(), running("b4", -1, "1", "n2").Obj(),
				running("b5", 0, "750m", "n2").Obj(), running("b6", 0, "1500m", "n2").Obj(), running("b7", 0, "1", "n2").Obj(), running("b8", 0, "0", "n2").Obj(),
			}},
			optimal.Options{}, "n2: b2 b5 b6 b7 b4", "n2: b2 b5 b6 b7 b4",
		},
		{
			"host port", "the filter rejects until the holder of the port leaves",
			situation{nodes: []*v1.Node{node("n1", "8")}, pods: []*v1.Pod{
				running("a", 1, "1", "n1").Obj(), running("b", 7, "1", "n1").HostPort("", v1.ProtocolTCP, 80).Obj(), running("c", 1, "1", "n1").Obj(),
			}, pod: testkit.Pod("p").Priority(100).Request("cpu=1").HostPort("", v1.ProtocolTCP, 80).Obj()},
			optimal.Options{}, "n1: b", "n1: b",
		},
		{
			"a terminating victim", "the trial takes a from the count of zone a, which never had a, because a terminates; without a and b the zone would still have b's place",
			situation{nodes: []*v1.Node{node("n1", "4"), testkit.Node("n2").Zone("b").Capacity("cpu=4,memory=64Gi,pods=110").Obj()}, pods: []*v1.Pod{
				running("a", 1, "1", "n1").Labels("app=x").Terminating().Obj(), running("b", 5, "1", "n1").Labels("app=x").Obj(), running("c", 200, "4", "n2").Obj(),
			}, pod: testkit.Pod("p").Priority(100).Request("cpu=1").Labels("app=x").Spread(1, zoneKey, v1.DoNotSchedule, "app=x").Obj()},
			optimal.Options{}, "n1: a", "n1: b",
		},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.v136, shown(c.s.preempt(t, preemption.Options{})), "v1.36")
		s := search(t, c.o)
		require.Equal(t, c.want, shown(c.s.preempt(t, s.Options(preemption.Options{}))))
		require.True(t, s.Proof().Optimal)
	})
}

// A spread constraint over many equal pods is one constraint, not one for each set of them.
func TestEqualPods(t *testing.T) {
	s := situation{nodes: []*v1.Node{node("n1", "64"), node("n2", "20")}}
	for k := range 40 {
		s.pods = append(s.pods, running(fmt.Sprintf("a%d", k), 1, "1", "n1").Labels("app=x").Obj())
	}
	for k := range 20 {
		s.pods = append(s.pods, running(fmt.Sprintf("b%d", k), 200, "1", "n2").Labels("app=x").Obj())
	}
	s.pod = testkit.Pod("p").Labels("app=x").Priority(100).Request("cpu=1").Spread(1, hostKey, v1.DoNotSchedule, "app=x").Obj()
	with := search(t, optimal.Options{})
	r := s.preempt(t, with.Options(preemption.Options{}))
	require.Equal(t, preemption.Success, r.Outcome, r.Message)
	require.Len(t, r.Victims, 20)
	require.True(t, with.Proof().Optimal)
	require.Less(t, with.Proof().Steps, 1000)
}

// A search that was cut is never worse than v1.36's, says so, and has a bound that no victims are better than.
func TestCut(t *testing.T) {
	snapshot, _ := crowd(t, 1, 110, false)
	s := situation{cluster: snapshot, pod: testkit.Pod("p").Request("cpu=6,memory=12Gi").Priority(45).Obj()}
	plain := s.preempt(t, preemption.Options{})
	full := search(t, optimal.Options{})
	best := s.preempt(t, full.Options(preemption.Options{}))
	require.True(t, full.Proof().Optimal)
	stops := 0
	for name, o := range map[string]optimal.Options{
		"steps": {Steps: 500},
		"stop":  {Stop: func() bool { stops++; return true }},
	} {
		cut := search(t, o)
		r := s.preempt(t, cut.Options(preemption.Options{}))
		p := cut.Proof()
		require.False(t, p.Optimal, name)
		require.Positive(t, p.Cut, name)
		require.LessOrEqual(t, optimal.Compare(cut.Of(r.Candidate, now), cut.Of(plain.Candidate, now), optimal.DefaultOrder()), 0, name)
		require.LessOrEqual(t, optimal.Compare(p.Bound, full.Of(best.Candidate, now), optimal.DefaultOrder()), 0, name)
		again := search(t, o)
		require.Equal(t, shown(r), shown(s.preempt(t, again.Options(preemption.Options{}))), "the same steps give the same answer")
	}
	require.Equal(t, 4, stops, "Stop is asked once in each search")
}

// The search gives the same answer over a cluster that has no rows, kinds or requests.
func TestBareCluster(t *testing.T) {
	s := situation{nodes: []*v1.Node{node("n1", "6")}, pods: []*v1.Pod{
		running("a", 9, "2", "n1").Labels("app=x").Obj(), running("c", 5, "2", "n1").Obj(), running("d", 1, "2", "n1").Labels("app=x").Obj(),
	}, budgets: []*policyv1.PodDisruptionBudget{protected("app=x", 1)}, pod: testkit.Pod("p").Priority(100).Request("cpu=2").Obj()}
	s.cluster = testkit.NewCluster(s.nodes, s.pods).WithRows()
	require.Equal(t, "n1: d", shown(s.preempt(t, search(t, optimal.Options{}).Options(preemption.Options{}))))
}

// Options that contradict each other are errors.
func TestBadInput(t *testing.T) {
	type test struct {
		name, why string
		o         optimal.Options
		want      string
	}
	testkit.Run(t, []test{
		{"unknown criterion", "beyond the last", optimal.Options{Order: []optimal.Criterion{optimal.Victims, 99}}, "order[1]: unknown criterion 99: the largest is 6"},
		{"criterion twice", "the second has no meaning", optimal.Options{Order: []optimal.Criterion{optimal.Start, optimal.Start}}, "order[1]: latest start is in the order twice"},
		{"cost without function", "every pod would cost nothing", optimal.Options{Order: []optimal.Criterion{optimal.Cost}}, "cost: required, because the order has the criterion cost"},
		{"negative steps", "0 is the default", optimal.Options{Steps: -1}, "steps: must not be negative"},
		{"an empty order", "all sets are equal: the first node that has victims wins", optimal.Options{Order: []optimal.Criterion{}}, ""},
	}, func(t *testing.T, c test) {
		_, err := optimal.New(c.o)
		if c.want == "" {
			require.NoError(t, err)
			return
		}
		require.EqualError(t, err, c.want)
	})
}

// A search that has seen a cluster before gives the answer of a new search after pods came and left.
func TestChanges(t *testing.T) {
	for _, budgets := range []bool{false, true} {
		snapshot, pdbs := crowd(t, 40, 8, budgets)
		plan, err := placement.New(snapshot, placement.DefaultProfile())
		require.NoError(t, err)
		r := rand.New(rand.NewPCG(7, 7))
		ask := func(s *optimal.Search) string {
			pod := testkit.Pod("p").Request("cpu=600m,memory=700Mi").Priority(45).Obj()
			d := plan.Decide(pod, placement.Options{})
			if d.Placed() {
				return "no victims: " + d.Node
			}
			result := plan.Preempt(pod, d.Failure, placement.Options{}, placement.PreemptOptions{Budgets: pdbs, Now: now, Options: s.Options(preemption.Options{})})
			require.True(t, s.Proof().Optimal)
			return shown(&result)
		}
		with := search(t, optimal.Options{})
		excluded := 0
		for round := range 60 {
			slot := r.IntN(40)
			pods := slices.Collect(snapshot.Pods(slot))
			old := pods[r.IntN(len(pods))]
			require.NoError(t, snapshot.Remove(old))
			p := testkit.Pod(fmt.Sprintf("q%d", round)).Labels("app=a3").Priority(int32(10 * r.IntN(5))).Obj()
			p.Spec.Containers = old.Spec.Containers
			require.NoError(t, snapshot.Assume(p, slot))
			require.Equal(t, ask(search(t, optimal.Options{})), ask(with), "round %d", round)
			excluded += with.Proof().Excluded
		}
		require.Greater(t, excluded, 60*20, "most nodes need no search")
	}
}

// A pod of another node may hold up the smallest count of a spread constraint. The search takes all pods away first, and would then take the
// pod of the preemptor's node for a victim.
func TestPodsThatHoldUpACount(t *testing.T) {
	bare := node("n2", "1")
	delete(bare.Labels, hostKey)
	s := situation{
		nodes: []*v1.Node{node("n1", "8"), bare, node("n3", "8")},
		pods: []*v1.Pod{
			running("web-1", 0, "1", "n1").Labels("app=web").Obj(), running("enemy", 0, "1", "n2").Labels("app=enemy").Obj(),
			running("web-3", 0, "1", "n3").Labels("app=web").Obj(),
		},
		pod: testkit.Pod("p").Priority(100).Request("cpu=1").Labels("app=web").RequireApart(zoneKey, "app=enemy").
			Spread(1, hostKey, v1.DoNotSchedule, "app=web").Obj(),
	}
	with := search(t, optimal.Options{})
	r := s.preempt(t, with.Options(preemption.Options{CrossNode: &preemption.CrossNode{}}))
	require.Equal(t, "n1: enemy", shown(r))
	require.True(t, s.fits(t, r.Candidate))
	require.True(t, with.Proof().Optimal)
}

// Where a pod that stays may give room there are too many sets of 31 pods, and the proof says so.
func TestNodeThatIsNotSearchedWhole(t *testing.T) {
	s := situation{
		nodes: []*v1.Node{node("n1", "40"), testkit.Node("n2").Zone("a").Capacity("cpu=40,pods=110").Unschedulable().Obj()},
		pods:  []*v1.Pod{running("web", 200, "1", "n2").Labels("app=web").Obj(), running("enemy", 0, "1", "n2").Labels("app=enemy").Obj()},
		pod: testkit.Pod("p").Priority(100).Request("cpu=1").Labels("app=web").RequireApart(zoneKey, "app=enemy").
			Spread(1, hostKey, v1.DoNotSchedule, "app=web").Obj(),
	}
	for k := range 30 {
		s.pods = append(s.pods, running(fmt.Sprint("v", k), int32(k), "1", "n1").Labels("app=web").Obj())
	}
	with := search(t, optimal.Options{})
	r := s.preempt(t, with.Options(preemption.Options{CrossNode: &preemption.CrossNode{}}))
	require.Len(t, r.Victims, 30)
	require.True(t, s.fits(t, r.Candidate))
	require.False(t, with.Proof().Optimal)
	require.Less(t, with.Proof().Steps, 30_000)
}
