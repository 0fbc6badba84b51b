package preemption_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/release"
)

func policy(p *v1.Pod, policy v1.PreemptionPolicy) *v1.Pod {
	p.Spec.PreemptionPolicy = &policy
	return p
}

// conditions replaces a pod's conditions; the first of the type decides.
func conditions(p *v1.Pod, list ...v1.PodCondition) *v1.Pod {
	p.Status.Conditions = list
	return p
}

func target(status v1.ConditionStatus, reason string) v1.PodCondition {
	return v1.PodCondition{Type: v1.DisruptionTarget, Status: status, Reason: reason}
}

func TestEligible(t *testing.T) {
	n1 := node("n1", "4")
	full := parts(n1, pod("a", 1, "4", "n1").Obj())
	p := func() testkit.PodBuilder { return pod("p", 10, "2", "") }
	leaving := func(priority int32) testkit.PodBuilder { return pod("a", priority, "4", "n1").Terminating() }
	by := v1.PodReasonPreemptionByScheduler
	type test struct {
		name, why string
		s         situation
		p         *v1.Pod
		want      string
	}
	testkit.Run(t, []test{
		{"Never", "non-preempting pods wait", full, policy(p().Obj(), v1.PreemptNever), never},
		{"Never with a nomination", "the nomination stays", full, policy(nominatedTo(p(), "n1"), v1.PreemptNever), never},
		{"PreemptLowerPriority", "the default", full, policy(p().Obj(), v1.PreemptLowerPriority), "n1: a"},
		{"unknown policy", "counts as allowed", full, policy(p().Obj(), "Sometimes"), "n1: a"},
		{"nominated, nobody terminating", "may try again", full, nominatedTo(p(), "n1"), "n1: a"},
		{"nominated node is gone", "may try elsewhere", full, nominatedTo(p(), "n9"), "n1: a"},
		{"nominated node is too small now", "unresolvable", parts(node("n1", "1"), node("n2", "4"), preempted(pod("a", 1, "1", "n1")), pod("b", 1, "4", "n2").Obj()), nominatedTo(p(), "n1"), "n2: b"},
		{"terminating victim", "waits", parts(n1, preempted(pod("a", 1, "4", "n1"))), nominatedTo(p(), "n1"), waiting},
		{"terminating for another reason", "an eviction by the API does not count", parts(n1, conditions(leaving(1).Obj(), target(v1.ConditionTrue, "EvictionByEvictionAPI"))), nominatedTo(p(), "n1"), "n1: a"},
		{"terminating without a reason", "a plain deletion does not count", parts(n1, leaving(1).Obj()), nominatedTo(p(), "n1"), "n1: a"},
		{"condition is False", "does not count", parts(n1, conditions(leaving(1).Obj(), target(v1.ConditionFalse, by))), nominatedTo(p(), "n1"), "n1: a"},
		{"only the first condition counts", "of its type", parts(n1, conditions(leaving(1).Obj(), target(v1.ConditionTrue, "Other"), target(v1.ConditionTrue, by))), nominatedTo(p(), "n1"), "n1: a"},
		{"another condition before it", "is passed over", parts(n1, conditions(leaving(1).Obj(), v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue}, target(v1.ConditionTrue, by))), nominatedTo(p(), "n1"), waiting},
		{"terminating at the same priority", "never blocks", parts(n1, preempted(pod("a", 10, "4", "n1"))), nominatedTo(p(), "n1"), none},
		{"not terminating yet", "the condition alone does not block", parts(n1, conditions(pod("a", 1, "4", "n1").Obj(), target(v1.ConditionTrue, by))), nominatedTo(p(), "n1"), "n1: a"},
		{"no nomination", "somebody else's victim does not block", parts(n1, preempted(pod("a", 1, "4", "n1"))), p().Obj(), "n1: a"},
	}, func(t *testing.T, c test) {
		r := c.s.preempt(t, c.p)
		require.Equal(t, c.want, shown(r))
		if c.want == never || c.want == waiting {
			require.Empty(t, r.Reasons)
			require.Zero(t, r.Actions(c.p, nil), "the nomination is kept")
		}
	})
}

