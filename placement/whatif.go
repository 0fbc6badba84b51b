package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/spread"
)

// WhatIf is the filters of an attempt with pods added and removed in thought: a preemption.WhatIf. The cluster must not
// change while it is used.
type WhatIf struct {
	attempt *Attempt
	trials  []filter.Trial
	moving  []int // positions of the trials that are not nil
	options Options
	moves   []move

	known      *known
	effects    map[*cluster.Info]*effect
	last       *v1.Pod
	lastEffect *effect

	slot      int // that statics and nominated are of; -1: none
	static    filter.Rejection
	nominated []*v1.Pod

	fit    int              // position of NodeResourcesFit when no other pods' ports matter before; -1
	unused *filter.FitState // NodeResourcesFit over left
	left   hypothetical
}

type move struct {
	pod    *v1.Pod
	slot   int
	remove bool
}

// WhatIf returns the question of what the filters would say if. Options.Nominated counts in two passes.
func (a *Attempt) WhatIf(o Options) *WhatIf {
	w := &WhatIf{attempt: a, trials: a.Trials(), options: o, slot: -1, fit: -1, known: newKnown(), effects: map[*cluster.Info]*effect{}}
	for k, t := range w.trials {
		if t == nil {
			continue
		}
		if _, ok := a.Predicates[k].(fit); ok && len(w.moving) == 0 {
			w.bound(k)
		}
		w.moving = append(w.moving, k)
	}
	return w
}

// bound prepares NodeResourcesFit, at position k, for any amount of requests.
func (w *WhatIf) bound(k int) {
	for _, plugin := range w.attempt.plan.profile.Filters {
		if p, ok := plugin.(NodeResourcesFit); ok {
			w.fit, w.left.Cluster = k, w.attempt.plan.cluster
			w.unused = filter.CompileFit(w.attempt.pod, p.Fit).On(&w.left)
		}
	}
}

// Check judges slot i with the changes made.
func (w *WhatIf) Check(i int) preemption.Answer {
	w.visit(i)
	if len(w.nominated) == 0 {
		return preemption.Answer(w.pass(i))
	}
	w.replay()
	for _, k := range w.moving {
		for _, q := range w.nominated {
			w.trials[k].Add(q, i)
		}
	}
	r := w.pass(i)
	w.replay()
	if r.Allowed() {
		r = w.pass(i)
	}
	return preemption.Answer(r)
}

