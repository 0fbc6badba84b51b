package scheduler

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/score"

	"github.com/podberth/podberth/scheduler/httpextender/rules"
)

func fullNode(t *testing.T, o Options, victims ...string) (*rig, *v1.Pod) {
	t.Helper()
	var running []*v1.Pod
	for _, name := range victims {
		running = append(running, testkit.Pod("default/"+name).On("n1").Priority(0).Request("cpu=2").Obj())
	}
	r := newRig(t, o, []*v1.Node{node("n1")}, running...)
	return r, testkit.Pod("default/p").Priority(10).Request("cpu=4").Obj()
}

// The test follows the victims in order, and the preemptor meanwhile.
func TestPreemptionActions(t *testing.T) {
	r, p := fullNode(t, Options{}, "a", "b")
	r.add(p)
	require.True(t, r.s.TryScheduleOne(ctx))
	require.Equal(t, "n1", r.last().Nominated)
	require.Len(t, r.last().Victims, 2)
	require.Equal(t, "0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on node n1, preempting 2 victims", r.last().Message)
	require.Equal(t, queue.Unschedulable, r.place(p))
	require.Equal(t, "n1", r.pods["default/p"].Status.NominatedNodeName)
	r.s.DeletePod(testkit.Pod("default/other").On("n1").Obj()) // an event while the victims are being deleted
	require.Equal(t, queue.Gated, r.place(p))
	var e *queue.Entry
	r.s.queue.Read(func(q *queue.Queue) { e, _ = q.Lookup(p) })
	require.Equal(t, "waiting for the preemption for this pod to be finished", e.GateMessage)
	r.work()
	require.Equal(t, []string{"a", "b"}, r.deleted)
	require.Equal(t, []string{
		`p: PodScheduled=False Unschedulable "0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on node n1, preempting 2 victims" nominated="n1"`,
		`a: DisruptionTarget=True PreemptionByScheduler "default-scheduler: preempting to accommodate a higher priority pod"`,
		`b: DisruptionTarget=True PreemptionByScheduler "default-scheduler: preempting to accommodate a higher priority pod"`,
	}, r.patches)
	require.Contains(t, r.events, "a: Normal Preempted/Preempting Preempted by pod uid-default-p on node n1")
	require.Equal(t, queue.Backoff, r.place(p), "the last victim's leaving opens the gate")
	r.step()
	require.Equal(t, "n1", r.last().Node)
}

// When a victim cannot be deleted, the preemptor is tried again.
func TestPreemptionFails(t *testing.T) {
	c := &sums{}
	r, p := fullNode(t, Options{Metrics: c}, "a", "b")
	r.failing["a"] = errors.New("forbidden")
	r.add(p).step()
	require.Empty(t, r.deleted, "the last victim is left alone")
	require.Contains(t, fmt.Sprint(c.lines), "preemption_goroutines_execution_total + [error]")
	require.Equal(t, queue.Active, r.place(p))
	require.ErrorContains(t, r.errs[0], "preemption for default/p: forbidden")
	r, p = fullNode(t, Options{}, "a", "b")
	r.failing["a"] = ErrGone
	r.add(p).step()
	require.Equal(t, []string{"b"}, r.deleted, "gone is done")
}

// The scheduler clears nominations of lower priority on the node.
func TestPreemptionClearsLowerNominations(t *testing.T) {
	r, p := fullNode(t, Options{}, "a", "b")
	low := testkit.Pod("default/low").Priority(5).Request("cpu=4").Obj()
	r.add(low)
	require.True(t, r.s.TryScheduleOne(ctx))
	require.Len(t, r.s.queue.NominatedFor("n1"), 1)
	r.tasks = nil // the victims of this pod stay
	delete(r.s.preempting, low.UID)
	r.add(p).step()
	require.Contains(t, r.patches, `low: nominated=""`)
	require.Equal(t, []*v1.Pod{r.pods["default/p"]}, r.s.queue.NominatedFor("n1"))
}