func TestWhoMayBeVictim(t *testing.T) {
	n1 := node("n1", "4")
	p := pod("p", 10, "2", "").Obj()
	mirror := pod("a", 1, "4", "n1").Obj()
	mirror.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "x"}
	other := pod("a", 1, "4", "n1").Obj()
	other.Spec.SchedulerName, other.Spec.PriorityClassName = "another", "system-node-critical"
	type test struct {
		name, why string
		s         situation
		p         *v1.Pod
		want      string
	}
	testkit.Run(t, []test{
		{"mirror pod", "only priority counts", parts(n1, mirror), p, "n1: a"},
		{"another scheduler's pod of a critical class", "only priority counts", parts(n1, other), p, "n1: a"},
		{"daemon set's pod", "only priority counts", parts(n1, pod("a", 1, "4", "n1").Owner("apps/v1", "DaemonSet", "d").Obj()), p, "n1: a"},
		{"non-preempting pod", "can be preempted itself", parts(n1, policy(pod("a", 1, "4", "n1").Obj(), v1.PreemptNever)), p, "n1: a"},
		{"negative priority", "gives way to nil", parts(n1, pod("a", -1, "4", "n1").Obj()), testkit.Pod("p").Request("cpu=2").Obj(), "n1: a"},
		{"lowest priority of all", "nobody is below", parts(n1, pod("a", math.MinInt32, "4", "n1").Obj()), pod("p", math.MinInt32, "2", "").Obj(), none},
		{"terminating pod", "is still there and may be a victim", parts(n1, pod("a", 1, "4", "n1").Terminating().Obj()), p, "n1: a"},
		{"finished pod", "holds nothing, so the node is too full for another reason", parts(n1, finished(pod("a", 1, "4", "n1").Obj()), pod("b", 10, "4", "n1").Obj()), p, none},
		{"too many pods", "resolvable even where none is allowed", parts(testkit.Node("n1").Capacity("cpu=4,pods=1").Obj(), pod("a", 1, "0", "n1").Obj()), p, "n1: a"},
		{"no pods allowed", "tried, and in vain", parts(testkit.Node("n1").Capacity("cpu=4,pods=0").Obj(), pod("a", 1, "0", "n1").Obj()), p, "Unschedulable, clear: 0/1 nodes are available: 1 Too many pods."},
		{"one resource beyond the node", "the whole node is not tried", parts(testkit.Node("n1").Capacity("cpu=1,memory=4Gi").Obj(), pod("a", 1, "1", "n1").Obj()), p, unhelpful},
		{"port", "its holder gives way", parts(n1, pod("a", 1, "1", "n1").HostPort("", v1.ProtocolTCP, 80).Obj()), pod("p", 10, "1", "").HostPort("", v1.ProtocolTCP, 80).Obj(), "n1: a"},
		{"anti-affinity of a running pod", "it gives way", parts(n1, pod("a", 1, "1", "n1").RequireApart(hostKey, "app=p").Obj()), pod("p", 10, "1", "").Labels("app=p").Obj(), "n1: a"},
		{"affinity that nobody satisfies", "is not tried", parts(n1, pod("a", 1, "1", "n1").Obj()), pod("p", 10, "2", "").RequireWith(hostKey, "app=none").Obj(), unhelpful},
		{"topology key is missing", "is not tried", parts(n1, pod("a", 1, "1", "n1").Obj()), pod("p", 10, "2", "").Labels("app=w").Spread(1, zoneKey, v1.DoNotSchedule, "app=w").Obj(), unhelpful},
		{"not alone enough", "the reason of the node without its victims stands", parts(n1, pod("a", 1, "1", "n1").Obj(), pod("b", 10, "3", "n1").Obj()), p, tooMuch},
	}, func(t *testing.T, c test) { require.Equal(t, c.want, shown(c.s.preempt(t, c.p))) })
}

func finished(p *v1.Pod) *v1.Pod {
	p.Status.Phase = v1.PodSucceeded
	return p
}

