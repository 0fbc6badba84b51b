package placement

import (
	"iter"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/spread"
)

// Preempter answers "who gives way to this pod?" for the pods of one plan, and keeps what can be kept between questions. It
// follows the plan's cluster and belongs to the plan's goroutine.
type Preempter struct {
	plan    *Plan
	planner preemption.Planner
	index   *preemption.Index
	log     *cluster.Snapshot // nil: a cluster without a change log
	at      uint64

	verdicts   []filter.Rejection
	rejections []preemption.Rejection
}

// NewPreempter returns a Preempter for the plan.
func NewPreempter(p *Plan) *Preempter {
	x := &Preempter{plan: p, index: preemption.NewIndex(p.cluster)}
	if x.log, _ = p.cluster.(*cluster.Snapshot); x.log != nil {
		x.at = x.log.Version()
	}
	return x
}

// PreemptOptions are what a question about preemption may add to Options. The zero value is v1.36's, without budgets.
type PreemptOptions struct {
	Budgets   *disruption.Budgets
	Now       time.Time
	Extenders []preemption.Extender
	// Rejected are slots that something beside the profile's filters, such as an extender, rejected in the attempt, as far
	// as the filters did not.
	Rejected map[int]preemption.Rejection
	// Preemption are the options of package preemption. CrossNode without Foreign gets WhatIf.Foreign.
	Preemption preemption.Options
}

// Preempt looks for pods that give way to a pod for which Decide found no node in the cluster as it is. o is what Decide
// got. The pod must be as it is in the API server; its nomination counts.
func (x *Preempter) Preempt(pod *v1.Pod, o Options, po PreemptOptions) preemption.Result {
	x.follow()
	a := x.plan.Prepare(pod)
	w := a.WhatIf(o)
	x.verdicts = a.Verdicts(x.verdicts[:0], o)
	x.rejections = a.appendRejections(x.rejections[:0], x.verdicts)
	for i, r := range po.Rejected {
		if i >= 0 && i < len(x.rejections) && x.rejections[i] == preemption.Fits {
			x.rejections[i] = r
		}
	}
	r := preemption.Request{
		Pod: pod, Cluster: x.plan.cluster, WhatIf: w, Rejections: x.rejections, Budgets: po.Budgets, Now: po.Now,
		Index: x.index, Extenders: po.Extenders, Options: po.Preemption,
	}
	if c := r.Options.CrossNode; c != nil && c.Foreign == nil {
		r.Options.CrossNode = &preemption.CrossNode{Max: c.Max, Foreign: w.Foreign}
	}
	return x.planner.Preempt(r)
}

// follow brings the index up to date.
func (x *Preempter) follow() {
	if x.log == nil {
		x.index.Forget()
		return
	}
	version := x.log.Version()
	if version == x.at {
		return
	}
	known := x.log.Since(x.at, func(events []cluster.Event) {
		for k := range events {
			switch e := &events[k]; {
			case e.Node < 0:
				x.index.Forget()
			case e.Set < 0:
				x.index.TouchNodes()
				x.index.Touch(int(e.Node))
			default:
				x.index.Touch(int(e.Node))
			}
		}
	})
	if !known {
		x.index.Forget()
	}
	x.at = version
}

// Rejections appends how preemption sees each slot: the argument of preemption.Request.
func (a *Attempt) Rejections(dst []preemption.Rejection, o Options) []preemption.Rejection {
	return a.appendRejections(dst, a.Verdicts(nil, o))
}

func (a *Attempt) appendRejections(dst []preemption.Rejection, verdicts []filter.Rejection) []preemption.Rejection {
	if a.Rejected() { // every node has the rejection of the plugin
		all := preemption.Unresolvable
		if code := a.Pre.Code(); code == filter.Unschedulable || code == filter.Pending {
			all = preemption.Resolvable
		}
		for range verdicts {
			dst = append(dst, all)
		}
		return dst
	}
	for _, v := range verdicts {
		switch {
		case v == Outside:
			dst = append(dst, preemption.Unresolvable)
		case v.Allowed():
			dst = append(dst, preemption.Fits)
		default:
			dst = append(dst, a.resolvable(v))
		}
	}
	return dst
}

func (a *Attempt) resolvable(v filter.Rejection) preemption.Rejection {
	switch a.Predicates.Code(v) {
	case filter.Unschedulable, filter.Pending:
		return preemption.Resolvable
	case filter.UnschedulableAndUnresolvable:
		return preemption.Unresolvable
	}
	return preemption.Failed
}

// WhatIf is the filters of an attempt with pods added and removed in thought: a preemption.WhatIf. The cluster must not
// change while it is used.
type WhatIf struct {
	attempt *Attempt
	trials  []filter.Trial
	moving  []int // positions of the trials that are not nil
	options Options
	moves   []move

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
	w := &WhatIf{attempt: a, trials: a.Trials(), options: o, slot: -1, fit: -1, effects: map[*cluster.Info]*effect{}}
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
			w.unused = filter.CompileFit(w.attempt.pod, p.Fit).Count(&w.left)
		}
	}
}