// A pod of equal priority keeps its nomination to the node.
func TestPreemptionKeepsEqualNominations(t *testing.T) {
	r := newRig(t, Options{}, []*v1.Node{node("n1")}, testkit.Pod("default/a").On("n1").Priority(0).Request("cpu=2").Obj(),
		testkit.Pod("default/b").On("n1").Priority(0).Request("cpu=2").Obj())
	first, second := testkit.Pod("default/first").Priority(5).Request("cpu=2").Obj(), testkit.Pod("default/second").Priority(5).Request("cpu=2").Obj()
	for _, p := range []*v1.Pod{first, second} {
		r.add(p)
		require.True(t, r.s.TryScheduleOne(ctx))
		require.Equal(t, "n1", r.last().Nominated)
	}
	r.tasks[1]()
	require.Len(t, r.s.queue.NominatedFor("n1"), 2)
	require.NotContains(t, r.patches, `first: nominated=""`)
}

// preemptedAt lets pod high preempt pod low, which is at a point, and returns what happened.
func preemptedAt(t *testing.T, o Options, at Point) (r *rig, low, high *v1.Pod) {
	_, list := probes(1)
	if at == Permit {
		list[0].perPod["low"] = map[Point]*Status{Permit: NewStatus(Wait)}
		list[0].timeout = time.Hour
	}
	p, reg := on(list, at)
	o.Profiles, o.Plugins = []Profile{p}, reg
	r = newRig(t, o, []*v1.Node{node("n1")})
	low = testkit.Pod("default/low").Priority(0).Request("cpu=4").Obj()
	high = testkit.Pod("default/high").Priority(10).Request("cpu=4").Obj()
	r.add(low)
	preempt := func() {
		r.add(high)
		require.True(t, r.s.TryScheduleOne(ctx))
		tasks := r.tasks
		r.tasks = nil
		tasks[len(tasks)-1]()
		r.tasks = append(tasks[:len(tasks)-1], r.tasks...)
	}
	if at == Permit {
		r.step()
		preempt()
	} else {
		list[0].do[PreBind] = func() { list[0].do[PreBind] = nil; preempt() }
		r.step()
	}
	return r, low, high
}

// The event of a victim has the name of the profile that preempts, also where the victim is another scheduler's.
func TestVictimOfAnotherScheduler(t *testing.T) {
	victim := testkit.Pod("a").Request("cpu=4").On("n1").Obj()
	victim.Spec.SchedulerName = "another"
	r := newRig(t, Options{}, []*v1.Node{testkit.Node("n1").Capacity("cpu=4,pods=9").Obj()}, victim)
	r.add(testkit.Pod("p").Request("cpu=4").Priority(10).Obj())
	r.step()
	r.work()
	require.Contains(t, r.events, "a: Normal Preempted/Preempting Preempted by pod uid-default-p on node n1")
}

// A victim that is not bound yet loses its room in memory, without an API call.
func TestPreemptionInMemory(t *testing.T) {
	for _, at := range []Point{Permit, PreBind} {
		t.Run(string(at), func(t *testing.T) {
			r, low, _ := preemptedAt(t, Options{}, at)
			r.work()
			require.Empty(t, r.deleted)
			require.Contains(t, r.events, "low: Normal Preempted/Preempting Preempted by pod uid-default-high on node n1 (in kube-scheduler memory).")
			require.Equal(t, queue.ErrorBackoff, r.place(low))
			require.Zero(t, r.bound["default/low"])
			r.step()
			require.Equal(t, "high", r.last().Pod.Name)
			require.Equal(t, "n1", r.last().Node)
		})
	}
}

func TestPreemptionArgs(t *testing.T) {
	percentage := int32(101)
	_, err := New(mustSnapshot(t), Options{Client: &server{}, Profiles: []Profile{{Args: map[string]any{
		"DefaultPreemption": PreemptionArgs{preemption.Options{Candidates: preemption.CandidateArgs{MinPercentage: &percentage}}},
	}}}})
	require.ErrorContains(t, err, `initializing plugin "DefaultPreemption": `)
	require.ErrorContains(t, err, "not in valid range [0, 100]")
}