// visit works out what no change alters on a slot: the first rejection of the predicates that do not look at other pods, and
// the nominated pods that count.
func (w *WhatIf) visit(i int) {
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
func (w *WhatIf) pass(i int) filter.Rejection {
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
func (w *WhatIf) Add(p *v1.Pod, i int) { w.change(move{p, i, false}) }

// Remove pretends that p leaves slot i.
func (w *WhatIf) Remove(p *v1.Pod, i int) { w.change(move{p, i, true}) }

func (w *WhatIf) change(m move) {
	if w.options.Nominated != nil {
		w.moves = append(w.moves, m)
	}
	w.apply(m)
}

func (w *WhatIf) apply(m move) {
	n := int32(1)
	if m.remove {
		n = -1
	}
	e := w.effect(m.pod)
	for _, k := range w.moving {
		switch t := w.trials[k].(type) {
		case *spread.Trial:
			t.Apply(e.spread, m.slot, n)
			continue
		case *affinity.Trial:
			t.Apply(e.affinity, m.slot, n)
			t.Apply(e.terms, m.slot, n)
			continue
		case requestsTrial:
			if e.known {
				t.Apply(e.requests, m.slot, n)
				continue
			}
		}
		if m.remove {
			w.trials[k].Remove(m.pod, m.slot)
		} else {
			w.trials[k].Add(m.pod, m.slot)
		}
	}
}

// requestsTrial is the trial of NodeResourcesFit: it takes requests instead of a pod.
type requestsTrial interface {
	Apply(requests resources.Vector, i int, n int32)
}

// effect is what a pod does to the trials. Pods that count the same in the cluster share one.
type effect struct {
	known    bool
	requests resources.Vector
	spread   spread.Effect
	affinity affinity.Effect // of the labels
	terms    affinity.Effect
}

func (w *WhatIf) effect(pod *v1.Pod) *effect {
	if w.last == pod {
		return w.lastEffect
	}
	w.last, w.lastEffect = pod, w.lookUp(pod)
	return w.lastEffect
}

func (w *WhatIf) lookUp(pod *v1.Pod) *effect {
	info := w.info(pod)
	if info == nil {
		return w.work(pod, nil)
	}
	if e, ok := w.effects[info]; ok {
		return e
	}
	e := w.work(pod, info)
	w.effects[info] = e
	return e
}

// info returns what a pod counts with on its node; nil when the cluster does not know.
func (w *WhatIf) info(pod *v1.Pod) *cluster.Info {
	if info, ok := w.known.infos[pod]; ok {
		return info
	}
	s, ok := w.attempt.plan.cluster.(*cluster.Snapshot)
	if !ok || s.Pod(pod.Namespace, pod.Name) != pod {
		return nil
	}
	if len(w.known.infos) > s.TotalPods() { // pods that left
		clear(w.known.infos)
	}
	info := s.PodInfo(pod.Namespace, pod.Name)
	w.known.infos[pod] = info
	return info
}

// work finds out what a pod does to the trials.
func (w *WhatIf) work(pod *v1.Pod, info *cluster.Info) *effect {
	e := &effect{known: info != nil}
	if info != nil {
		e.requests = info.Requested()
	}
	for _, k := range w.moving {
		switch t := w.trials[k].(type) {
		case *spread.Trial:
			e.spread = t.Effect(pod)
		case *affinity.Trial:
			state := w.attempt.Predicates[k].(podAffinity).State
			e.affinity = state.LabelEffect(pod)
			e.terms = state.TermEffect(w.termsOf(pod, info))
		}
	}
	return e
}

// termsOf returns the compiled terms of a pod, nil without any.
func (w *WhatIf) termsOf(pod *v1.Pod, info *cluster.Info) *affinity.Terms {
	if info == nil {
		return affinity.CompileTerms(pod)
	}
	id := info.Terms()
	if id < 0 {
		return nil
	}
	t, ok := w.known.terms[id]
	if !ok {
		t = affinity.CompileTerms(pod)
		w.known.terms[id] = t
	}
	return t
}

// Reset takes all changes back.
func (w *WhatIf) Reset() {
	w.moves = w.moves[:0]
	w.reset()
}

func (w *WhatIf) reset() {
	for _, k := range w.moving {
		w.trials[k].Reset()
	}
}

// replay makes the changes anew: adding a nominated pod and removing it again is not always nothing, as with a port that it
// shares with a pod of the node.
func (w *WhatIf) replay() {
	w.reset()
	for _, m := range w.moves {
		w.apply(m)
	}
}

// Reasons returns the texts of an answer. The texts of a verdict that does not name all its reasons are those of the slot
// without changes.
func (w *WhatIf) Reasons(i int, a preemption.Answer) ([]string, bool) {
	r, ps := filter.Rejection(a), w.attempt.Predicates
	d, ok := ps[r.Predicate].(filter.Detailer)
	return ps.Reasons(r, i), !ok || !d.Partial(r.Verdict)
}

// Err returns the failure of a predicate.
func (w *WhatIf) Err(i int, a preemption.Answer) error {
	return w.attempt.Predicates.Err(filter.Rejection(a), i)
}

// Without returns the answer for slot i if the pods of the slot asked for no more than left. The answer allows if that is
// not certain.
func (w *WhatIf) Without(i int, left []int64) preemption.Answer {
	if w.fit < 0 {
		return preemption.Answer{}
	}
	w.visit(i)
	if len(w.nominated) > 0 || w.static.Verdict != 0 && int(w.static.Predicate) < w.fit {
		return preemption.Answer{}
	}
	w.left.requested = left
	v := w.unused.Check(i)
	if v == 0 || w.unused.Partial(v) {
		return preemption.Answer{}
	}
	return preemption.Answer{Predicate: uint16(w.fit), Verdict: v}
}

// hypothetical is a cluster whose slots all have the same requests.
type hypothetical struct {
	Cluster
	requested resources.Vector
}

// Requested returns the requests.
func (h *hypothetical) Requested(int) resources.Vector { return h.requested }

// known is what a Preempter remembers of running pods.
type known struct {
	infos map[*v1.Pod]*cluster.Info
	terms map[int32]*affinity.Terms // by Info.Terms
}

func newKnown() *known {
	return &known{map[*v1.Pod]*cluster.Info{}, map[int32]*affinity.Terms{}}
}

// forget drops everything.
func (k *known) forget() {
	clear(k.infos)
	clear(k.terms)
}
