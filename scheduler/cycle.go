package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/queue"
)

// This file is one attempt to schedule a pod, from the queue to the bound pod or back to the queue. The numbers count
// the steps of the documentation's picture of the scheduling framework, in order.

// attempt is an attempt to schedule one pod.
type attempt struct {
	f       *Framework
	entry   *queue.Entry
	pod     *v1.Pod // as popped
	assumed *v1.Pod // with its node
	state   *State
	began   time.Time
	result  Result

	signature string   // of the pod; "" without
	hinted    string   // the node that batching proposes
	ranking   []string // the other nodes that can take the pod, the best first
}

// failure is the reason why an attempt failed, and what happens to the pod.
type failure struct {
	status *Status // rejected, or an error
	// unschedulable and pending are the plugins whose events the pod waits for. Without such plugins the pod is tried
	// again after a backoff.
	unschedulable, pending []string
	nomination             *Nomination // nil: keep
	silent                 bool        // no event, no condition
}

// denominate clears the pod's nomination.
var denominate = &Nomination{}

// ScheduleOne waits for a pod and runs one scheduling cycle. It returns false if the context ended, or if the queue is
// closed and empty.
func (s *Scheduler) ScheduleOne(ctx context.Context) bool {
	e := s.queue.Pop(ctx)
	if e != nil {
		s.schedule(ctx, e)
	}
	return e != nil
}

// TryScheduleOne runs one scheduling cycle without waiting. It returns false if no pod is active.
func (s *Scheduler) TryScheduleOne(ctx context.Context) bool {
	e := s.queue.TryPop()
	if e != nil {
		s.schedule(ctx, e)
	}
	return e != nil
}

// schedule runs one scheduling cycle. Scheduling cycles never overlap.
func (s *Scheduler) schedule(ctx context.Context, e *queue.Entry) {
	s.cycle.Lock()
	defer s.cycle.Unlock()
	if e.Members != nil {
		s.scheduleGroup(ctx, e)
		return
	}
	// 1. Skip a pod without a profile, a pod that is being deleted, and an assumed pod.
	pod := e.Pod
	f := s.profiles[schedulerName(pod)]
	if f == nil {
		s.queue.Done(pod)
		return
	}
	if pod.DeletionTimestamp != nil {
		s.event(pod, v1.EventTypeWarning, "FailedScheduling", "Scheduling", "skip schedule deleting pod: "+podName(pod))
		s.queue.Done(pod)
		return
	}
	if s.cache.assumed(pod.UID) != nil {
		s.queue.Done(pod)
		return
	}
	// 2. Take one state of the cluster for the whole cycle.
	a := &attempt{f: f, entry: e, pod: pod, state: NewState(), began: s.clock.Now()}
	a.result = Result{Pod: pod, Profile: f.name, Attempts: e.Attempts}
	s.attempts.Add(1)
	if err := s.refresh(); err != nil {
		s.fail(ctx, a, failure{status: AsStatus(err), nomination: denominate})
		return
	}
	if s.o.OnAttempt != nil {
		s.report(notify(s, "OnAttempt", func() { s.o.OnAttempt(pod, s.snapshot) }))
	}
	// 3. to 11. Find the node.
	node, failed := s.decide(ctx, a)
	s.observe(AlgorithmDuration, s.clock.Now().Sub(a.began).Seconds())
	if failed != nil {
		s.fail(ctx, a, *failed)
		return
	}
	if s.o.batches() {
		f.keep(a, node)
	}
	if failed := s.submit(ctx, a, node); failed != nil {
		s.fail(ctx, a, *failed)
	}
}

// submit is what follows when a node was found: the pod holds its room, and its binding cycle begins.
func (s *Scheduler) submit(ctx context.Context, a *attempt, node string) *failure {
	f, pod := a.f, a.pod
	// 12. Assume the pod: from here on the pod holds its room, and its nomination is gone.
	assumed := *pod
	assumed.Spec.NodeName = node
	a.assumed = &assumed
	a.result.Node = node
	if err := s.cache.assume(a.assumed); err != nil {
		return &failure{status: AsStatus(err), nomination: denominate}
	}
	s.queue.Nominate(pod, queue.Nomination{Override: true})
	// 13. Reserve. 14. Permit.
	st := f.runReserve(ctx, a.state, a.assumed, node)
	var waits map[string]time.Duration
	if st.Success() {
		waits, st = f.runPermit(ctx, a.state, a.assumed, node)
	}
	if !st.Success() {
		s.undo(ctx, a)
		failed := onChosenNode(st)
		return &failed
	}
	if s.gangWaits(a.assumed) {
		if waits == nil {
			waits = map[string]time.Duration{}
		}
		waits[gangPlugin] = patience
	}
	if len(waits) > 0 {
		s.waiting.enter(a.assumed, waits, s.clock.Now())
	}
	// 15. Activate the pods that plugins asked for.
	s.queue.Activate(a.state.PodsToActivate.take()...)
	s.start(func() { s.bindingCycle(ctx, a) })
	return nil
}

