package preemption_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

// TestDocuments checks the statements of the documentation's "Pod Priority and Preemption", paragraph by paragraph.
func TestDocuments(t *testing.T) {
	guaranteed := pod("guaranteed", 1, "2", "n1").Limit("cpu=2").Obj()
	type test struct {
		name, why string
		s         situation
		p         *v1.Pod
		want      string
	}
	testkit.Run(t, []test{
		{
			"Non-preempting PriorityClass", "waits for room, cannot preempt",
			parts(node("n1", "4"), pod("a", 1, "4", "n1").Obj()), policy(pod("p", 1000000, "2", "").Obj(), v1.PreemptNever), never,
		},
		{
			"Non-preempting pods may be preempted", "by pods of higher priority",
			parts(node("n1", "4"), policy(pod("a", 1000000, "4", "n1").Obj(), v1.PreemptNever)), pod("p", 1000001, "2", "").Obj(), "n1: a",
		},
		{
			"PodDisruptionBudget is supported", "victims whose budget is not violated are preferred",
			parts(node("n1", "4"), node("n2", "4"), pod("a", 1, "4", "n1").Labels("app=x").Obj(), pod("b", 2, "4", "n2").Obj(), budget("x", "app=x", 0)), pod("p", 10, "2", "").Obj(), "n2: b",
		},
		{
			"PodDisruptionBudget is not guaranteed", "preemption also happens without such victims",
			parts(node("n1", "4"), pod("a", 1, "4", "n1").Labels("app=x").Obj(), budget("x", "app=x", 0)), pod("p", 10, "2", "").Obj(), "n1: a, violations 1",
		},
		{
			"Inter-Pod affinity on lower-priority Pods", "the rule cannot hold once they are gone: nobody leaves, another node is looked for",
			parts(node("n1", "4"), node("n2", "4"), pod("db", 1, "1", "n1").Labels("app=db").Obj(), pod("x", 1, "3", "n1").Obj(), pod("y", 10, "4", "n2").Obj()),
			pod("p", 10, "2", "").RequireWith(hostKey, "app=db").Obj(),
			"Unschedulable, clear: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 node(s) didn't match pod affinity rules.",
		},
		{
			"Inter-Pod affinity on equal or higher priority", "the advice of the document holds",
			parts(node("n1", "4"), pod("db", 10, "1", "n1").Labels("app=db").Obj(), pod("x", 1, "3", "n1").Obj()), pod("p", 10, "2", "").RequireWith(hostKey, "app=db").Obj(), "n1: x",
		},
		{
			"Cross node preemption", "P is considered for N; Q in the same zone keeps it away; N is deemed impossible",
			crossNode("2"), crossNodePod(),
			"Unschedulable, clear: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.",
		},
		{
			"Pods are preempted unnecessarily", "never when the priority of the victim is equal to or higher than the preemptor's",
			parts(node("n1", "4"), node("n2", "4"), pod("a", 10, "4", "n1").Obj(), pod("b", 11, "4", "n2").Obj()), pod("p", 10, "2", "").Obj(),
			"Unschedulable, clear: 0/2 nodes are available: 2 No preemption victims found for incoming pod.",
		},
		{
			"Higher priority Pods are preempted before lower priority pods", "the node of the lower ones cannot run the pod",
			parts(node("n1", "4"), node("n2", "4"), pod("low", 1, "1", "n1").Obj(), pod("fixed", 100, "3", "n1").Obj(), pod("high", 9, "4", "n2").Obj()), pod("p", 10, "2", "").Obj(), "n2: high",
		},
		{
			"The node with the lowest priority is preferred", "when several would do",
			parts(node("n1", "4"), node("n2", "4"), pod("high", 9, "4", "n1").Obj(), pod("low", 1, "4", "n2").Obj()), pod("p", 10, "2", "").Obj(), "n2: low",
		},
		{
			"Interactions between Pod priority and quality of service", "the class does not count",
			parts(node("n1", "4"), guaranteed, pod("burstable", 2, "2", "n1").Obj()), pod("p", 10, "2", "").Obj(), "n1: guaranteed",
		},
	}, func(t *testing.T, c test) { require.Equal(t, c.want, shown(c.s.preempt(t, c.p))) })
}