// The attempt as a whole: rejected before any node, all nodes, no node.
func TestWholeAttempt(t *testing.T) {
	s := parts(node("n1", "4"), node("n2", "4"), pod("a", 1, "4", "n1").Obj(), pod("b", 1, "4", "n2").Obj())
	request := func(all ...preemption.Rejection) preemption.Result {
		plan, o := s.plan(t)
		c, err := cluster.New(cluster.Objects{Nodes: s.nodes, Pods: s.pods})
		require.NoError(t, err)
		p := pod("p", 10, "2", "").Obj()
		return preemption.Preempt(preemption.Request{Pod: p, Cluster: c, WhatIf: plan.Prepare(p).WhatIf(o), Rejections: all, Now: now})
	}
	r, u := preemption.Resolvable, preemption.Unresolvable
	const all = "Unschedulable, clear: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
	require.Equal(t, "n1: a", shown(request(r, r)), "a resolvable rejection of the whole attempt")
	require.Equal(t, all, shown(request(u, u)), "an unresolvable one")
	require.Equal(t, all, shown(request()), "nodes without a rejection are not tried")
	require.Equal(t, "n2: b", shown(request(u, r)))
	require.Equal(t, all, shown(request(preemption.Failed, preemption.Fits)), "neither errors nor feasible nodes are tried")

	pinned := pod("p", 10, "2", "").RequireNodes(v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n2"}}}}).Obj()
	require.Equal(t, "n2: b", shown(s.preempt(t, pinned)), "nodes outside the named ones are not tried")
	require.Equal(t, "Unschedulable, clear: 0/0 nodes are available: .", shown(parts().preempt(t, pod("p", 1, "1", "").Obj())), "not reached in a scheduler, which stops earlier")
}

// A node that only something beside the filters rejected has no victim.
func TestExtenderRejection(t *testing.T) {
	s := parts(node("n1", "4"), pod("a", 1, "1", "n1").Obj())
	s.rejected = map[int]preemption.Rejection{0: preemption.Resolvable}
	r := s.preempt(t, pod("p", 10, "1", "").Obj())
	require.Equal(t, `Error, keep: expected at least one victim pod on node "n1"`, shown(r))
	require.EqualError(t, r.Err, r.Message)
	s.nodes = append(s.nodes, node("n2", "4"))
	s.pods = append(s.pods, pod("b", 1, "1", "n2").Obj())
	s.rejected[1] = preemption.Resolvable
	require.Equal(t, `Error, keep: [expected at least one victim pod on node "n1", expected at least one victim pod on node "n2"]`, shown(s.preempt(t, pod("p", 10, "1", "").Obj())))
	s.rejected = map[int]preemption.Rejection{0: preemption.Unresolvable, 1: preemption.Unresolvable}
	require.Equal(t, "Unschedulable, clear: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.", shown(s.preempt(t, pod("p", 10, "1", "").Obj())))
}

func TestBudgets(t *testing.T) {
	n1 := node("n1", "4")
	lo := func() testkit.PodBuilder { return pod("lo", 1, "2", "n1").Labels("app=x") }
	hi := pod("hi", 9, "2", "n1").Obj()
	p := pod("p", 10, "2", "").Obj()
	empty := budget("x", "", 0)
	empty.Spec.Selector = &metav1.LabelSelector{}
	null := budget("x", "", 0)
	null.Spec.Selector = nil
	broken := budget("x", "", 0)
	broken.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Bad"}}}
	absent := budget("x", "", 0)
	absent.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpDoesNotExist}}}
	elsewhere := budget("x", "app=x", 0)
	elsewhere.Namespace = "other"
	bare := pod("lo", 1, "2", "n1").Obj()
	type test struct {
		name, why string
		s         situation
		want      string
	}
	testkit.Run(t, []test{
		{"exhausted", "the pod comes back first", parts(n1, hi, lo().Obj(), budget("x", "app=x", 0)), "n1: hi"},
		{"negative", "no error, exhausted", parts(n1, hi, lo().Obj(), budget("x", "app=x", -3)), "n1: hi"},
		{"another namespace", "the budget protects no pod of this namespace", parts(n1, hi, lo().Obj(), elsewhere), "n1: lo"},
		{"empty selector", "the budget protects no pod", parts(n1, hi, lo().Obj(), empty), "n1: lo"},
		{"nil selector", "the budget protects no pod", parts(n1, hi, lo().Obj(), null), "n1: lo"},
		{"selector that cannot be read", "the budget protects no pod", parts(n1, hi, lo().Obj(), broken), "n1: lo"},
		{"pod without labels", "is not even looked at", parts(n1, hi, bare, absent), "n1: lo"},
		{"pod with labels and selector DoesNotExist", "is protected", parts(n1, hi, lo().Obj(), absent), "n1: hi"},
		{"granted already", "not counted", parts(n1, hi, lo().Obj(), granted(budget("x", "app=x", 0), "lo")), "n1: lo"},
		{"last resort", "budgets are broken when nothing else helps", parts(node("n1", "2"), lo().Obj(), budget("x", "app=x", 0)), "n1: lo, violations 1"},
		{"in two exhausted budgets", "counts once", parts(node("n1", "2"), lo().Obj(), budget("x", "app=x", 0), budget("y", "app=x", 0)), "n1: lo, violations 1"},
	}, func(t *testing.T, c test) { require.Equal(t, c.want, shown(c.s.preempt(t, p))) })
	s := parts(n1, hi, bare, empty)
	s.empty = disruption.BudgetOptions{EmptySelectorMatchesAll: true}
	require.Equal(t, "n1: lo, violations 1", shown(s.preempt(t, p)), "EmptySelectorMatchesAll: both are protected, without labels too")
}