// decide finds a node. If no node can take the pod, the failure has the reason.
func (s *Scheduler) decide(ctx context.Context, a *attempt) (node string, failed *failure) {
	// 3. No nodes, no plugins.
	if len(s.snapshot.Order()) == 0 {
		return "", &failure{status: NewStatus(UnschedulableAndUnresolvable, filter.NoNodes), nomination: denominate}
	}
	if s.o.batches() {
		a.signature = a.f.SignPod(ctx, a.pod)
	}
	if a.f.plan != nil && len(s.o.Extenders) == 0 {
		return s.decideGuarded(ctx, a)
	}
	// 4. PreFilter. 5. Batching. 6. The nominated node. 7. Filter. 8. Extenders.
	d, err := a.f.findNodes(ctx, a)
	a.result.Evaluated, a.result.Feasible = d.evaluated, len(d.nodes)
	switch {
	case err != nil:
		return "", &failure{status: AsStatus(err), nomination: denominate}
	case len(d.nodes) == 0:
		unschedulable := append(d.pre.Rejecters(), d.rejecters...)
		return "", s.postFilter(ctx, a, d.statuses, d.message(len(s.nodes.list)), unschedulable, d.pending)
	case len(d.nodes) == 1: // 10. A single candidate is chosen without scores.
		return d.nodes[0].Node.Name, nil
	}
	// 11. PreScore, Score, NormalizeScore, weights; the node with the highest total.
	best, totals, err := a.f.choose(ctx, a.state, a.pod, d.nodes)
	if err != nil {
		return "", &failure{status: AsStatus(err), nomination: denominate}
	}
	a.result.Total = totals[best]
	if a.signature != "" {
		a.ranking = ranked(nodeNames(d.nodes), totals, best)
	}
	return d.nodes[best].Node.Name, nil
}

// decidePlanned does what decide does, for a profile whose filters and scores are all the library's. The plan does all
// steps at once, and shares work between equal pods.
func (s *Scheduler) decidePlanned(ctx context.Context, a *attempt) (string, *failure) {
	o, pod := s.planOptions(), a.pod
	if a.signature != "" {
		pod = withHint(pod, s.planHint(a))
	}
	d := a.f.plan.Decide(pod, o)
	s.next = d.Next
	a.result.Evaluated, a.result.Feasible, a.result.Total = d.Evaluated, d.Feasible, d.Total
	if s.o.batches() && a.signature == "" && (d.Evaluated > 0 || d.Failure.Err == nil && d.Failure.Message.PreFilter == "") {
		a.f.nodeHint(a, nil)
	}
	switch {
	case d.Placed():
		if d.Feasible > 1 && a.signature != "" {
			s.planRanking(a, pod, o, d.Slot)
		}
		decided.Write(a.state, d.Volumes)
		allocated.Write(a.state, d.Devices)
		return d.Node, nil
	case d.Failure.Err != nil:
		return "", &failure{status: AsStatus(d.Failure.Err), nomination: denominate}
	}
	statuses := &NodeStatuses{absent: NewStatus(UnschedulableAndUnresolvable, d.Failure.Message.Absent...)}
	if len(a.f.postFilter) > 0 {
		p := a.f.plan.Failed(d.Failure)
		statuses.failure, statuses.attempt, statuses.verdicts = d.Failure, p, p.Verdicts(nil, o)
		if p.Rejected() {
			statuses.attempt, statuses.absent = nil, NewStatus(p.Pre.Code, p.Pre.Message)
		}
		if a.f.sawDevices(p.Pre) {
			seen.Write(a.state, releaserOf(p.Predicates))
		}
	}
	return "", s.postFilter(ctx, a, statuses, d.Failure.Message, d.Failure.Rejecters, nil)
}

