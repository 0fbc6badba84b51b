package preemption_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
)

const (
	none      = "Unschedulable, clear: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
	never     = "Unschedulable, keep: not eligible due to preemptionPolicy=Never."
	waiting   = "Unschedulable, keep: not eligible due to a terminating pod on the nominated node."
	zoneKey   = v1.LabelTopologyZone
	hostKey   = v1.LabelHostname
	tooMuch   = "Unschedulable, clear: 0/1 nodes are available: 1 Insufficient cpu."
	notThere  = "Unschedulable, clear: 0/1 nodes are available: 1 node(s) didn't match pod affinity rules."
	unhelpful = "Unschedulable, clear: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
)

// TestWorkedExamples holds the worked examples. cpu only; node n1 has 4 cpu where nothing is said.
func TestWorkedExamples(t *testing.T) {
	n1 := node("n1", "4")
	type test struct {
		name, why string
		s         situation
		p         *v1.Pod
		want      string
	}
	testkit.Run(t, []test{
		{"P-1 equal priority", "only strictly lower priorities give way", parts(n1, pod("a", 10, "4", "n1").Obj()), pod("p", 10, "2", "").Obj(), none},
		{"P-1 nil and zero", "nil is 0", parts(n1, testkit.Pod("a").Request("cpu=4").On("n1").Obj()), pod("p", 0, "2", "").Obj(), none},
		{"P-1 nil and one", "1 is above nil", parts(n1, testkit.Pod("a").Request("cpu=4").On("n1").Obj()), pod("p", 1, "2", "").Obj(), "n1: a"},
		{
			"P-2 importance by age", "B, A, C: B comes back, A does not, C does",
			parts(n1, started(pod("a", 5, "2", "n1"), 10), started(pod("b", 5, "1", "n1"), 0), started(pod("c", 1, "1", "n1"), 0)),
			pod("p", 10, "2", "").Obj(), "n1: a",
		},
		{
			"P-3 not helpful mix", "cordoned, full of equals, tainted, too small",
			parts(testkit.Node("n1").Capacity("cpu=4").Unschedulable().Obj(), node("n2", "4"), testkit.Node("n3").Capacity("cpu=4").Taint("k=v:NoSchedule").Obj(), node("n4", "1"), pod("a", 10, "4", "n2").Obj()),
			pod("p", 10, "2", "").Obj(),
			"Unschedulable, clear: 0/4 nodes are available: 1 No preemption victims found for incoming pod, 3 Preemption is not helpful for scheduling.",
		},
		{
			"P-4 greedy", "hi does not come back, lo1 does, lo2 does not",
			parts(n1, pod("hi", 9, "2", "n1").Obj(), pod("lo1", 2, "1", "n1").Obj(), pod("lo2", 1, "1", "n1").Obj()), pod("p", 10, "3", "").Obj(), "n1: hi lo2",
		},
		{
			"P-5 budget first", "the pod under an exhausted budget comes back first",
			parts(n1, pod("hi", 9, "2", "n1").Obj(), pod("lo", 1, "2", "n1").Labels("app=x").Obj(), budget("x", "app=x", 0)), pod("p", 10, "2", "").Obj(), "n1: hi",
		},
		{"P-6 one allowed", "the budget goes to the more important pod, so that it leaves", sixth(1), pod("p", 10, "1", "").Obj(), "n1: a"},
		{"P-6 none allowed", "both break it", sixth(0), pod("p", 10, "1", "").Obj(), "n1: b, violations 1"},
		{"P-6 two allowed", "none breaks it", sixth(2), pod("p", 10, "1", "").Obj(), "n1: b"},
		{"P-7 budget walk", "one is granted, two break it", seventh(budget("x", "app=x", 1)), pod("p", 10, "4", "").Obj(), "n1: a b c, violations 2"},
		{
			"P-7 granted already", "a is not counted and draws nothing",
			parts(node("n1", "2"), pod("a", 3, "1", "n1").Labels("app=x").Obj(), pod("b", 2, "1", "n1").Labels("app=x").Obj(), granted(budget("x", "app=x", 1), "a")),
			pod("p", 10, "2", "").Obj(), "n1: a b",
		},
		{
			"P-7 two budgets", "the smaller one is broken",
			parts(node("n1", "2"), pod("a", 3, "1", "n1").Labels("app=x").Obj(), pod("b", 2, "1", "n1").Labels("app=x").Obj(), budget("x", "app=x", 1), budget("y", "app=x", 2)),
			pod("p", 10, "2", "").Obj(), "n1: a b, violations 1",
		},
		{
			"P-8 choice by budget", "one violation is worse than any priority",
			parts(n1, node("n2", "4"), pod("a", 1, "4", "n1").Labels("app=x").Obj(), pod("b", 99, "4", "n2").Obj(), budget("x", "app=x", 0)),
			pod("p", 100, "2", "").Obj(), "n2: b",
		},
		{
			"P-9 highest priority", "50 against three of 49",
			parts(n1, node("n2", "3"), pod("a", 50, "4", "n1").Obj(), pod("b", 49, "1", "n2").Obj(), pod("c", 49, "1", "n2").Obj(), pod("d", 49, "1", "n2").Obj()),
			pod("p", 100, "3", "").Obj(), "n2: b c d",
		},
		{"P-9 sum", "two of -5 weigh more than one", ninth([]int32{-5, -5}, []int32{-5}), pod("p", 100, "2", "").Obj(), "n2: c"},
		{"P-9 sum far apart", "each pod adds at least something", ninth([]int32{10, -2000000000}, []int32{10}), pod("p", 100, "2", "").Obj(), "n2: c"},
		{"P-9 sum ties", "-2147483648 adds nothing: fewest victims", ninth([]int32{10, -2147483648}, []int32{10}), pod("p", 100, "2", "").Obj(), "n2: c"},
		{
			"P-10 choice by start", "only the highest priority's earliest start counts",
			parts(node("n1", "2"), node("n2", "2"), node("n3", "2"),
				started(pod("a", 10, "1", "n1"), 5), started(pod("b", 9, "1", "n1"), 0),
				started(pod("c", 10, "1", "n2"), 7), started(pod("d", 9, "1", "n2"), 1),
				started(pod("e", 10, "1", "n3"), 6), started(pod("f", 9, "1", "n3"), 100)),
			pod("p", 100, "2", "").Obj(), "n2: c d",
		},
		{
			"P-10 no start", "nil is now, later than any past one",
			parts(n1, node("n2", "4"), started(pod("a", 10, "4", "n1"), 100), pod("b", 10, "4", "n2").Obj()), pod("p", 100, "2", "").Obj(), "n2: b",
		},
		{"P-11 nominated of equal priority", "its room is taken", parts(n1, pod("a", 1, "4", "n1").Obj()).nominate("n1", pod("x", 10, "3", "").Obj()), pod("p", 10, "2", "").Obj(), tooMuch},
		{"P-11 nominated of lower priority", "it does not count", parts(n1, pod("a", 1, "4", "n1").Obj()).nominate("n1", pod("x", 9, "3", "").Obj()), pod("p", 10, "2", "").Obj(), "n1: a"},
		{"P-12 waiting", "a scheduler's victim is still there", parts(n1, preempted(pod("a", 1, "4", "n1"))), nominatedTo(pod("p", 10, "2", ""), "n1"), waiting},
		{
			"P-12 cordoned meanwhile", "the nominated node can take nobody any more",
			parts(testkit.Node("n1").Capacity("cpu=4").Unschedulable().Obj(), node("n2", "4"), preempted(pod("a", 1, "4", "n1")), pod("b", 1, "4", "n2").Obj()),
			nominatedTo(pod("p", 10, "2", ""), "n1"), "n2: b",
		},
		{"P-14 cross-node", "Q is on another node of the zone", crossNode("2"), crossNodePod(), "Unschedulable, clear: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."},
		{"P-14 on Q's own node", "M is large enough", crossNode("4"), crossNodePod(), "m: q"},
		{
			"P-15 affinity to a victim", "without the victims the affinity fails",
			parts(n1, pod("db", 1, "1", "n1").Labels("app=db").Obj(), pod("x", 1, "3", "n1").Obj()), pod("p", 10, "2", "").RequireWith(hostKey, "app=db").Obj(), notThere,
		},
		{
			"P-16 affinity to a nominated pod", "a nominated pod may block, not help",
			parts(n1, pod("x", 1, "4", "n1").Obj(), pod("other", 1, "0", "n1").Labels("app=db").Obj()).nominate("n1", pod("db", 20, "1", "").Labels("app=db").Obj()),
			pod("p", 10, "2", "").RequireWith(hostKey, "app=db").Obj(), notThere,
		},
		{"P-17 spread", "z2 has none, so z1 may hold one with the pod", seventeenth("n1"), spreadPod(), "n1: w1 w2"},
		{
			"P-17 spread elsewhere", "the pods that count are on another node of the zone", seventeenth("n1b"), spreadPod(),
			"Unschedulable, clear: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.",
		},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, shown(c.s.preempt(t, c.p)))
		c.s.bare = true
		require.Equal(t, c.want, shown(c.s.preempt(t, c.p)), "without indexes")
	})
}

