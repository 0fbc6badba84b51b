package queue

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Events that many tests send.
var (
	nodeAdd                = Event{Resource: nodeKind, Action: Add}
	assignedPodUpdate      = Event{Resource: assignedPod, Action: Update}
	assignedPodDelete      = Event{Resource: assignedPod, Action: Delete}
	unschedulablePodAdd    = Event{Resource: unschedulablePod, Action: Add}
	unschedulablePodUpdate = Event{Resource: unschedulablePod, Action: Update}
)

// queued returns the number of pods in all queues.
func (c Counts) queued() int { return c.Active + c.Backoff + c.Unschedulable + c.Gated }

// flushBackoffs and flushLeftovers make one of the two flushes of Advance.
func (q *Queue) flushBackoffs(now time.Time) []Move {
	q.see(now)
	q.flushBackoff(now)
	return q.moves()
}

func (q *Queue) flushLeftovers(now time.Time) []Move {
	q.see(now)
	q.flushLeftover(now, now)
	return q.moves()
}

// rig is a queue with a clock that tests turn, plugins P, Q and R that wait for new nodes (P and Q by hints that tests
// set), S that waits for nothing, and gates x and y that hold the pods that tests name.
type rig struct {
	t     *testing.T
	q     *Queue
	now   time.Time
	pods  map[string]*v1.Pod
	held  map[string]*Entry
	shut  map[string]bool  // "x a": gate x holds pod a
	skips map[string]bool  // plugin or "plugin pod": the hint says Skip
	errs  map[string]error // plugin: the hint fails
	asked map[string]int   // "plugin pod": how often the hint was asked
	gates map[string]int   // "x a": how often the gate was asked
}

func newRig(t *testing.T, o Options) *rig {
	r := &rig{t: t, now: noon, pods: map[string]*v1.Pod{}, held: map[string]*Entry{}, shut: map[string]bool{}, skips: map[string]bool{},
		errs: map[string]error{}, asked: map[string]int{}, gates: map[string]int{}}
	if o.Profiles == nil {
		o.Profiles = map[string]Profile{defaultScheduler: {Gates: []Gate{r.gate("x"), r.gate("y")}, Events: []Registration{
			{"P", Event{"Node", Add | UpdateNodeTaint, ""}, r.hint("P")},
			{"P", Event{"Pod", UpdatePodLabel, ""}, r.hint("P")},
			{"Q", Event{"Node", Add | UpdateNodeTaint, ""}, r.hint("Q")},
			{"R", Event{"Node", Add | UpdateNodeTaint, ""}, nil},
			{"R", Event{"Pod", Update, ""}, nil},
			{"x", Event{"Node", UpdateNodeAnnotation, ""}, nil},
			{"y", Event{"Node", UpdateNodeLabel, ""}, nil},
		}}}
	}
	if o.ShareFailures && o.PodKey == nil {
		o.PodKey = template
	}
	var err error
	r.q, err = New(o)
	require.NoError(t, err)
	return r
}

// template is a PodKey for pods that are made of one template.
func template(pod *v1.Pod) string {
	text, err := json.Marshal([]any{pod.Namespace, pod.Labels, pod.Spec})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (r *rig) gate(name string) Gate {
	return Gate{Name: name, Check: func(pod *v1.Pod) GateVerdict {
		r.gates[name+" "+pod.Name]++
		return GateVerdict{Refuse: r.shut[name+" "+pod.Name], Message: "held"}
	}}
}

func (r *rig) hint(plugin string) Hint {
	return func(pod *v1.Pod, _, _ any) (bool, error) {
		r.asked[plugin+" "+pod.Name]++
		return !r.skips[plugin] && !r.skips[plugin+" "+pod.Name], r.errs[plugin]
	}
}

func (r *rig) pod(name string) *v1.Pod {
	if r.pods[name] == nil {
		r.pods[name] = testkit.Pod(name).Obj()
	}
	return r.pods[name]
}

func (r *rig) at(d time.Duration) { r.now = noon.Add(d) }

func (r *rig) add(names ...string) (moves []Move) {
	r.t.Helper()
	for _, n := range names {
		got, err := r.q.Add(r.pod(n), r.now)
		require.NoError(r.t, err)
		moves = append(moves, got...)
	}
	return moves
}

// pop returns the name of the popped pod, "" for none.
func (r *rig) pop() string {
	e, _ := r.q.Pop(r.now)
	if e == nil {
		return ""
	}
	r.held[e.Pod.Name] = e
	return e.Pod.Name
}

// fail returns a popped pod that the plugins rejected; none means an error.
func (r *rig) fail(name string, plugins ...string) {
	r.t.Helper()
	_, err := r.q.Return(r.held[name], Failure{Rejecters: plugins}, r.now)
	require.NoError(r.t, err)
}

// try adds the pods, pops each and lets the plugins reject it.
func (r *rig) try(plugin string, names ...string) {
	r.t.Helper()
	for _, n := range names {
		r.add(n)
	}
	for range names {
		r.fail(r.pop(), plugin)
	}
}

func (r *rig) event(e Event) []Move { return r.q.Move(Change{Event: e}, r.now) }

func (r *rig) where(name string) Place { return r.q.Explain(r.pod(name), r.now).Place }

func (r *rig) is(place Place, names ...string) {
	r.t.Helper()
	for _, n := range names {
		require.Equal(r.t, place, r.where(n), n)
	}
}

func (r *rig) update(name string, change func(p *v1.Pod)) []Move {
	r.t.Helper()
	old := r.pod(name)
	newer := old.DeepCopy()
	change(newer)
	r.pods[name] = newer
	moves, err := r.q.Update(old, newer, r.now)
	require.NoError(r.t, err)
	return moves
}

func lines(moves []Move) (out []string) {
	for _, m := range moves {
		out = append(out, m.String())
	}
	return out
}

var errBroken = errors.New("broken")

func ptr[T any](v T) *T { return &v }
