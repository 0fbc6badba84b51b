package queue

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// world plays one string of bytes on a queue and on the model. Each step reads an operation and its arguments; a string
// that ends early reads zeros. Names, UIDs, priorities, plugins, events, hints and times come from small sets, so that
// collisions (same name with a new UID, a second Add, a Return after Done, an event nobody registered, a clock that jumps
// back) are common.
type world struct {
	t     *testing.T
	bytes *testkit.Bytes
	now   time.Time
	q     *Queue
	m     *model
	pods  []*v1.Pod // latest version of each name
	held  map[types.UID]*Entry
	model map[types.UID]*modelEntry
	shut  map[string]bool // gate + pod name
	owed  map[types.UID]bool
	steps int
	trace []string
}

func (w *world) next() int { return int(w.bytes.Next()) }

// hint is a pure function of its plugin, the pod's name and labels, and the new object: Queue, Skip or an error.
func hint(plugin string) Hint {
	return func(pod *v1.Pod, _, new any) (bool, error) {
		h := fnv.New32a()
		fmt.Fprint(h, plugin, pod.Name, pod.Labels)
		switch o := new.(type) {
		case *v1.Node:
			fmt.Fprint(h, o.Name)
		case *v1.Pod:
			fmt.Fprint(h, o.Name, o.UID == pod.UID)
		}
		switch h.Sum32() % 5 {
		case 0, 1:
			return true, nil
		case 2:
			return false, errors.New("cannot tell")
		}
		return false, nil
	}
}

func (w *world) gate(name string) Gate {
	return Gate{Name: name, Check: func(pod *v1.Pod) GateVerdict {
		if !w.shut[name+pod.Name] {
			return GateVerdict{}
		}
		if pod.Name == "c" {
			return GateVerdict{Err: errors.New("broken")}
		}
		return GateVerdict{Refuse: true, Message: "shut"}
	}}
}

var fuzzEvents = []Event{
	nodeAdd, {"Node", UpdateNodeLabel, ""}, {"Node", UpdateNodeTaint, ""}, {"Node", UpdateNodeAnnotation, ""}, assignedPodDelete,
	{"AssignedPod", UpdatePodLabel, ""}, {"storage.k8s.io/CSINode", Update, ""}, {"*", All, "Everything"}, {"UnschedulablePod", Add, ""}, {"Node", Delete, ""},
}

func newWorld(t *testing.T, data []byte) *world {
	w := &world{t: t, bytes: testkit.NewBytes(data), now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), held: map[types.UID]*Entry{},
		model: map[types.UID]*modelEntry{}, shut: map[string]bool{}, owed: map[types.UID]bool{}}
	regs := []Registration{
		{"A", Event{"Node", UpdateNodeLabel, ""}, nil},
		{"A", Event{"Pod", Update, ""}, sameUpdatedPod},
		{"P", Event{"Node", Add | UpdateNodeLabel, ""}, hint("P")},
		{"P", Event{"Node", UpdateNodeTaint, ""}, nil}, // New adds this one to P itself; the model must be told
		{"Q", Event{"Pod", Delete | UpdatePodLabel, ""}, hint("Q")},
		{"Q", Event{"Node", Add | UpdateNodeTaint, ""}, hint("Q2")},
		{"R", Event{"storage.k8s.io/CSINode", Update, ""}, hint("R")},
		{"R", Event{"Node", Delete, ""}, nil},
	}
	gates := []Gate{w.gate("A"), w.gate("B")}
	given := slices.Delete(slices.Clone(regs), 3, 4)
	var err error
	w.q, err = New(Options{Release: release.V1_36, Profiles: map[string]Profile{"p": {Gates: gates, Events: given}}})
	require.NoError(t, err)
	w.m = &model{gates: gates, regs: regs, known: map[string]bool{"p": true}, limit: 5 * time.Minute, initial: time.Second,
		max: 10 * time.Second, queued: map[string]*modelEntry{}, flights: map[types.UID]*modelFlight{}}
	for i := range 6 {
		p := &v1.Pod{}
		p.Name, p.Namespace = string(rune('a'+i)), "n"
		p.UID = types.UID(p.Name + "0")
		p.Spec.SchedulerName = "p"
		if i == 5 {
			p.Spec.SchedulerName = "nobody's"
		}
		w.pods = append(w.pods, p)
	}
	return w
}