// ext is an extender in memory.
type ext struct {
	name      string
	ignorable bool
	verbs     map[Verb]bool
	filter    func(nodes []*v1.Node) (rules.Filtered, error)
	scores    map[string]int64
	weight    int64
	bindErr   error
	calls     *script
}

func (e *ext) Name() string              { return e.name }
func (e *ext) Offers(v Verb) bool        { return e.verbs[v] }
func (e *ext) Interested(p *v1.Pod) bool { return p.Labels["skip"] == "" }
func (e *ext) Ignorable() bool           { return e.ignorable }
func (e *ext) Filter(_ context.Context, _ *v1.Pod, nodes []*v1.Node) (rules.Filtered, error) {
	e.calls.note("%s:%d", e.name, len(nodes))
	return e.filter(nodes)
}
func (e *ext) Prioritize(_ context.Context, _ *v1.Pod, nodes []*v1.Node) (score.Column, error) {
	out := score.Column{Weight: e.weight}
	for _, n := range nodes {
		out.Hosts, out.Scores = append(out.Hosts, n.Name), append(out.Scores, e.scores[n.Name])
	}
	return out, nil
}
func (e *ext) Preempt(_ context.Context, _ *v1.Pod, list []preemption.Candidate) ([]preemption.ExtenderVictims, error) {
	var out []preemption.ExtenderVictims
	for _, c := range list {
		v := preemption.ExtenderVictims{Node: c.Node, Violations: c.Violations}
		for _, x := range c.Victims {
			v.UIDs = append(v.UIDs, x.Pod.UID)
		}
		if c.Node != e.name { // the extender removes the node of its own name
			out = append(out, v)
		}
	}
	return out, nil
}
func (e *ext) Bind(_ context.Context, p *v1.Pod, node string) error {
	e.calls.note("%s.Bind:%s", e.name, node)
	return e.bindErr
}

