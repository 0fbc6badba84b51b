package placement

import (
	"math"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/resources"
)

// whatIf is a preemption.WhatIf: the filters of an attempt with pods added and removed. The cluster must not change while it
// is used.
type whatIf struct {
	attempt *Attempt
	trials  []filter.Trial
	moving  []int // positions of the trials that are not nil
	options Options
	moves   []podMove

	running *running
	guests  map[*v1.Pod][]hooks.Counter // what pods that the cluster does not know do to the trials

	slot      int // that static and nominated are of; -1: none
	static    filter.Rejection
	nominated []*v1.Pod

	kept       *preemptor // nil: nothing is kept
	everywhere bool       // all rejections of the request are Resolvable
	suspects   *suspects  // nil: not found yet
	settled    *Placer    // over a fork of the cluster; nil: not made yet

	sized   int     // position of the predicate that compares numbers, when pods that leave can only help with the others; -1
	amounts []int64 // memory of Needs

	rows   int              // position of a predicate over rows when no other pods matter before it; -1
	unused filter.Predicate // that predicate over left
	left   hypothetical
}

type podMove struct {
	pod   *v1.Pod
	slot  int
	times int32 // that the pod comes; -1: it leaves
}

// WhatIf lets the caller add and remove pods and then asks the filters again. Of the options only Nominated counts. The
// cluster must not change while the answer is used, nor may a pod that was added.
func (a *Attempt) WhatIf(o Options) preemption.WhatIf { return a.whatIf(o) }

func (a *Attempt) whatIf(o Options) *whatIf {
	w := &whatIf{attempt: a, trials: a.trials(), options: o, slot: -1, rows: -1, running: newRunning(a.plan.cluster)}
	for k, t := range w.trials {
		if t == nil {
			continue
		}
		if over, ok := a.Predicates[k].(overRows); ok && len(w.moving) == 0 {
			w.rows, w.left.Cluster = k, a.plan.cluster
			w.unused = over.WithRequested(&w.left)
		}
		w.moving = append(w.moving, k)
	}
	w.sized = w.findSized()
	return w
}

// Check judges slot i with the changes made.
func (w *whatIf) Check(i int) preemption.Answer {
	w.visit(i)
	if len(w.nominated) == 0 {
		return preemption.Answer(w.pass(i))
	}
	for _, k := range w.moving {
		for _, q := range w.nominated {
			w.trials[k].Add(q, i)
		}
	}
	r := w.pass(i)
	w.replay()
	if r.Verdict == 0 {
		r = w.pass(i)
	}
	return preemption.Answer(r)
}

// visit finds what no change alters on a slot: the first rejection by the predicates that do not look at other pods, and the
// nominated pods that count.
func (w *whatIf) visit(i int) {
	if w.slot == i {
		return
	}
	w.slot, w.static, w.nominated = i, filter.Rejection{}, nil
	for k, p := range w.attempt.Predicates {
		if w.trials[k] != nil {
			continue
		}
		if v := p.Check(i); v != 0 {
			w.static = filter.Rejection{Predicate: uint16(k), Verdict: v}
			break
		}
	}
	if w.options.Nominated != nil {
		w.nominated = filter.Nominated(w.attempt.pod, w.options.Nominated(i))
	}
}

// pass returns the first rejection in plugin order.
func (w *whatIf) pass(i int) filter.Rejection {
	for _, k := range w.moving {
		if w.static.Verdict != 0 && k > int(w.static.Predicate) {
			break
		}
		if v := w.trials[k].Check(i); v != 0 {
			return filter.Rejection{Predicate: uint16(k), Verdict: v}
		}
	}
	return w.static
}

// Add pretends that p comes to slot i.
func (w *whatIf) Add(p *v1.Pod, i int) { w.change(podMove{p, i, 1}) }

// Remove pretends that p leaves slot i.
func (w *whatIf) Remove(p *v1.Pod, i int) { w.change(podMove{p, i, -1}) }

// AddTimes pretends that n pods like p come to slot i.
func (w *whatIf) AddTimes(p *v1.Pod, i, n int) {
	for n > math.MaxInt32 {
		w.change(podMove{p, i, math.MaxInt32})
		n -= math.MaxInt32
	}
	w.change(podMove{p, i, int32(n)})
}