func (w *world) note(format string, args ...any) {
	if len(w.trace) > 15 {
		w.trace = w.trace[1:]
	}
	w.trace = append(w.trace, w.now.Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func (w *world) last() string { return strings.Join(w.trace, "\n") }

func (w *world) compare(got []Move) {
	w.t.Helper()
	lines := []string{}
	for _, m := range got {
		lines = append(lines, fmt.Sprintf("%s %s: %v -> %v (%s)", name(m.Pod), m.Pod.UID, m.From, m.To, m.Reason))
	}
	for _, l := range lines {
		w.note("  %s", l)
	}
	want := append([]string{}, w.m.moves...)
	w.m.moves = nil
	sort.Strings(lines)
	sort.Strings(want)
	require.Equal(w.t, want, lines, "%s", w.last())
}

// same compares the whole state, and checks the invariants that need no model.
func (w *world) same() {
	w.t.Helper()
	counts := map[Place]int{}
	sums := map[string]int{}
	for key, e := range w.q.entries {
		require.Equal(w.t, key, keyOf(e.Pod))
		m := w.m.queued[name(e.Pod)]
		require.NotNil(w.t, m, "%v is queued: %s", key, w.last())
		require.Equal(w.t, m.place, e.place, "%v: %s", key, w.last())
		require.Equal(w.t, []any{m.attempts, m.u, m.e, m.flushed, m.gate}, []any{e.Attempts, e.UnschedulableCount, e.ConsecutiveErrorsCount, e.WasFlushed, e.GatingPlugin}, "%v: %s", key, w.last())
		require.True(w.t, m.ts.Equal(e.Timestamp), "%v: %s", key, w.last())
		require.Same(w.t, m.pod, e.Pod)
		require.Len(w.t, e.Rejecters, len(m.reject), "%v %v: %s", key, m.reject, w.last())
		for _, p := range e.Rejecters {
			require.True(w.t, m.reject[p])
		}
		require.Equal(w.t, e, w.q.heaps[e.place].items[e.index], "index of %v", key)
		counts[e.place]++
		for i := range e.waits {
			sums[e.profile.name+" "+e.waits[i].plugin.name]++
		}
		if e.place == Unschedulable { // I5, I3
			require.NotEmpty(w.t, e.Rejecters, "a pod without rejecters sleeps")
			require.Empty(w.t, e.GatingPlugin)
		}
		require.Equal(w.t, e.place == Gated, e.GatingPlugin != "")
	}
	require.Len(w.t, w.m.queued, len(w.q.entries), "%s", w.last())
	n := w.q.Counts()
	require.Equal(w.t, len(w.q.entries), n.queued()) // I12
	require.Equal(w.t, counts[Backoff]+counts[ErrorBackoff], n.Backoff)
	require.Equal(w.t, len(w.m.flights), n.InFlight)
	for _, p := range w.q.byName {
		for _, pl := range p.plugins {
			require.Equal(w.t, sums[p.name+" "+pl.name], pl.count, "gauge of %s", pl.name)
		}
	}
	if n.InFlight == 0 { // I10
		require.Empty(w.t, w.q.events)
	} else {
		require.Equal(w.t, w.q.base, w.q.order.Front().Value.(*flight).from)
	}
	for place, h := range w.q.heaps {
		for i := range h.items {
			require.Equal(w.t, Place(place), h.items[i].place)
			if i > 0 {
				require.False(w.t, h.less(h.items[i], h.items[(i-1)/2]), "heap order of %v", Place(place))
			}
		}
	}
}

// asleep returns the UIDs of the pods that the event must wake: those that are unschedulable or in flight.
func (w *world) asleep(c Change) (waiting []*Entry) {
	for _, e := range w.q.entries {
		if e.place == Unschedulable && (c.PreCheck == nil || c.PreCheck(e.Pod)) && w.wanted(e, c) {
			waiting = append(waiting, e)
		}
	}
	return waiting
}

// wanted is the promise of the registrations, without the queue's index: some rejector registered the event, and agrees.
func (w *world) wanted(e *Entry, c Change) bool {
	for _, p := range e.Rejecters {
		for _, r := range w.m.regs {
			if r.Plugin == p && r.Event.matches(c.Event) && e.Pod.Spec.SchedulerName == "p" {
				if r.Hint == nil {
					return true
				}
				if yes, err := r.Hint(e.Pod, c.Old, c.New); yes || err != nil {
					return true
				}
			}
		}
	}
	return false
}

func (w *world) step() {
	op, arg := w.next(), w.next()
	i := arg % len(w.pods)
	pod := w.pods[i]
	q, m := w.q, w.m
	if op%13 != 12 {
		m.see(w.now)
	}
	switch op % 13 {
	case 0:
		if arg >= 128 { // the pod was deleted and made again
			pod = pod.DeepCopy()
			pod.UID = types.UID(fmt.Sprint(pod.Name, w.steps))
			w.pods[i] = pod
		}
		w.note("add %s", pod.UID)
		moves, err := q.Add(pod, w.now)
		require.NoError(w.t, err)
		m.add(pod, "UnschedulablePodAdd", w.now)
		w.compare(moves)
	case 1:
		newer := pod.DeepCopy()
		priority := int32(w.next() % 3)
		newer.Spec.Priority = &priority
		if priority == 1 {
			newer.Labels = map[string]string{"step": fmt.Sprint(w.steps % 3)}
		}
		w.note("update %s", pod.UID)
		w.pods[i] = newer
		moves, err := q.Update(pod, newer, w.now)
		require.NoError(w.t, err)
		m.update(pod, newer, w.now)
		w.compare(moves)
	case 2:
		w.note("delete %s", pod.UID)
		m.delete(pod)
		w.compare(q.Delete(pod))
	case 3, 4, 5:
		w.note("pop")
		e, moves := q.Pop(w.now)
		me := m.pop()
		w.compare(moves)
		require.Equal(w.t, me == nil, e == nil, "%s", w.last())
		if e != nil {
			require.Equal(w.t, me.pod.UID, e.Pod.UID, "%s", w.last())
			w.held[e.Pod.UID], w.model[e.Pod.UID] = e, me
			w.owed[e.Pod.UID] = false
		}
	case 6:
		if uids := sortedKeys(w.held); len(uids) > 0 {
			uid := uids[0]
			w.note("done %s", uid)
			m.done(uid, attemptDone)
			w.compare(q.Done(w.held[uid].Pod))
			if arg%2 == 0 { // otherwise it comes back after a failed binding
				delete(w.held, uid)
			}
		}
	case 7, 8:
		uids := sortedKeys(w.held)
		if len(uids) == 0 {
			return
		}
		uid := uids[arg%len(uids)]
		e, me := w.held[uid], w.model[uid]
		delete(w.held, uid)
		how := w.next()
		f := Failure{}
		for b, p := range []string{"P", "Q", "R", "P"} {
			if how>>b&1 != 0 {
				f.Rejecters = append(f.Rejecters, p)
			}
		}
		if how&16 != 0 {
			f.Pending = []string{"Q"}
		}
		if how&32 != 0 && w.pods[uid[0]-'a'].UID == uid {
			f.Pod = w.pods[uid[0]-'a']
		}
		w.note("return %s %v pending %v", uid, f.Rejecters, f.Pending)
		flight := q.flightOf(e.Pod)
		var events []Change
		deleted := false
		if flight != nil {
			events, deleted = slices.Clone(q.during(flight)), flight.deleted
		}
		moves, err := q.Return(e, f, w.now)
		ok := m.ret(me, f, w.now)
		require.Equal(w.t, ok, err == nil, "%s", w.last())
		w.compare(moves)
		require.Nil(w.t, q.flightOf(e.Pod), "I11: the attempt is over")
		for _, c := range events { // I4, for pods in flight
			if ok && !deleted && !c.Event.isWildcard() && w.wanted(e, c) {
				require.Contains(w.t, []Place{Active, Backoff, Gated}, e.place, "a wake-up was lost: %s", w.last())
			}
		}
	case 9:
		c := Change{Event: fuzzEvents[arg%len(fuzzEvents)]}
		if c.Event.Resource == nodeKind {
			n := &v1.Node{}
			n.Name = fmt.Sprint("node", arg%7)
			c.New = n
		}
		if arg >= 200 {
			c.PreCheck = func(p *v1.Pod) bool { return p.Name < "d" }
		}
		waiting := w.asleep(c)
		w.note("move %v", c.Event)
		moves := q.Move(c, w.now)
		m.move(c, w.now)
		w.compare(moves)
		for _, e := range waiting { // I4, for waiting pods
			require.Contains(w.t, []Place{Active, Backoff, Gated}, e.place, "a wake-up was lost: %s", w.last())
		}
	case 10:
		w.note("activate %s", pod.UID)
		m.activate(pod, w.now)
		w.compare(q.Activate(w.now, pod))
	case 11:
		g := []string{"A", "B"}[arg/16%2] + pod.Name
		w.shut[g] = !w.shut[g] && arg >= 64
		w.note("gate %s shut %v", g, w.shut[g])
	case 12:
		steps := []time.Duration{time.Millisecond, 300 * time.Millisecond, 700 * time.Millisecond, time.Second, 2500 * time.Millisecond,
			10 * time.Second, 31 * time.Second, 3 * time.Minute, 6 * time.Minute, -5 * time.Second, -20 * time.Minute}
		due, some := q.Next(w.now)
		w.now = w.now.Add(steps[arg%len(steps)])
		m.see(w.now)
		w.note("advance")
		jumpedBack := w.now.Before(due) && steps[arg%len(steps)] < 0
		moves := q.Advance(w.now)
		m.advance(w.now)
		w.compare(moves)
		if some && !jumpedBack {
			require.Equal(w.t, !w.now.Before(due), len(moves) > 0, "Next said %v: %s", due, w.last())
		}
		if !some {
			require.Empty(w.t, moves)
		}
	}
	w.steps++
	w.same()
}