// planOptions returns where the search begins, and which pods are nominated.
func (s *Scheduler) planOptions() placement.Options {
	o := placement.Options{Next: s.next}
	if s.o.Tie != nil {
		o.Tie = s.tie
	}
	var nodes []string
	s.queue.Read(func(q *queue.Queue) { nodes = q.NominatedNodes(nil) })
	if len(nodes) == 0 {
		return o
	}
	o.Nominated, o.NominatedSlots = func(i int) []*v1.Pod { return s.queue.NominatedFor(s.snapshot.Node(i).Name) }, []int{}
	for _, name := range nodes {
		if i := s.snapshot.Slot(name); i >= 0 {
			o.NominatedSlots = append(o.NominatedSlots, i)
		}
	}
	slices.Sort(o.NominatedSlots)
	return o
}

// postFilter is step 9: no node can take the pod, and PostFilter plugins look for a way to make room.
func (s *Scheduler) postFilter(ctx context.Context, a *attempt, statuses *NodeStatuses, m filter.Message, unschedulable, pending []string) *failure {
	out := &failure{unschedulable: unschedulable, pending: pending, nomination: s.o.nominationWithoutPostFilter()}
	if len(a.f.postFilter) > 0 {
		out.nomination, m.PostFilter = a.f.runPostFilter(ctx, a.state, a.pod, statuses)
	}
	out.status = NewStatus(Unschedulable, m.String())
	return out
}

// onChosenNode returns the failure of an attempt that had found a node.
func onChosenNode(st *Status) failure {
	out := failure{status: st, nomination: denominate}
	if !st.Rejected() {
		return out
	}
	out.unschedulable = []string{st.Plugin()}
	if st.Code() == Pending {
		out.pending = out.unschedulable
	}
	m := filter.Message{Nodes: 1}
	for _, reason := range st.Reasons() {
		m.Reasons = append(m.Reasons, filter.Count{Reason: reason, Nodes: 1})
	}
	out.status = NewStatus(st.Code(), m.String())
	return out
}

// undo releases what the pod held.
func (s *Scheduler) undo(ctx context.Context, a *attempt) {
	a.f.runUnreserve(ctx, a.state, a.assumed, a.result.Node)
	s.report(s.cache.forget(a.assumed))
}

// bindingCycle runs in parallel with scheduling cycles and with other binding cycles.
func (s *Scheduler) bindingCycle(ctx context.Context, a *attempt) {
	// 16. Ask the PreBind plugins whether they have anything to do. If any plugin has, or if the pod waits on Permit, write
	// the nomination, so that others know the pod's node.
	waits := s.waiting.has(a.assumed.UID)
	some, err := a.f.runPreFlight(ctx, a.state, a.assumed, a.result.Node)
	if err != nil {
		s.waiting.reject(a.assumed.UID, "", "")
		s.waiting.wait(a.assumed.UID, func(*Status) {})
		s.failBinding(ctx, a, failure{status: AsStatus(err), nomination: denominate})
		return
	}
	if (some || waits) && s.o.announces() {
		node := a.result.Node
		s.report(s.patch(ctx, a.assumed, StatusPatch{NominatedNode: &node}))
	}
	// 17. Wait on Permit. The goroutine that gives the outcome continues the binding cycle.
	waited := s.clock.Now()
	s.waiting.wait(a.assumed.UID, func(st *Status) {
		if !waits {
			s.afterPermit(ctx, a, st)
			return
		}
		s.observe(PermitWaitDuration, s.clock.Now().Sub(waited).Seconds(), st.Code().String())
		s.start(func() { s.afterPermit(ctx, a, st) })
	})
}

func (s *Scheduler) afterPermit(ctx context.Context, a *attempt, st *Status) {
	if !st.Success() {
		out := onChosenNode(st)
		out.pending = nil
		s.failBinding(ctx, a, out)
		return
	}
	// 18. From here on failures do not wait for events.
	s.queue.Done(a.pod)
	// 19. PreBind. 20. Stop if a pod of higher priority has taken the room meanwhile.
	preBind := s.enterBinding(ctx, a.assumed)
	st = a.f.runPreBind(preBind, a.state, a.assumed, a.result.Node)
	if preempted := s.leaveBinding(a.assumed, st.Success()); st.Success() && preempted {
		st = AsStatus(errors.New("the pod was preempted before it was bound"))
	}
	// 21. Bind.
	if st.Success() {
		st = a.f.runBind(ctx, a.state, a.assumed, a.result.Node)
	}
	if !st.Success() {
		s.failBinding(ctx, a, failure{status: st, nomination: denominate, silent: st.Code() == Skip})
		return
	}
	// 22. Done.
	s.cache.bound(a.assumed, s.clock.Now())
	s.dropUnseen(a.assumed)
	s.scheduled(a)
	s.event(a.assumed, v1.EventTypeNormal, "Scheduled", "Binding", fmt.Sprintf("Successfully assigned %s to %s", podName(a.pod), a.result.Node))
	a.f.runPostBind(ctx, a.state, a.assumed, a.result.Node)
	s.queue.Activate(a.state.PodsToActivate.take()...)
	a.result.Outcome = Scheduled
	if d, err := allocated.Read(a.state); err == nil {
		a.result.Devices = d
	}
	s.finish(a)
}

