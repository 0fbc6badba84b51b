package optimal

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/resources"
)

// A cluster and a trial that know no more than they must: nothing is excluded, and the trial is believed.
func TestWithoutOptionalMethods(t *testing.T) {
	s, err := New(Options{Order: plainOrder})
	require.NoError(t, err)
	s.best = Values{HighestPriority: 5, PrioritySum: 5, Victims: 1}
	bare := &preemption.Problem{Cluster: struct{ preemption.Cluster }{}, WhatIf: struct{ preemption.WhatIf }{}}
	n := &node{s: s, p: bare}
	require.True(t, n.settles(nil))
	require.False(t, n.needsPods())
	require.False(t, s.barred(bare))
	require.False(t, s.beaten(bare, nil))
	n.tight()
	require.True(t, n.rooms)
	require.Empty(t, n.columns)
	c := &measured{}
	n.p = &preemption.Problem{Cluster: bare.Cluster, WhatIf: &judge{c: c}}
	n.tight()
	require.True(t, n.rooms)
	require.Empty(t, n.columns)
	n.p = &preemption.Problem{Cluster: c, WhatIf: bare.WhatIf}
	n.tight()
	require.True(t, n.rooms)
	require.Empty(t, n.columns)
}

// Nothing is known of a node with a pod whose requests the cluster does not know.
func TestUnknownRequests(t *testing.T) {
	s, err := New(Options{Order: plainOrder})
	require.NoError(t, err)
	s.best = Values{HighestPriority: 5, PrioritySum: 5, Victims: 1}
	pod := testkit.Pod("p").Priority(1).Obj()
	c := &measured{Cluster: &logged{pods: [][]*v1.Pod{{pod}}}, used: []resources.Vector{{4}}, offered: []resources.Vector{{4}}}
	for _, known := range []bool{true, false} {
		p := &preemption.Problem{Cluster: c, WhatIf: &judge{c: c, needs: resources.Vector{4}}, Groups: []preemption.Group{{Pods: []preemption.Placed{{Pod: pod}}, Priority: 1}}}
		p.Requests = func(*v1.Pod) (resources.Vector, bool) { return resources.Vector{1}, known }
		require.Equal(t, known, s.beaten(p, p.WhatIf.(without)), "without the pod 3 of 4 are in use")
		s.node.load(s, p)
		require.Equal(t, map[bool]int{true: 1, false: 0}[known], len(s.node.lacks))
		require.Equal(t, map[bool]int{true: 1, false: 0}[known], len(s.node.groups[0].free))
	}
}

// settled is a WhatIf that asks about a cluster without the pods that leave.
type settled struct {
	preemption.WhatIf
	allows func(leave []preemption.Placed) bool
}

func (w settled) Settles(_ int, leave []preemption.Placed) bool { return w.allows(leave) }

// The reason of a set that does not settle are the groups one of which has to leave so that it does.
func TestLearnSettled(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 20))
	none, some := 0, 0
	for range 2000 {
		n := &node{s: &Search{steps: 1000}, pinned: -1}
		needed := map[string]bool{}
		for k := range 2 + r.IntN(5) {
			name := fmt.Sprint("p", k)
			n.groups = append(n.groups, group{class: k, pods: []preemption.Placed{{Pod: testkit.Pod(name).Obj()}}})
			n.leave = append(n.leave, r.IntN(4) == 0)
			if !n.leave[k] && r.IntN(3) == 0 {
				needed[name] = true
			}
		}
		n.classes = len(n.groups)
		n.p = &preemption.Problem{WhatIf: settled{allows: func(leave []preemption.Placed) bool {
			return slices.ContainsFunc(leave, func(q preemption.Placed) bool { return needed[q.Pod.Name] })
		}}}
		before := slices.Clone(n.leave)
		n.learnSettled()
		require.Equal(t, before, n.leave)
		var want clause
		for k := range n.groups {
			if needed[fmt.Sprint("p", k)] {
				want = append(want, atLeast{k, 1})
			}
		}
		require.Equal(t, []clause{want}, n.clauses)
		require.Equal(t, len(want) == 0, n.needsOne)
		if n.needsOne {
			none++
		} else {
			some++
		}
	}
	require.Greater(t, min(none, some), 100)
}