func (w *whatIf) change(m podMove) {
	if w.options.Nominated != nil {
		w.moves = append(w.moves, m)
	}
	w.apply(m)
}

func (w *whatIf) apply(m podMove) {
	effect := w.effect(m.pod, m.slot)
	for at, k := range w.moving {
		switch {
		case effect[at] != nil:
			effect[at](m.slot, m.times)
		case m.times < 0:
			w.trials[k].Remove(m.pod, m.slot)
		default:
			for range m.times {
				w.trials[k].Add(m.pod, m.slot)
			}
		}
	}
}

// effect returns what a pod on a slot does to the trials. Pods that count the same share the result, and so do all slots for a pod that the
// cluster does not know.
func (w *whatIf) effect(pod *v1.Pod, slot int) []hooks.Counter {
	if moves, ok := w.guests[pod]; ok {
		return moves
	}
	known := w.running.of(pod, slot)
	if known == nil {
		if w.guests == nil {
			w.guests = map[*v1.Pod][]hooks.Counter{}
		}
		w.guests[pod] = w.work(pod, nil)
		return w.guests[pod]
	}
	x, kind := w.running, known.kind
	if x.effects[kind] == nil {
		x.effects[kind], x.known = w.work(pod, known), append(x.known, kind)
	}
	return x.effects[kind]
}

// work computes what a pod does to the trials.
func (w *whatIf) work(pod *v1.Pod, known *runningPod) []hooks.Counter {
	counters := make([]hooks.Counter, len(w.moving))
	for at, k := range w.moving {
		if m, ok := w.trials[k].(counter); ok {
			counters[at] = m.CounterOf(pod, known)
		}
	}
	return counters
}

// Reset takes all changes back.
func (w *whatIf) Reset() {
	w.moves = w.moves[:0]
	w.reset()
}

func (w *whatIf) reset() {
	for _, k := range w.moving {
		w.trials[k].Reset()
	}
}

// replay applies the changes again from the start: to add a nominated pod and remove it again may leave a difference, such as
// with a port that it shares with a pod of the node.
func (w *whatIf) replay() {
	w.reset()
	for _, m := range w.moves {
		w.apply(m)
	}
}

// Reasons returns the texts of an answer. When a verdict does not name all its reasons, they are those of the slot without
// changes.
func (w *whatIf) Reasons(i int, a preemption.Answer) ([]string, bool) {
	r, ps := filter.Rejection(a), w.attempt.Predicates
	d, ok := ps[r.Predicate].(filter.Detailer)
	return ps.Reasons(r, i), !ok || !d.Partial(r.Verdict)
}

// Err returns the error of a predicate that failed.
func (w *whatIf) Err(i int, a preemption.Answer) error {
	return w.attempt.Predicates.Err(filter.Rejection(a), i)
}

// Kept returns what equal preemptors share; nil when nothing is kept.
func (w *whatIf) Kept() (kind any, states, rejections uint64) {
	if w.kept != nil {
		kind, states, rejections = w.kept, w.kept.others, w.kept.changes
	}
	return kind, states, rejections
}

// Everywhere reports whether all rejections of the request are [preemption.Resolvable].
func (w *whatIf) Everywhere() bool { return w.everywhere }

// Without returns the answer for slot i if the pods of the slot asked for no more than left. The answer allows when it is not
// certain.
func (w *whatIf) Without(i int, left []int64) preemption.Answer {
	if w.rows < 0 {
		return preemption.Answer{}
	}
	w.visit(i)
	if len(w.nominated) > 0 || w.static.Verdict != 0 && int(w.static.Predicate) < w.rows {
		return preemption.Answer{}
	}
	w.left.requested = left
	v := w.unused.Check(i)
	if d, ok := w.unused.(filter.Detailer); v == 0 || ok && d.Partial(v) {
		return preemption.Answer{}
	}
	return preemption.Answer{Predicate: uint16(w.rows), Verdict: v}
}

// hypothetical is a cluster whose slots all have the same requests.
type hypothetical struct {
	Cluster
	requested resources.Vector
}

// Requested returns the requests.
func (h *hypothetical) Requested(int) resources.Vector { return h.requested }