// Check judges slot i with the changes made.
func (w *WhatIf) Check(i int) preemption.Verdict {
	w.visit(i)
	if len(w.nominated) == 0 {
		return pack(w.pass(i))
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
	return pack(r)
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
			continue
		case *filter.FitTrial:
			if e.known {
				t.Apply(e.requests, m.slot, int64(n))
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

// effect is what a pod does to the trials. Pods that count the same in the cluster share one.
type effect struct {
	known    bool
	requests resources.Vector
	spread   spread.Effect
	affinity affinity.Effect
}

func (w *WhatIf) effect(pod *v1.Pod) *effect {
	if w.last == pod {
		return w.lastEffect
	}
	w.last, w.lastEffect = pod, w.lookUp(pod)
	return w.lastEffect
}

func (w *WhatIf) lookUp(pod *v1.Pod) *effect {
	s, ok := w.attempt.plan.cluster.(*cluster.Snapshot)
	if !ok || s.Pod(pod.Namespace, pod.Name) != pod {
		return w.work(pod, nil)
	}
	info := s.PodInfo(pod.Namespace, pod.Name)
	if e, ok := w.effects[info]; ok {
		return e
	}
	e := w.work(pod, info)
	w.effects[info] = e
	return e
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
			e.affinity = w.attempt.Predicates[k].(podAffinity).Effect(pod)
		}
	}
	return e
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

func pack(r filter.Rejection) preemption.Verdict {
	if r.Allowed() {
		return 0
	}
	return preemption.Verdict(r.Predicate)<<16 | preemption.Verdict(r.Verdict)
}

func unpack(v preemption.Verdict) filter.Rejection {
	return filter.Rejection{Predicate: uint16(v >> 16), Verdict: uint16(v)}
}

// Reasons returns the texts of a verdict. Those of a verdict that does not name them all are of the slot without changes.
func (w *WhatIf) Reasons(i int, v preemption.Verdict) ([]string, bool) {
	r, ps := unpack(v), w.attempt.Predicates
	d, ok := ps[r.Predicate].(filter.Detailer)
	return ps.Reasons(r, i), !ok || !d.Partial(r.Verdict)
}

// Err returns the failure of a predicate.
func (w *WhatIf) Err(i int, v preemption.Verdict) error {
	return w.attempt.Predicates.Err(unpack(v), i)
}

// Without returns the verdict on slot i if its pods asked for no more than left, 0 when that is not certain.
func (w *WhatIf) Without(i int, left []int64) preemption.Verdict {
	if w.fit < 0 {
		return 0
	}
	w.visit(i)
	if len(w.nominated) > 0 || w.static.Verdict != 0 && int(w.static.Predicate) < w.fit {
		return 0
	}
	w.left.requested = left
	v := w.unused.Check(i)
	if v == 0 || w.unused.Partial(v) {
		return 0
	}
	return pack(filter.Rejection{Predicate: uint16(w.fit), Verdict: v})
}

// hypothetical is a cluster whose slots all have the same requests.
type hypothetical struct {
	Cluster
	requested resources.Vector
}

// Requested returns the requests.
func (h *hypothetical) Requested(int) resources.Vector { return h.requested }

// Foreign returns the pods of other slots that may keep the pod from slot i: those that its required anti-affinity or their
// own sets against each other in a domain of slot i, those that its DoNotSchedule spread constraints count there, and those
// that use one of its claims. Some of them may turn out not to matter. By slot. O(pods).
func (w *WhatIf) Foreign(i int) []preemption.Placed {
	a := w.attempt
	var out []preemption.Placed
	for j := range a.plan.cluster.Len() {
		if j == i || a.plan.cluster.Node(j) == nil {
			continue
		}
		for q := range a.plan.cluster.Pods(j) {
			if w.apart(q, i, j) || w.counted(q, i, j) || sharesClaim(a.pod, q) {
				out = append(out, preemption.Placed{Pod: q, Slot: j})
			}
		}
	}
	return out
}

// apart reports whether anti-affinity keeps the pod off slot i because of q on slot j.
func (w *WhatIf) apart(q *v1.Pod, i, j int) bool {
	a := w.attempt
	if !slices.ContainsFunc(a.Predicates, func(p filter.Predicate) bool { _, ok := p.(podAffinity); return ok }) {
		return false
	}
	alone := a.pod.DeepCopy()
	if f := alone.Spec.Affinity; f != nil {
		f.PodAffinity = nil
	}
	e, err := affinity.CompilePods(alone, affinity.PodOptions{})
	return err == nil && e.Count(&pairOf{a.plan.cluster, i, j, q}).Check(0) != 0
}

// counted reports whether a spread constraint may count q on slot j in a domain of slot i.
func (w *WhatIf) counted(q *v1.Pod, i, j int) bool {
	at, other := w.attempt.plan.cluster.Node(i).Labels, w.attempt.plan.cluster.Node(j).Labels
	for _, p := range w.attempt.Predicates {
		s, ok := p.(hardSpread)
		if !ok || s.compiled.Effect(q) == 0 {
			continue
		}
		for _, key := range s.compiled.Keys(nil) {
			if value, has := at[key]; has && other[key] == value {
				return true
			}
		}
	}
	return false
}

func sharesClaim(p, q *v1.Pod) bool {
	if p.Namespace != q.Namespace {
		return false
	}
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		for _, u := range q.Spec.Volumes {
			if u.PersistentVolumeClaim != nil && u.PersistentVolumeClaim.ClaimName == v.PersistentVolumeClaim.ClaimName {
				return true
			}
		}
	}
	return false
}

// pairOf is a cluster of two nodes with one pod, on the second.
type pairOf struct {
	all  Cluster
	i, j int
	pod  *v1.Pod
}

// Len returns 2.
func (c *pairOf) Len() int { return 2 }

// Node returns the one or the other.
func (c *pairOf) Node(k int) *v1.Node { return c.all.Node([2]int{c.i, c.j}[k]) }

// Pods yields the pod on the second.
func (c *pairOf) Pods(k int) iter.Seq[*v1.Pod] {
	return func(yield func(*v1.Pod) bool) {
		if k == 1 {
			yield(c.pod)
		}
	}
}

// Namespaces yields those of the whole cluster.
func (c *pairOf) Namespaces() iter.Seq2[string, map[string]string] { return c.all.Namespaces() }
