package podgroup

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

func TestQuorum(t *testing.T) {
	type test struct {
		name, why string
		q         Quorum
		state     State
		text      string
	}
	testkit.Run(t, []test{
		{"two of two", "as many as the minimum are scheduled", Quorum{2, 2, 0}, Satisfied, ""},
		{"the third waits", "what remains may be enough", Quorum{3, 2, 1}, Waiting, "minCount (3) is not yet satisfied: 2 scheduled, 1 remaining"},
		{"E4", "two of three are placed and nobody remains", Quorum{3, 2, 0}, Unsatisfiable, "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining"},
		{"E24", "the second member failed, so that the third is not asked", Quorum{3, 1, 1}, Unsatisfiable, "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining"},
		{"E5", "a basic group wants one member", Quorum{1, 0, 0}, Unsatisfiable, "minCount (1) cannot be satisfied: 0 scheduled, 0 remaining"},
		{"nobody", "a minimum of 0, which the API server refuses, is always reached", Quorum{0, 0, 0}, Satisfied, ""},
		{"huge", "the sum does not overflow", Quorum{math.MaxInt32, math.MaxInt32, math.MaxInt32}, Satisfied, ""},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.state, c.q.State())
		require.Equal(t, c.text, c.q.Text())
	})
	require.Equal(t, 1, (&Spec{}).Needs(), "basic")
	require.Equal(t, 7, (&Spec{Minimum: ptr(int32(7))}).Needs())
}

func TestMemberOrder(t *testing.T) {
	at := func(name string, priority int32, attempts int, minute int) Member {
		return Member{Pod: testkit.Pod(name).Priority(priority).Obj(), Attempts: attempts, Timestamp: noon.Add(time.Duration(minute) * time.Minute)}
	}
	then := func(m Member, order uint64) Member {
		m.Order = order
		return m
	}
	type test struct {
		name, why string
		members   []Member
		want      []string
	}
	testkit.Run(t, []test{
		{"E18", "a pod that arrived in the backoff comes after pods that were tried, whatever its name", []Member{at("0", 0, 0, 9), at("b", 0, 1, 2), at("a", 0, 1, 1)}, []string{"a", "b", "0"}},
		{"arrival", "the order of arrival, not of names", []Member{at("a", 0, 0, 1), at("b", 0, 0, 0)}, []string{"b", "a"}},
		{"order", "equal times: by the order of arrival", []Member{then(at("a", 0, 0, 0), 2), then(at("b", 0, 0, 0), 1)}, []string{"b", "a"}},
		{"time and order", "the earlier time, whatever the order", []Member{then(at("a", 0, 0, 1), 1), then(at("b", 0, 0, 0), 2)}, []string{"b", "a"}},
		{"names", "equal times: by name, bytes compared", []Member{at("a", 0, 0, 0), at("B", 0, 0, 0)}, []string{"B", "a"}},
		{"priority", "the larger priority first, whatever else", []Member{at("a", 1, 5, 0), at("b", 2, 0, 9)}, []string{"b", "a"}},
	}, func(t *testing.T, c test) {
		SortMembers(c.members)
		var got []string
		for _, m := range c.members {
			got = append(got, m.Pod.Name)
		}
		require.Equal(t, c.want, got)
	})
}