// dropUnseen forgets a bound pod that was reported as gone before it was assumed, because it had finished. No event of its
// binding follows.
func (s *Scheduler) dropUnseen(assumed *v1.Pod) {
	now, err := s.podNow(assumed.Namespace, assumed.Name)
	s.report(err)
	if err != nil || now != nil && now.UID == assumed.UID || s.cache.assumed(assumed.UID) == nil {
		return
	}
	s.report(s.cache.forget(assumed))
	s.queue.Move(queue.Change{Event: podGone, Old: assumed})
}

// failBinding releases what the pod held, reports to the queue that the pod left, and fails the attempt. After an error
// this event may make the pod itself schedulable; after a rejection it may not.
func (s *Scheduler) failBinding(ctx context.Context, a *attempt, out failure) {
	s.undo(ctx, a)
	s.roomBack(a.assumed)
	left := queue.Change{Event: podGone, Old: a.assumed}
	if !out.status.Rejected() {
		s.queue.Move(left)
		s.fail(ctx, a, out)
		return
	}
	s.fail(ctx, a, out)
	left.PreCheck = func(p *v1.Pod) bool { return p.UID != a.pod.UID }
	s.queue.Move(left)
}

// fail returns the pod to the queue, writes the pod's status, and reports the failure.
func (s *Scheduler) fail(ctx context.Context, a *attempt, out failure) {
	r := s.noteFailure(a, out)
	if r.queued != nil {
		s.report(s.queue.Return(a.entry, *r.queued))
	} else {
		s.queue.Done(a.pod)
	}
	s.tell(ctx, a, out, r)
}

// returned is what a failure finds of its pod.
type returned struct {
	now    *v1.Pod        // the pod as it is now; nil: deleted
	queued *queue.Failure // how the pod goes back to the queue; nil: it does not
	kept   string         // the node to which the pod was nominated
}

// noteFailure notes a failure in the attempt's result, and returns how the pod goes back to the queue.
func (s *Scheduler) noteFailure(a *attempt, out failure) (r returned) {
	a.result.Node, a.result.Outcome, a.result.Message = "", SchedulingError, out.status.Message()
	if out.status.Rejected() {
		a.result.Outcome = Rejected
	}
	s.attempted(a)
	if n := out.nomination; n != nil {
		a.result.Nominated, a.result.Victims = n.Node, n.Victims
	}
	now, err := s.podNow(a.pod.Namespace, a.pod.Name)
	if err != nil {
		s.report(err)
		now = s.cache.lastKnown(a.pod)
	}
	r = returned{now: now, kept: s.queue.nominated(a.pod)}
	if now == nil || now.Spec.NodeName != "" || now.UID != a.pod.UID && s.o.dropsRecreated() {
		return r
	}
	r.queued = &queue.Failure{Pod: now, Rejecters: slices.Compact(out.unschedulable), Pending: out.pending}
	if out.nomination != nil {
		r.queued.Nomination = queue.Nomination{Override: true, Node: out.nomination.Node}
	}
	return r
}

// tell writes the pod's status and reports the failure that noteFailure has noted.
func (s *Scheduler) tell(ctx context.Context, a *attempt, out failure, r returned) {
	defer s.finish(a)
	if r.queued != nil && out.nomination != nil && out.nomination.Node != r.kept {
		s.denominated(a.pod, r.kept)
	}
	another := r.now != nil && r.now.Spec.NodeName == "" && r.queued == nil // a pod of that name
	if another || out.silent {
		return
	}
	s.event(a.pod, v1.EventTypeWarning, "FailedScheduling", "Scheduling", filter.Cut(a.result.Message))
	reason := v1.PodReasonUnschedulable
	if a.result.Outcome == SchedulingError {
		reason = v1.PodReasonSchedulerError
	}
	condition := &v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: reason, Message: a.result.Message}
	patch := StatusPatch{Condition: condition}
	if out.nomination != nil {
		patch.NominatedNode = &out.nomination.Node
	}
	if patch = patch.changes(a.pod, r.now, r.kept); patch != (StatusPatch{}) {
		if err := s.patch(ctx, a.pod, patch); !errors.Is(err, ErrGone) {
			s.report(err)
		}
	}
}