// The memory of states ends to grow at its bound, and is still read.
func TestMemoryOfStates(t *testing.T) {
	n := &node{s: &Search{}, seen: map[string]Values{}, groups: make([]group, 2)}
	for k := range seenBounds - 1 {
		n.seen[fmt.Sprint("other ", k)] = noBound
	}
	require.False(t, n.known(1, &noVictims))
	require.True(t, n.known(1, &noVictims))
	require.Len(t, n.seen, seenBounds)
	require.False(t, n.known(2, &noVictims))
	require.False(t, n.known(2, &noVictims))
	require.Len(t, n.seen, seenBounds)
}

// A pod that is made again has no node, no status, and does not leave.
func TestAgain(t *testing.T) {
	pod := testkit.Pod("p").On("n1").Obj()
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: testkit.Epoch}, new(int64)
	pod.Status.Phase, pod.Status.NominatedNodeName = v1.PodRunning, "n2"
	want := testkit.Pod("p").Obj()
	require.Equal(t, want, again(pod))
	require.Equal(t, "n1", pod.Spec.NodeName)
}

// Controllers are told apart by their UIDs, and without them by namespace, kind and name.
func TestController(t *testing.T) {
	pod := testkit.Pod("p").Obj()
	require.Equal(t, "u1", controller(pod, &metav1.OwnerReference{Kind: "ReplicaSet", Name: "web", UID: "u1"}))
	require.Equal(t, "default/ReplicaSet/web", controller(pod, &metav1.OwnerReference{Kind: "ReplicaSet", Name: "web"}))
}

// A budget loses each victim that it covers, but for one whose disruption it has granted already.
func TestCharged(t *testing.T) {
	budget := func(name string, allowed int32, granted ...string) *policyv1.PodDisruptionBudget {
		b := &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, DisruptedPods: map[string]metav1.Time{}},
		}
		for _, pod := range granted {
			b.Status.DisruptedPods[pod] = metav1.Time{}
		}
		return b
	}
	list := []*policyv1.PodDisruptionBudget{budget("x", 3, "x2"), budget("y", 1), budget("z", 5)}
	var victims []preemption.Placed
	for _, name := range []string{"x1", "x2", "x3", "y1"} {
		victims = append(victims, preemption.Placed{Pod: testkit.Pod(name).Labels("app=" + name[:1]).Obj()})
	}
	var left []int32
	for k, b := range charged(list, victims) {
		left = append(left, b.Status.DisruptionsAllowed)
		require.Equal(t, []int32{3, 1, 5}[k], list[k].Status.DisruptionsAllowed)
	}
	require.Equal(t, []int32{1, 0, 5}, left)
}

// The pod that leaves room breaks a budget. So it is no better victim if the order has Violations or the options are strict; without both,
// and without budgets, it is.
func TestBeatenByBudgets(t *testing.T) {
	budgets := disruption.NewBudgets([]*policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "none"}}}, disruption.BudgetOptions{})
	for _, c := range []struct {
		order           []Criterion
		never, budgeted bool
		want            bool
	}{
		{plainOrder, false, true, false}, {append([]Criterion{Violations}, plainOrder...), false, true, true}, {plainOrder, true, true, true},
		{plainOrder, true, false, false}, {append([]Criterion{Violations}, plainOrder...), false, false, false},
	} {
		s, err := New(Options{Order: c.order, NeverViolate: c.never})
		require.NoError(t, err)
		s.best = Values{HighestPriority: 5, PrioritySum: 5 + 1<<31, Victims: 1}
		pod := testkit.Pod("p").Priority(1).Obj()
		cl := &measured{Cluster: &logged{pods: [][]*v1.Pod{{pod}}}, used: []resources.Vector{{4}}, offered: []resources.Vector{{4}}}
		p := &preemption.Problem{Cluster: cl, WhatIf: &judge{c: cl, needs: resources.Vector{4}}, Matches: func(*v1.Pod) []int32 { return []int32{0} }}
		p.Requests = func(*v1.Pod) (resources.Vector, bool) { return resources.Vector{4}, true }
		if c.budgeted {
			p.Ledger = budgets.Ledger()
			p.Take = p.Ledger.Take
		}
		require.Equal(t, c.want, s.beaten(p, p.WhatIf.(without)), "%+v", c)
		both := struct {
			*logged
			*measured
		}{cl.Cluster.(*logged), cl}
		p.Cluster = both
		s.rows.follow(both)
		require.Equal(t, c.want, s.beaten(p, p.WhatIf.(without)), "%+v", c)
		p.Ledger = nil
		require.False(t, s.beaten(p, p.WhatIf.(without)), "the budgets are gone")
	}
}