func sixth(allowed int32) situation {
	return parts(node("n1", "2"), pod("a", 3, "1", "n1").Labels("app=x").Obj(), pod("b", 2, "1", "n1").Labels("app=x").Obj(), budget("x", "app=x", allowed))
}

func seventh(b any) situation {
	return parts(node("n1", "4"), pod("a", 3, "1", "n1").Labels("app=x").Obj(), pod("b", 2, "1", "n1").Labels("app=x").Obj(), pod("c", 1, "1", "n1").Labels("app=x").Obj(), b)
}

// ninth has nodes n1 and n2 of 2 cpu, filled by pods of these priorities.
func ninth(first, second []int32) situation {
	s := parts(node("n1", "2"), node("n2", "2"))
	for k, priority := range first {
		s.pods = append(s.pods, pod(string(rune('a'+k)), priority, map[int]string{1: "2", 2: "1"}[len(first)], "n1").Obj())
	}
	for k, priority := range second {
		s.pods = append(s.pods, pod(string(rune('c'+k)), priority, map[int]string{1: "2", 2: "1"}[len(second)], "n2").Obj())
	}
	return s
}

func crossNode(cpuOfM string) situation {
	return parts(testkit.Node("n").Zone("a").Capacity("cpu=4").Obj(), testkit.Node("m").Zone("a").Capacity("cpu="+cpuOfM).Obj(), pod("q", 1, "1", "m").Labels("app=q").Obj())
}