func TestExtenders(t *testing.T) { // W6.4, W5.8
	calls := &script{}
	keep := func(names ...string) func([]*v1.Node) (rules.Filtered, error) {
		return func([]*v1.Node) (rules.Filtered, error) { return rules.Filtered{Nodes: names}, nil }
	}
	filters := map[Verb]bool{FilterVerb: true}
	t.Run("one after the other, ignorable ones last", func(t *testing.T) {
		r := newRig(t, Options{Extenders: []Extender{
			&ext{name: "last", ignorable: true, verbs: filters, filter: keep("n3"), calls: calls},
			&ext{name: "first", verbs: filters, filter: keep("n2", "n3"), calls: calls},
			&ext{name: "other", verbs: map[Verb]bool{BindVerb: false}, calls: calls},
		}}, three())
		r.add(pod("p")).step()
		require.Equal(t, "first:3 last:2", calls.take())
		require.Equal(t, "n3", r.last().Node)
	})
	t.Run("nothing left", func(t *testing.T) {
		r := newRig(t, Options{Extenders: []Extender{&ext{name: "x", verbs: filters, calls: calls, filter: func([]*v1.Node) (rules.Filtered, error) {
			return rules.Filtered{Failed: map[string]string{"n1": "busy"}, Unresolvable: map[string]string{"n2": "broken"}}, nil
		}}}}, three())
		p := pod("p")
		r.add(p).step()
		require.Contains(t, r.last().Message, "0/3 nodes are available: 1 broken, 1 busy. preemption: ")
		var e *queue.Entry
		r.s.queue.Read(func(q *queue.Queue) { e, _ = q.Lookup(p) })
		require.Equal(t, []string{"Extender"}, e.Rejecters)
	})
	t.Run("without reasons", func(t *testing.T) {
		r := newRig(t, Options{Extenders: []Extender{&ext{name: "x", verbs: filters, filter: keep(), calls: calls}}}, three())
		r.add(pod("p")).step()
		require.Equal(t, "0/3 nodes are available: preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.", r.last().Message)
	})
	t.Run("an error", func(t *testing.T) {
		fails := func([]*v1.Node) (rules.Filtered, error) { return rules.Filtered{}, errors.New("down") }
		r := newRig(t, Options{Extenders: []Extender{&ext{name: "x", verbs: filters, filter: fails, calls: calls}}}, three())
		r.add(pod("p")).step()
		require.Equal(t, SchedulingError, r.last().Outcome)
		require.Equal(t, "down", r.last().Message)
		r = newRig(t, Options{Extenders: []Extender{&ext{name: "x", ignorable: true, verbs: filters, filter: fails, calls: calls}}}, three())
		r.add(pod("p")).step()
		require.Equal(t, Scheduled, r.last().Outcome)
	})
	t.Run("scores", func(t *testing.T) {
		r := newRig(t, Options{Extenders: []Extender{&ext{name: "x", verbs: map[Verb]bool{PrioritizeVerb: true}, scores: map[string]int64{"n3": 10}, weight: 3, calls: calls}}}, three())
		r.add(pod("p")).step()
		require.Equal(t, "n3", r.last().Node)
		other := pod("q")
		other.Labels = map[string]string{"skip": "x"}
		before := r.last().Total
		r.add(other).step()
		require.Less(t, r.last().Total, before-250, "10 x 3 x 10 less")
	})
	t.Run("binds", func(t *testing.T) {
		calls.take()
		r := newRig(t, Options{Extenders: []Extender{&ext{name: "x", verbs: map[Verb]bool{BindVerb: true}, calls: calls}}}, three())
		r.add(pod("p")).step()
		require.Equal(t, "x.Bind:n1", calls.take())
		require.Equal(t, Scheduled, r.last().Outcome)
		require.Zero(t, r.bound["default/p"], "the default binder is not asked")
		r = newRig(t, Options{Extenders: []Extender{&ext{name: "x", ignorable: true, bindErr: errors.New("down"), verbs: map[Verb]bool{BindVerb: true}, calls: calls}}}, three())
		r.add(pod("p")).step()
		require.Equal(t, 1, r.bound["default/p"], "an ignorable one that fails is passed over")
	})
	t.Run("has a say about victims", func(t *testing.T) {
		r := newRig(t, Options{Extenders: []Extender{&ext{name: "n1", verbs: map[Verb]bool{PreemptVerb: true}, calls: calls}}}, []*v1.Node{node("n1"), node("n2")},
			testkit.Pod("default/a").On("n1").Priority(0).Request("cpu=4").Obj(), testkit.Pod("default/b").On("n2").Priority(5).Request("cpu=4").Obj())
		r.add(testkit.Pod("default/p").Priority(10).Request("cpu=4").Obj()).step()
		require.Equal(t, []string{"b"}, r.deleted)
	})
}

// The budgets are the same value as long as their objects are.
func TestBudgetsKept(t *testing.T) {
	budget := func(allowed int32) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}, Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed}}
	}
	r, _ := fullNode(t, Options{})
	now := func() (b *disruption.Budgets) {
		r.s.View(func(*cluster.Snapshot) {
			var err error
			b, err = r.s.budgets()
			require.NoError(t, err)
		})
		return b
	}
	none := now()
	require.NotNil(t, none)
	require.Same(t, none, now())
	r.s.Set(nil, budget(0))
	first := now()
	require.NotSame(t, none, first)
	r.s.AddNode(node("n2"))
	require.Same(t, first, now(), "nothing happened to the budgets")
	r.s.Set(budget(0), budget(1))
	second := now()
	require.NotSame(t, first, second)
	r.s.Remove(budget(1))
	require.NotSame(t, second, now())
}