// Budgets are fresh for every node, and reprieved pods do not give back what they drew.
func TestBudgetsByNode(t *testing.T) {
	s := parts(node("n1", "2"), node("n2", "2"), budget("x", "app=x", 1))
	for _, n := range []string{"n1", "n2"} {
		s.pods = append(s.pods, pod("a-"+n, 3, "1", n).Labels("app=x").Obj(), pod("b-"+n, 2, "1", n).Labels("app=x").Obj())
	}
	r := s.preempt(t, pod("p", 10, "1", "").Obj())
	require.Len(t, r.Candidates, 2)
	for _, c := range r.Candidates {
		require.Zero(t, c.Violations, "each node draws on a budget of its own")
		require.Equal(t, "a-"+c.Node, c.Victims[0].Pod.Name, "b is reprieved and takes no unit; a takes the only unit")
	}
}

func TestArguments(t *testing.T) {
	args := func(p, n int32) preemption.CandidateArgs {
		return preemption.CandidateArgs{MinPercentage: &p, MinAbsolute: &n}
	}
	const (
		percentage = "minCandidateNodesPercentage: Invalid value: "
		absolute   = "minCandidateNodesAbsolute: Invalid value: "
	)
	type test struct {
		name, why string
		args      preemption.CandidateArgs
		want      string
	}
	testkit.Run(t, []test{
		{"percentage above 100", "rejected", args(101, 1), percentage + "101: not in valid range [0, 100]"},
		{"absolute negative", "rejected", args(1, -1), absolute + "-1: not in valid range [0, inf)"},
		{"both wrong", "both are named", args(-1, -1), "[" + percentage + "-1: not in valid range [0, 100], " + absolute + "-1: not in valid range [0, inf)]"},
		{"both zero", "nothing would ever be found", args(0, 0), "[" + percentage + "0: cannot be zero at the same time as minCandidateNodesAbsolute, " + absolute + "0: cannot be zero at the same time as minCandidateNodesPercentage]"},
	}, func(t *testing.T, c test) {
		require.EqualError(t, c.args.Validate(nil).ToAggregate(), c.want)
	})
	require.Empty(t, preemption.CandidateArgs{}.Validate(nil))
	require.Empty(t, args(0, 1).Validate(nil))
	require.Empty(t, args(1, 0).Validate(nil))
}