func TestCheck(t *testing.T) {
	pod := func(scheduler string, priority int32, p *v1.PreemptionPolicy) *v1.Pod {
		x := testkit.Pod("x").Priority(priority).Obj()
		x.Spec.SchedulerName, x.Spec.PreemptionPolicy = scheduler, p
		return x
	}
	never := ptr(v1.PreemptNever)
	type test struct {
		name, why         string
		root              Spec
		queued, scheduled []*v1.Pod
		gates             Gates
		want              string
	}
	testkit.Run(t, []test{
		{"agree", "nil and PreemptLowerPriority are one policy", Spec{}, []*v1.Pod{pod("", 0, nil), pod("", 0, ptr(v1.PreemptLowerPriority))}, nil, Gates{}, ""},
		{"nobody queued", "a root is decided for its queued members", Spec{}, nil, []*v1.Pod{pod("", 3, nil)}, Gates{}, ""},
		{"E12", "two schedulers", Spec{}, []*v1.Pod{pod("", 0, nil), pod("other", 0, nil)}, nil, Gates{}, `all pods in a single pod group should have the same .spec.schedulerName set, got: "other" and "default-scheduler"`},
		{"E10", "a member with another priority than the root", Spec{Priority: ptr(int32(5))}, []*v1.Pod{pod("", 5, nil), pod("", 7, nil)}, nil, Gates{}, "all pods in a single pod group should have the same priority as the pod group's priority, got 7 and 5"},
		{"E10 running", "members on nodes are checked too", Spec{}, []*v1.Pod{pod("", 0, nil)}, []*v1.Pod{pod("", 3, nil)}, Gates{}, "all pods in a single pod group should have the same priority as the pod group's priority, got 3 and 0"},
		{"E11", "a group without priority has 0", Spec{}, []*v1.Pod{pod("", 5, nil), pod("", 5, nil)}, nil, Gates{}, "all pods in a single pod group should have the same priority as the pod group's priority, got 5 and 0"},
		{"E13", "the policy of the first member", Spec{}, []*v1.Pod{pod("", 0, nil), pod("", 0, never)}, nil, Gates{}, "all pods in a single pod group should have the same preemption policy, got Never and PreemptLowerPriority"},
		{"E13 gate", "with the gate the policy of the root", Spec{}, []*v1.Pod{pod("", 0, never), pod("", 0, never)}, nil, Gates{PreemptionPolicy: true}, "all pods in a single pod group should have the same preemption policy as the pod group's preemption policy, got Never and PreemptLowerPriority"},
		{"gate agrees", "with the gate members have the policy of the root", Spec{PreemptionPolicy: never}, []*v1.Pod{pod("", 0, never)}, nil, Gates{PreemptionPolicy: true}, ""},
		{"never everywhere", "equal policies agree", Spec{}, []*v1.Pod{pod("", 0, never), pod("", 0, never)}, nil, Gates{}, ""},
	}, func(t *testing.T, c test) {
		err := Check(&c.root, c.queued, c.scheduled, c.gates)
		if c.want == "" {
			require.NoError(t, err)
			return
		}
		require.EqualError(t, err, c.want)
	})
	require.True(t, NeverPreempts(&Spec{}, []*v1.Pod{pod("", 0, nil), pod("", 0, never)}, Gates{}), "one queued member")
	require.False(t, NeverPreempts(&Spec{}, []*v1.Pod{pod("", 0, nil), pod("", 0, ptr(v1.PreemptLowerPriority))}, Gates{}), "no queued member")
	require.False(t, NeverPreempts(&Spec{}, []*v1.Pod{pod("", 0, never)}, Gates{PreemptionPolicy: true}), "the gate is on: the root")
	require.True(t, NeverPreempts(&Spec{PreemptionPolicy: never}, nil, Gates{PreemptionPolicy: true}))
	require.False(t, NeverPreempts(&Spec{PreemptionPolicy: never}, nil, Gates{}), "the gate is off: the root's policy has no effect")
}