func crossNodePod() *v1.Pod { return pod("p", 10, "3", "").RequireApart(zoneKey, "app=q").Obj() }

// seventeenth has zone z1 with n1 (and n1b), zone z2 with a full n2; w1 and w2 are on the node named.
func seventeenth(on string) situation {
	s := parts(testkit.Node("n1").Zone("z1").Capacity("cpu=4").Obj(), testkit.Node("n2").Zone("z2").Capacity("cpu=4").Obj(), pod("full", 100, "4", "n2").Obj(),
		pod("w1", 1, "10m", on).Labels("app=w").Obj(), pod("w2", 1, "10m", on).Labels("app=w").Obj())
	if on != "n1" {
		s.nodes = append(s.nodes, testkit.Node(on).Zone("z1").Capacity("cpu=20m").Obj())
	}
	return s
}

func spreadPod() *v1.Pod {
	return pod("p", 10, "2", "").Labels("app=w").Spread(1, zoneKey, v1.DoNotSchedule, "app=w").Obj()
}

// Example P-13: with one percent-free candidate wanted, two violating nodes do not stop the search, the first clean one does.
func TestEarlyStop(t *testing.T) {
	zero, one := int32(0), int32(1)
	s := parts(node("n1", "4"), node("n2", "4"), node("n3", "4"), node("n4", "4"),
		pod("a", 1, "4", "n1").Labels("app=x").Obj(), pod("b", 1, "4", "n2").Labels("app=x").Obj(), pod("c", 50, "4", "n3").Obj(), pod("d", 1, "4", "n4").Obj(),
		budget("x", "app=x", 0)).with(preemption.Options{Candidates: preemption.CandidateArgs{MinPercentage: &zero, MinAbsolute: &one}})
	r := s.preempt(t, pod("p", 100, "2", "").Obj())
	var found []string
	for _, c := range r.Candidates {
		found = append(found, c.Node)
	}
	require.Equal(t, []string{"n3", "n1"}, found)
	require.Equal(t, "n3: c", shown(r), "n4 is never seen")
	require.Equal(t, 3, r.Tried)
	s.options.Offset = 3
	require.Equal(t, "n4: d", shown(s.preempt(t, pod("p", 100, "2", "").Obj())), "the round begins at n4")
	s.options.Offset = -1
	require.Equal(t, "n4: d", shown(s.preempt(t, pod("p", 100, "2", "").Obj())))
}

// Example P-18.
func TestNumberOfCandidates(t *testing.T) {
	number := func(n int, percentage, absolute int32) int {
		return preemption.CandidateArgs{MinPercentage: &percentage, MinAbsolute: &absolute}.Number(n)
	}
	require.Equal(t, 2, number(20, 10, 0))
	require.Equal(t, 3, number(20, 0, 3))
	require.Equal(t, 0, number(20, 4, 0))
	require.Equal(t, 20, preemption.CandidateArgs{}.Number(20))
	require.Equal(t, 500, preemption.CandidateArgs{}.Number(5000))
	require.Equal(t, 0, preemption.CandidateArgs{}.Number(0))
	require.Equal(t, 5, number(5, 100, 1000), "never more than there are")
}