// Arguments that come to no candidate find nothing although there are victims.
func TestNoCandidatesWanted(t *testing.T) {
	four, zero := int32(4), int32(0)
	s := parts(node("n1", "4"), node("n2", "4"), pod("a", 1, "4", "n1").Obj(), pod("b", 1, "4", "n2").Obj())
	s.options.Candidates = preemption.CandidateArgs{MinPercentage: &four, MinAbsolute: &zero}
	p := pod("p", 10, "2", "").Obj()
	require.Equal(t, "Unschedulable, clear: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.", shown(s.preempt(t, p)))
	s.options.AtLeastOneCandidate = true
	require.Equal(t, "n1: a", shown(s.preempt(t, p)))
	require.Len(t, s.preempt(t, p).Candidates, 1)
	s.options.Candidates = preemption.CandidateArgs{}
	require.Len(t, s.preempt(t, p).Candidates, 2, "the defaults want more")
}

// The search ends when it has enough candidates and one of them breaks no budget. Candidates that break a budget come last.
func TestEnough(t *testing.T) {
	for name, c := range map[string]struct {
		enough int32
		want   []string // nodes of the candidates, those without violations first
	}{
		"one, and the first is clean":                    {1, []string{"n1"}},
		"two, both clean":                                {2, []string{"n1", "n2"}},
		"three: a candidate with violations counts":      {3, []string{"n1", "n2", "n3"}},
		"more than there are: all nodes have been tried": {9, []string{"n1", "n2", "n4", "n3"}},
	} {
		zero := int32(0)
		s := parts(budget("x", "app=x", 0))
		for _, n := range []string{"n1", "n2", "n3", "n4"} {
			v := pod("v-"+n, 1, "2", n)
			if n == "n3" {
				v = v.Labels("app=x")
			}
			s.nodes, s.pods = append(s.nodes, node(n, "2")), append(s.pods, v.Obj())
		}
		s.options.Candidates = preemption.CandidateArgs{MinPercentage: &zero, MinAbsolute: &c.enough}
		var got []string
		for _, x := range s.preempt(t, pod("p", 10, "2", "").Obj()).Candidates {
			got = append(got, x.Node)
		}
		require.Equal(t, c.want, got, name)
	}
}

func TestChoose(t *testing.T) {
	candidate := func(node string, violations int64, pods ...*v1.Pod) preemption.Candidate {
		c := preemption.Candidate{Node: node, Violations: violations}
		for _, p := range pods {
			c.Victims = append(c.Victims, preemption.Victim{Placed: preemption.Placed{Pod: p}})
		}
		return c
	}
	p := func(priority int32, minutes int) *v1.Pod { return started(pod("v", priority, "1", "n"), minutes) }
	abroad := func(c preemption.Candidate) preemption.Candidate { c.Foreign = 1; return c }
	type test struct {
		name, why string
		list      []preemption.Candidate
		want      string
		by        string
	}
	testkit.Run(t, []test{
		{"one", "no question", []preemption.Candidate{candidate("a", 9, p(1, 0))}, "a", "only candidate"},
		{"violations", "before priority", []preemption.Candidate{candidate("a", 1, p(1, 0)), candidate("b", 0, p(99, 0))}, "b", "fewest violations of disruption budgets"},
		{"victims elsewhere", "before priority", []preemption.Candidate{abroad(candidate("a", 0, p(1, 0))), candidate("b", 0, p(99, 0))}, "b", "fewest victims on other nodes"},
		{"first victim", "as listed, even if it is not the highest", []preemption.Candidate{candidate("a", 0, p(5, 0), p(9, 0)), candidate("b", 0, p(6, 0))}, "a", "lowest of the highest victim priorities"},
		{"sum", "more pods weigh more", []preemption.Candidate{candidate("a", 0, p(5, 0), p(1, 0)), candidate("b", 0, p(5, 0))}, "b", "smallest sum of victim priorities"},
		{"count", "the lowest priority adds nothing to the sum", []preemption.Candidate{candidate("a", 0, p(5, 0), p(math.MinInt32, 0)), candidate("b", 0, p(5, 0))}, "b", "fewest victims"},
		{"start", "the later", []preemption.Candidate{candidate("a", 0, p(5, 3)), candidate("b", 0, p(5, 4))}, "b", "latest start of the most important victims"},
		{"name", "when all is equal", []preemption.Candidate{candidate("b", 0, p(5, 3)), candidate("a", 0, p(5, 3))}, "a", preemption.SmallestName},
		{"highest by an extender", "the start is that of the true highest priority", []preemption.Candidate{candidate("a", 0, p(5, 9), p(9, 1)), candidate("b", 0, p(5, 2), p(9, 2))}, "b", "latest start of the most important victims"},
	}, func(t *testing.T, c test) {
		k, by := preemption.Choose(c.list, now)
		require.Equal(t, c.want, c.list[k].Node)
		require.Equal(t, c.by, by)
	})
	k, _ := preemption.Choose(nil, now)
	require.Equal(t, -1, k)
}