// The life of a nomination: the victims terminate within their grace period, a pod of higher priority takes the room,
// and the first preemptor preempts on another node. Documents: User exposed information; Graceful termination of
// preemption victims; Pods are preempted, but the preemptor is not scheduled.
func TestDocumentsNomination(t *testing.T) {
	victim := pod("victim", 1, "4", "n").Obj()
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{node("n", "4"), node("m", "4")}, Pods: []*v1.Pod{victim, pod("other", 5, "4", "m").Obj()}})
	require.NoError(t, err)
	plan, err := placement.New(s, placement.DefaultProfile())
	require.NoError(t, err)
	nominated := map[string][]*v1.Pod{}
	o := placement.Options{Nominated: func(i int) []*v1.Pod { return nominated[s.Node(i).Name] }}
	ask := func(p *v1.Pod) preemption.Result {
		require.False(t, plan.Decide(p, o).Placed())
		return plan.Preempt(p, nil, o, placement.PreemptOptions{Now: now})
	}

	p := pod("p", 10, "3", "").Obj()
	r := ask(p)
	require.Equal(t, "n: victim", shown(r))
	require.Equal(t, "n", r.Actions(p, nil).Nominate)
	p = nominatedTo(pod("p", 10, "3", ""), "n")
	nominated["n"] = []*v1.Pod{p}
	require.NoError(t, s.Set(preempted(pod("victim", 1, "4", "n"))))
	require.Equal(t, waiting, shown(ask(p)), "the victim is given its time")

	same := pod("same", 10, "3", "").Obj()
	require.Equal(t, "m: other", shown(ask(same)), "the room on n is reserved against equal priority")

	high := pod("high", 20, "4", "").Obj()
	r = ask(high)
	require.Equal(t, "n: victim", shown(r), "a pod of higher priority may take the room: a pod that is leaving is the cheapest victim")
	actions := r.Actions(high, nominated["n"])
	require.Empty(t, actions.Evict, "the victim is not deleted twice")
	require.Equal(t, nominated["n"], actions.ClearNominations, "p loses its nomination")
	require.Equal(t, "n", actions.Nominate)
	before := pod("high", 1, "4", "").Obj()
	before.UID = high.UID
	require.Equal(t, nominated["n"], r.Actions(high, append([]*v1.Pod{before}, nominated["n"]...)).ClearNominations, "an older object of the preemptor keeps its nomination")

	require.NoError(t, s.Remove(s.Pod("default", "victim")))
	d := plan.Decide(high, o)
	require.Equal(t, "n", d.Node, "higher priority goes first")
	require.NoError(t, s.Assume(high, d.Slot))
	p, nominated["n"] = pod("p", 10, "3", "").Obj(), nil
	require.Equal(t, "m: other", shown(ask(p)), "the preemptor can preempt on another node")
}

// TestWalkthrough is the example of docs/preemption.md.
func TestWalkthrough(t *testing.T) {
	cordoned := node("n3", "4")
	cordoned.Spec.Unschedulable = true
	s := parts(node("n1", "4"), node("n2", "4"), cordoned, node("n4", "4"), node("n5", "4"),
		started(pod("a", 50, "2", "n1"), 0), started(pod("b", 10, "1", "n1").Labels("app=shop"), 9*60), started(pod("c", 10, "1", "n1").Labels("app=shop"), 10*60),
		pod("d", 90, "4", "n2").Obj(), pod("e", 200, "2", "n4").Obj(), pod("f", 5, "2", "n4").Obj(), pod("g", 50, "1", "n5").Obj(), pod("h", 50, "3", "n5").Obj(),
		budget("shop", "app=shop", 1))
	p := pod("p", 100, "3", "").Obj()
	plan, o := s.plan(t)
	require.Equal(t, "0/5 nodes are available: 1 node(s) were unschedulable, 4 Insufficient cpu.", plan.Decide(p, o).Failure.Text())
	r := s.preempt(t, p)
	require.Equal(t, "n5: h", shown(r))
	var found []string
	var sums []int64
	for _, c := range r.Candidates {
		found, sums = append(found, shownCandidate(c)), append(sums, c.Sum(now))
	}
	require.Equal(t, []string{"n1: a b", "n2: d", "n5: h"}, found)
	require.Equal(t, []int64{4294967356, 2147483738, 2147483698}, sums)
	require.Equal(t, "smallest sum of victim priorities", r.Criterion)
	require.Equal(t, []string{"1 Insufficient cpu"}, r.Reasons)
}