func TestPlacements(t *testing.T) {
	cluster := nodes{
		testkit.Node("a1").Zone("a").Obj(), testkit.Node("none").Obj(), testkit.Node("b1").Zone("b").Obj(), testkit.Node("a2").Zone("a").Obj(),
		testkit.Node("empty").Zone("").Obj(), nil,
	}
	r := member("r", "g")
	r.Spec.NodeName = "gone"
	type test struct {
		name, why string
		within    []int
		members   []placed
		want      []Placement
		err       string
	}
	testkit.Run(t, []test{
		{"by value", "each value is a placement, the empty value too; nodes without the label are in none", cluster.all()[:5], nil, []Placement{{"", []int{4}}, {"a", []int{0, 3}}, {"b", []int{2}}}, ""},
		{"inside a parent", "the nodes of the parent in its order", []int{3, 0}, nil, []Placement{{"a", []int{3, 0}}}, ""},
		{"E35", "a member on a node fixes the domain", cluster.all()[:5], []placed{{r, 3}}, []Placement{{"a", []int{0, 3}}}, ""},
		{"two members", "members of one domain", cluster.all()[:5], []placed{{r, 3}, {r, 0}}, []Placement{{"a", []int{0, 3}}}, ""},
		{"outside the parent", "the domain has no node in the parent placement", []int{0, 3}, []placed{{r, 2}}, []Placement{}, ""},
		{"E36", "members in two domains", cluster.all()[:5], []placed{{r, 2}, {r, 0}}, nil, "cannot determine domain for already scheduled pods: more than 1 domain found for pod group: a, b"},
		{"E36 no label", "a member on a node without the label", cluster.all()[:5], []placed{{r, 1}}, nil, "cannot determine domain for already scheduled pods: no topology domain found for pod default/r"},
		{"no node", "a member on a node without an object", cluster.all()[:5], []placed{{r, -1}}, nil, `cannot determine domain for already scheduled pods: getting node for pod default/r: nodeinfo not found for node name "gone"`},
		{"E31", "no node has the label", []int{1}, nil, []Placement{}, ""},
	}, func(t *testing.T, c test) {
		got, err := Placements(cluster, c.within, v1.LabelTopologyZone, on(c.members...))
		if c.err != "" {
			require.EqualError(t, err, c.err)
			return
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	})
}

func TestScores(t *testing.T) {
	amount := func(requested, allocatable int64) []Amount { return []Amount{{requested, allocatable, 1}} }
	type test struct {
		name, why string
		amounts   []Amount
		want      int64
	}
	testkit.Run(t, []test{
		{"E37 one of one", "the zone is full", amount(1, 1), 100},
		{"E37 two of eight", "a quarter", amount(2, 8), 25},
		{"E38", "what runs there counts", amount(4, 4), 100},
		{"over full", "more than there is counts as full", amount(9, 4), 100},
		{"cut down", "2 of 3 is 66", amount(2, 3), 66},
		{"weights", "a weighted mean, cut down", []Amount{{1, 2, 1}, {1, 1, 2}}, 83},
		{"a resource of which there is none", "left out, with its weight", []Amount{{1, 2, 1}, {5, 0, 9}}, 50},
		{"nothing", "no resource is left", []Amount{{5, 0, 1}}, 0},
	}, func(t *testing.T, c test) { require.Equal(t, c.want, Utilization(c.amounts)) })
	require.Equal(t, []int64{50, 100}, PodCounts([]int{1, 2}))
	require.Equal(t, []int64{66, 100, 0}, PodCounts([]int{2, 3, 0}))
	require.Nil(t, PodCounts([]int{0, 0}))
	require.Nil(t, PodCounts(nil))
}

func TestCondition(t *testing.T) {
	with := func(status metav1.ConditionStatus, reason, message string) *Group {
		return &Group{Conditions: []metav1.Condition{{Type: "Other"}, {Type: InitiallyScheduled, Status: status, Reason: reason, Message: message}}}
	}
	type test struct {
		name, why       string
		group           *Group
		reason, message string
		want            metav1.Condition
		write           bool
	}
	yes := metav1.Condition{Type: InitiallyScheduled, Status: metav1.ConditionTrue, Reason: ReasonScheduled}
	no := metav1.Condition{Type: InitiallyScheduled, Status: metav1.ConditionFalse, Reason: ReasonUnschedulable, Message: "m"}
	testkit.Run(t, []test{
		{"first", "a group without a condition", &Group{}, ReasonScheduled, "x", yes, true},
		{"failed", "the message of the group", &Group{}, ReasonUnschedulable, "m", no, true},
		{"same", "nothing changes", with(metav1.ConditionFalse, ReasonUnschedulable, "m"), ReasonUnschedulable, "m", no, false},
		{"other message", "the message changes", with(metav1.ConditionFalse, ReasonUnschedulable, "old"), ReasonUnschedulable, "m", no, true},
		{"E15", "a group that was scheduled once stays scheduled", with(metav1.ConditionTrue, ReasonScheduled, ""), ReasonUnschedulable, "m", no, false},
		{"scheduled again", "a group that is scheduled says so once", with(metav1.ConditionTrue, ReasonScheduled, ""), ReasonScheduled, "", yes, false},
		{"other reason", "the reason changes", with(metav1.ConditionFalse, ReasonSchedulerError, "m"), ReasonUnschedulable, "m", no, true},
		{"unknown", "the status changes alone", with(metav1.ConditionUnknown, ReasonUnschedulable, "m"), ReasonUnschedulable, "m", no, true},
		{"late", "a group that failed is scheduled", with(metav1.ConditionFalse, ReasonUnschedulable, "m"), ReasonScheduled, "", yes, true},
	}, func(t *testing.T, c test) {
		got, write := c.group.Condition(c.reason, c.message)
		require.Equal(t, c.want, got)
		require.Equal(t, c.write, write)
	})
	g := &Group{ObjectMeta: metav1.ObjectMeta{Generation: 4}}
	got, _ := g.Condition(ReasonScheduled, "")
	require.Equal(t, int64(4), got.ObservedGeneration)
	g.Conditions = []metav1.Condition{got}
	g.Generation++
	_, write := g.Condition(ReasonScheduled, "")
	require.True(t, write, "the generation changes")
}

func TestUnits(t *testing.T) {
	w := &world{}
	w.composite("top", "", 0).DisruptAll = true
	w.composite("job", "top", 0).Priority = ptr(int32(7))
	w.composites[0].Priority = ptr(int32(9))
	w.group("x", "job", 0).Priority = ptr(int32(3))
	w.group("all", "", 0).DisruptAll = true
	w.group("single", "", 0).Priority = ptr(int32(5))
	w.group("orphan", "gone", 0).Priority = ptr(int32(6))
	for k, parent := range []string{"", "one", "two", "three"} { // five levels with the group deep
		c := w.composite([]string{"one", "two", "three", "four"}[k], parent, 0)
		c.DisruptAll, c.Priority = true, ptr(int32(20+k))
	}
	w.group("deep", "four", 0)
	w.composite("alone", "", 0).DisruptAll = true
	w.group("", "alone", 0).Priority = ptr(int32(4))
	nobody := testkit.Pod("p").Obj()
	nobody.Spec.SchedulingGroup = &v1.PodSchedulingGroup{}
	all := Gates{Topology: true, Composites: true}
	type test struct {
		name, why string
		pod       *v1.Pod
		gates     Gates
		unit      string
		priority  int32
		ok        bool
	}
	testkit.Run(t, []test{
		{"no group", "a pod alone", testkit.Pod("p").Obj(), all, "", 0, false},
		{"E65", "a group without object", member("p", "gone"), all, "", 0, false},
		{"E61", "mode Single: the pod alone, with the group's priority", member("p", "single"), all, "", 5, true},
		{"E60", "mode All: the group", member("p", "all"), all, "podgroup/default/all", 0, true},
		{"E79", "the highest with mode All, and the priority of the root", member("p", "x"), all, "compositepodgroup/default/top", 9, true},
		{"five levels", "the fifth level does not count", member("p", "deep"), all, "compositepodgroup/default/two", 21, true},
		{"no name", "a pod that names no group is alone, whatever group has no name", nobody, all, "", 0, false},
		{"no gate", "without composites the group alone counts", member("p", "x"), Gates{}, "", 3, true},
		{"missing parent", "the chain ends at the last object", member("p", "orphan"), all, "", 6, true},
	}, func(t *testing.T, c test) {
		unit, priority, ok := UnitOf(w, c.pod, c.gates)
		name := ""
		if unit != nil {
			name = unit.String()
		}
		require.Equal(t, c.unit, name)
		require.Equal(t, c.priority, priority)
		require.Equal(t, c.ok, ok)
	})
}

func TestUnitOrder(t *testing.T) {
	units := []Unit{ // most important first
		{SinglePod, 9, 1, noon},
		{CompositeUnit, 1, 1, noon},
		{GroupUnit, 1, 3, noon},
		{GroupUnit, 1, 2, noon},
		{GroupUnit, 1, 2, noon.Add(time.Second)},
		{SinglePod, 1, 1, noon},
		{SinglePod, 0, 1, noon},
	}
	for k := range units {
		require.Zero(t, CompareUnits(units[k], units[k]))
		for m := range k {
			require.Negative(t, CompareUnits(units[m], units[k]), "%d before %d", m, k)
			require.Positive(t, CompareUnits(units[k], units[m]), "%d after %d", k, m)
		}
	}
	require.True(t, slices.IsSortedFunc(units, CompareUnits))
}

func TestOf(t *testing.T) {
	name, ok := Of(member("p", "g"))
	require.Equal(t, "g", name)
	require.True(t, ok)
	pod := testkit.Pod("p").Obj()
	_, ok = Of(pod)
	require.False(t, ok)
	pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{}
	_, ok = Of(pod)
	require.False(t, ok, "a group without a name")
	require.Empty(t, (&Spec{}).Key())
	require.Empty(t, (&Spec{Constraints: &Constraints{}}).Key())
	require.Equal(t, "zone", (&Spec{Constraints: &Constraints{[]string{"zone", "rack"}}}).Key())
}

func TestTexts(t *testing.T) {
	require.Equal(t, "pod group is unschedulable, 0/2 placements are available, first placement status: x", NoPlacementText(2, "x"))
	require.Equal(t, `error in "DefaultPreemption" PodGroupPostFilter plugins: boom`, PreemptionErrorText("boom"))
	require.Equal(t, "pod group preemption: found a placement for podgroup, preempting 1 victims", FoundText(1))
}