func TestActions(t *testing.T) {
	s := parts(node("n1", "4"), pod("b", 1, "2", "n1").Obj(), pod("a", 2, "1", "n1").Terminating().Obj(), pod("c", 1, "1", "n1").Obj())
	p := pod("p", 10, "4", "").Obj()
	r := s.preempt(t, p)
	require.Equal(t, "n1: a b c", shown(r))
	nominated := []*v1.Pod{pod("z/low", 9, "1", "").Obj(), pod("y/low", 3, "1", "").Obj(), pod("same", 10, "1", "").Obj(), p}
	require.Equal(t, preemption.Actions{
		Evict: []*v1.Pod{s.pods[0], s.pods[2]}, // a is terminating already
		Condition: &v1.PodCondition{
			Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: "PreemptionByScheduler",
			Message: "default-scheduler: preempting to accommodate a higher priority pod",
		},
		Event:            "Preempted by pod uid-default-p on node n1",
		ClearNominations: []*v1.Pod{nominated[1], nominated[0]},
		Nominate:         "n1",
	}, r.Actions(p, nominated))

	failed := parts(node("n1", "4"), pod("a", 10, "4", "n1").Obj()).preempt(t, p)
	require.Zero(t, failed.Actions(p, nil), "the preemptor has no nomination")
	p = nominatedTo(pod("p", 10, "4", ""), "n1")
	require.Equal(t, preemption.Actions{ClearNominations: []*v1.Pod{p}}, failed.Actions(p, nil), "the preemptor loses its nomination")
}

// The index follows the cluster, and nothing that is given is changed.
func TestPreemptFollows(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{node("n2", "4")}, Pods: []*v1.Pod{pod("a", 1, "4", "n2").Obj()}})
	require.NoError(t, err)
	plan, err := placement.New(s, placement.DefaultProfile())
	require.NoError(t, err)
	p := pod("p", 10, "2", "").Obj()
	ask := func() string {
		return shown(plan.Preempt(p, nil, placement.Options{}, placement.PreemptOptions{Now: now}))
	}
	require.Equal(t, "n2: a", ask())
	err = s.Set(node("n1", "4"))
	require.NoError(t, err)
	require.NoError(t, s.Assume(pod("b", 1, "4", "").Obj(), s.Slot("n1")))
	testkit.Unchanged(t, func() { require.Equal(t, "n1: b", ask()) }, p, s.Pod("default", "a"), s.Pod("default", "b"))
	require.NoError(t, s.Remove(s.Pod("default", "b")))
	require.NoError(t, s.Assume(pod("c", 10, "4", "").Obj(), s.Slot("n1")))
	require.Equal(t, "n2: a", ask())
	require.NoError(t, s.Remove(s.Pod("default", "a")))
	require.NoError(t, s.Assume(pod("d", 1, "1", "").Obj(), s.Slot("n2")))
	require.NoError(t, s.Assume(pod("e", 10, "3", "").Obj(), s.Slot("n2")))
	require.Equal(t, "Unschedulable, clear: 0/2 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod.", ask(), "the capacity that can be made free is too small")
}

func TestActionsOfReleases(t *testing.T) {
	p := pod("p", 10, "4", "").Obj()
	for _, v := range release.Versions() {
		s := parts(node("n1", "4"), pod("a", 2, "4", "n1").Terminating().Obj())
		s.options.Release = v
		r := s.preempt(t, p)
		require.Equal(t, "n1: a", shown(r))
		require.Len(t, r.Actions(p, nil).Evict, map[bool]int{false: 1}[v.AtLeast(release.V1_35)], "L8.4 in %s", v)
	}
}
