package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// PreemptionArgs are the arguments of DefaultPreemption. The zero value is the default.
type PreemptionArgs struct {
	Options preemption.Options
}

// defaultPreemption finds pods of lower priority that leave to make room, and deletes these pods in parallel with the
// scheduling cycles.
type defaultPreemption struct {
	adapterBase
	args PreemptionArgs

	planner preemption.Planner // for profiles without a plan
}

func newDefaultPreemption(args any, h *Handle) (Plugin, error) {
	p := &defaultPreemption{adapterBase: adapterBase{name: nameDefaultPreemption, h: h}}
	if args != nil {
		var ok bool
		if p.args, ok = args.(PreemptionArgs); !ok {
			return nil, fmt.Errorf("want args to be of type %T, got %T", p.args, args)
		}
	}
	if errs := p.args.Options.Candidates.Validate(nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return p, nil
}

// PreEnqueue holds a pod back while its victims are being deleted, until the last of them is leaving.
func (p *defaultPreemption) PreEnqueue(pod *v1.Pod) *Status {
	s := p.h.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, running := s.preempting[pod.UID]; running && (last == nil || s.cache.stays(last)) {
		return NewStatus(UnschedulableAndUnresolvable, "waiting for the preemption for this pod to be finished")
	}
	if tree := s.groups.tree(pod); tree != nil {
		if last, running := s.preempting[uidOf(tree)]; running && (last == nil || s.cache.stays(last)) {
			return NewStatus(UnschedulableAndUnresolvable, "waiting for the preemption for this pod group to be finished")
		}
	}
	return nil
}

// PostFilter finds the victims and begins to delete them.
func (p *defaultPreemption) PostFilter(ctx context.Context, state *State, pod *v1.Pod, statuses *NodeStatuses) (*Nomination, *Status) {
	s := p.h.s
	now, err := s.podNow(pod.Namespace, pod.Name)
	if err != nil {
		return nil, AsStatus(fmt.Errorf("preemption: %w", err))
	}
	if now == nil || now.UID != pod.UID {
		return nil, AsStatus(fmt.Errorf("preemption: pod %q not found", podName(pod)))
	}
	budgets, err := s.budgets()
	if err != nil {
		return nil, AsStatus(fmt.Errorf("preemption: %w", err))
	}
	began := s.metricsNow()
	r := p.search(ctx, state, now, statuses, budgets)
	s.count(PreemptionAttempts)
	s.violated(typePod, int(r.Violations))
	var nomination *Nomination
	switch {
	case r.ClearNomination:
		nomination = &Nomination{}
	case r.Outcome == preemption.Success:
		nomination = &Nomination{Node: r.Node}
		for _, v := range r.Victims {
			nomination.Victims = append(nomination.Victims, v.Pod)
		}
		s.observe(PreemptionVictims, float64(len(r.Victims)))
		s.evaluated(began, Success)
		s.beginPreemption(ctx, preemptor{pod: now, kind: typePod, members: []*v1.Pod{now}}, nomination)
		return nomination, NewStatus(Success, s.o.postFilterText(preemption.PostFilterOutcome{Node: r.Node, Victims: len(r.Victims)})...)
	}
	code := Unschedulable
	if r.Outcome == preemption.Error {
		code = Error
	}
	s.evaluated(began, code)
	if r.Message == "" {
		return nomination, NewStatus(code)
	}
	return nomination, NewStatus(code, "preemption: "+r.Message)
}

// search finds the victims, with the filters of the plan. Without a plan it uses the framework's filters.
func (p *defaultPreemption) search(ctx context.Context, state *State, pod *v1.Pod, statuses *NodeStatuses, budgets *disruption.Budgets) preemption.Result {
	s, f := p.h.s, p.h.f
	options := p.args.Options
	if options.Release == release.Current {
		options.Release = s.o.Release
	}
	if f.plan != nil && len(s.o.Extenders) == 0 {
		return f.plan.Preempt(pod, statuses.failure, s.planOptions(), placement.PreemptOptions{
			Budgets: budgets, Now: s.clock.Now(), Options: options, Groups: s.o.Groups,
		})
	}
	r := preemption.Request{
		Pod: pod, Cluster: s.snapshot, WhatIf: newWhatIf(ctx, f, state, pod), Budgets: budgets, Now: s.clock.Now(),
		Options: options, Extenders: s.preemptExtenders(ctx, pod),
	}
	for i := range s.snapshot.Len() {
		r.Rejections = append(r.Rejections, rejection(statuses.code(i)))
	}
	return p.planner.Preempt(r)
}

func rejection(c Code) preemption.Rejection {
	switch c {
	case Success:
		return preemption.Fits
	case Unschedulable, Pending:
		return preemption.Resolvable
	case UnschedulableAndUnresolvable:
		return preemption.Unresolvable
	}
	return preemption.Failed
}

// preemptExtenders returns the extenders that may change the victims of a pod.
func (s *Scheduler) preemptExtenders(ctx context.Context, pod *v1.Pod) []preemption.Extender {
	var out []preemption.Extender
	for _, e := range s.o.Extenders {
		asked, failed := s.interested(ctx, e, PreemptVerb, pod)
		if !asked && failed == nil {
			continue
		}
		out = append(out, preemption.Extender{Name: s.extenderName(e), Ignorable: s.ignorable(e), Process: func(pod *v1.Pod, found []preemption.Candidate) ([]preemption.ExtenderVictims, error) {
			if failed != nil {
				return nil, failed
			}
			return ask(s, ctx, "Extender.preempt", func(ctx context.Context) ([]preemption.ExtenderVictims, error) { return e.Preempt(ctx, pod, found) })
		}})
	}
	return out
}

// preemptor is a pod, or the root of a tree of groups, for which pods leave.
type preemptor struct {
	pod     *v1.Pod   // of a root, what stands for it in the queue
	kind    string    // in texts: "pod", "podgroup", "compositepodgroup"
	members []*v1.Pod // the pods that are tried again if a deletion fails
}

// beginPreemption clears the nominations of pods of lower priority to the node and deletes the victims. The last victim is
// deleted after all others. The pod stays gated until the last victim is leaving. If a deletion fails, the pod is tried
// again.
func (s *Scheduler) beginPreemption(ctx context.Context, p preemptor, n *Nomination) {
	pod, victims := p.pod, n.Victims
	if s.o.sparesLeaving() {
		victims = slices.DeleteFunc(slices.Clone(victims), func(v *v1.Pod) bool { return v.DeletionTimestamp != nil })
		if len(victims) == 0 {
			return
		}
	}
	s.mu.Lock()
	s.preempting[pod.UID] = nil
	s.mu.Unlock()
	var lower []*v1.Pod
	for _, q := range s.queue.NominatedFor(n.Node) {
		if preemption.Priority(q) < preemption.Priority(pod) {
			lower = append(lower, q)
		}
	}
	s.start(func() {
		none, began := "", s.clock.Now()
		for _, q := range lower {
			s.report(ignoreGone(s.patch(ctx, q, StatusPatch{NominatedNode: &none})))
			s.queue.Nominate(q, queue.Nomination{Override: true})
		}
		var errs []error
		last := victims[max(len(victims)-1, 0):]
		for _, v := range victims[:len(victims)-len(last)] {
			_, err := s.evict(ctx, p, v, n.Node)
			errs = append(errs, err)
		}
		for _, v := range last {
			if errors.Join(errs...) != nil && s.o.sparesLast() {
				continue
			}
			s.onlyLastLeft(pod, v)
			left := !s.cache.has(v)
			inMemory, err := s.evict(ctx, p, v, n.Node)
			errs = append(errs, err)
			switch {
			case err != nil:
			case left: // The victim left while the pod was gated. No event follows that could release the pod.
				s.queue.Move(queue.Change{Event: podGone, Old: v})
			case inMemory && s.o.activatesAfterMemory():
				defer s.queue.Activate(p.members...)
			}
		}
		s.mu.Lock()
		delete(s.preempting, pod.UID)
		s.mu.Unlock()
		err := errors.Join(errs...)
		result := "success"
		if err != nil {
			result = "error"
			s.report(fmt.Errorf("preemption for %s: %w", podName(pod), err))
			s.queue.Activate(p.members...)
		}
		s.executed(p.kind, result, began)
	})
}

// onlyLastLeft records that all victims but the last were deleted. In v1.34 this releases the pod (rule L8.5).
func (s *Scheduler) onlyLastLeft(pod, last *v1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.o.holdsForLast() {
		s.preempting[pod.UID] = last
	} else {
		delete(s.preempting, pod.UID)
	}
}

// evict deletes one victim. inMemory is true for a victim that was not bound yet, and needed no deletion. That is also a victim that gave
// its room back since it was chosen.
func (s *Scheduler) evict(ctx context.Context, p preemptor, victim *v1.Pod, node string) (inMemory bool, err error) {
	note := fmt.Sprintf("Preempted by %s %v on node %v", p.kind, p.pod.UID, node)
	if s.cancel(victim) {
		s.event(victim, v1.EventTypeNormal, "Preempted", "Preempting", s.o.inMemory(note))
		return true, nil
	}
	if s.o.stopsPreBind() && s.holdsNothing(victim) {
		return true, nil
	}
	err = s.patch(ctx, victim, StatusPatch{Condition: &v1.PodCondition{
		Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler,
		Message: schedulerName(p.pod) + ": preempting to accommodate a higher priority " + p.kind,
	}})
	switch {
	case err == nil:
		err = s.delete(ctx, victim)
	case !s.o.sparesLeaving():
		return false, err
	}
	if err != nil {
		return false, ignoreGone(err)
	}
	s.event(victim, v1.EventTypeNormal, "Preempted", "Preempting", note)
	return false, nil
}

// holdsNothing reports whether a pod is unbound and holds no room. If the Client fails, the pod counts as bound.
func (s *Scheduler) holdsNothing(pod *v1.Pod) bool {
	if s.cache.has(pod) {
		return false
	}
	now, err := s.podNow(pod.Namespace, pod.Name)
	s.report(err)
	return err == nil && now != nil && now.UID == pod.UID && now.Spec.NodeName == ""
}

func ignoreGone(err error) error {
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}

// whatIf runs the framework's filters with pods added and removed.
type whatIf struct {
	ctx    context.Context
	f      *Framework
	pod    *v1.Pod
	origin *State
	state  *State
	nodes  map[int]*NodeInfo // changed ones
	err    *Status           // of AddPod or RemovePod
	last   *Status
}

func newWhatIf(ctx context.Context, f *Framework, state *State, pod *v1.Pod) *whatIf {
	w := &whatIf{ctx: ctx, f: f, pod: pod, origin: state}
	w.Reset()
	return w
}

// Reset takes all changes back.
func (w *whatIf) Reset() {
	w.state, w.nodes, w.err = w.origin.Clone(), map[int]*NodeInfo{}, nil
}

func (w *whatIf) node(i int) *NodeInfo {
	n := w.nodes[i]
	if n == nil {
		n = w.f.s.nodes.slot[i].clone()
		w.nodes[i] = n
	}
	return n
}

// Add adds p to slot i of the what-if.
func (w *whatIf) Add(p *v1.Pod, i int) {
	if st := w.f.addPod(w.ctx, w.state, w.pod, p, w.node(i)); w.err == nil {
		w.err = st
	}
}

// Remove removes p from slot i of the what-if.
func (w *whatIf) Remove(p *v1.Pod, i int) {
	if st := w.f.removePod(w.ctx, w.state, w.pod, p, w.node(i)); w.err == nil {
		w.err = st
	}
}

// Broken returns the first failure of Add or Remove.
func (w *whatIf) Broken() error { return w.err.AsError() }

// Check asks the filters about slot i. The verdict is the code.
func (w *whatIf) Check(i int) preemption.Answer {
	n := w.node(i)
	w.last = w.err
	if w.last == nil {
		w.last = w.f.runFiltersWithNominated(w.ctx, w.state, w.pod, n, w.f.s.queue.NominatedFor(n.Node.Name))
	}
	return preemption.Answer{Verdict: resources.Verdict(w.last.Code())}
}

// Reasons returns the texts of the last verdict.
func (w *whatIf) Reasons(int, preemption.Answer) ([]string, bool) { return w.last.Reasons(), false }

// Err returns the failure behind the last verdict.
func (w *whatIf) Err(int, preemption.Answer) error {
	if w.last.Code() == Error {
		return w.last.AsError()
	}
	return nil
}
