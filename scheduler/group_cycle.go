package scheduler

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/gang"
	"github.com/podberth/podberth/planning/gang/proof"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/queue"
)

// This file is one attempt to schedule a tree of groups: its waiting pods are decided together, and those that get nodes go through
// Reserve, Permit and their own binding cycles.

// gangPlugin is the plugin that lets members wait for each other on [Permit], and patience is how long they wait.
const (
	gangPlugin = "GangScheduling"
	patience   = 5 * time.Minute
)

// GroupClient is the scheduler's access to groups of the API server. A [Client] must have it if [Options.Groups] is set.
type GroupClient interface {
	// PatchGroup writes a condition, which has no time, into the status of a group.
	PatchGroup(ctx context.Context, g *podgroup.Group, c metav1.Condition) error
}

// groupAttempt is an attempt to schedule the waiting pods of a tree.
type groupAttempt struct {
	s        *Scheduler
	f        *Framework
	root     *queue.Entry
	began    time.Time
	attempts []*attempt // by member
	failed   []func(ctx context.Context)
	returns  []queue.MemberFailure
}

// scheduleGroup runs one scheduling cycle for a root.
func (s *Scheduler) scheduleGroup(ctx context.Context, root *queue.Entry) {
	g := &groupAttempt{s: s, f: s.profiles[schedulerName(root.Pod)], root: root, began: s.clock.Now()}
	var pods []*v1.Pod
	for _, e := range root.Members {
		a := &attempt{f: g.f, entry: e, pod: e.Pod, state: NewState(), began: g.began}
		a.result = Result{Pod: e.Pod, Profile: g.f.name, Attempts: e.Attempts}
		g.attempts, pods = append(g.attempts, a), append(pods, e.Pod)
	}
	s.attempts.Add(1)
	if err := s.refresh(); err != nil {
		for _, a := range g.attempts {
			g.fail(a, failure{status: AsStatus(err), nomination: denominate})
		}
		g.end(ctx, queue.RootFailed)
		return
	}
	for _, pod := range pods {
		if s.o.OnAttempt != nil {
			s.report(notify(s, "OnAttempt", func() { s.o.OnAttempt(pod, s.snapshot) }))
		}
	}
	began := s.clock.Now()
	d := g.decide(pods)
	g.decided(&d, began)
	for k := range d.Groups {
		s.tellGroup(ctx, &d.Groups[k])
	}
	g.giveBack(ctx, &d)
	g.shareClaims(d.Members)
	if d.Waiting && len(d.Victims) > 0 {
		g.preempt(ctx, &d)
	}
	for k := range d.Members {
		g.member(ctx, g.attempts[k], &d.Members[k])
	}
	outcome := queue.RootFailed
	switch d.Code {
	case filter.Success:
		outcome = queue.RootScheduled
	case filter.Unschedulable:
		outcome = queue.RootUnschedulable
	}
	g.attempted(&d)
	g.end(ctx, outcome)
}

// decide decides about the members. A plugin of the caller that panics is an error of all of them.
func (g *groupAttempt) decide(pods []*v1.Pod) placement.GroupDecision {
	s := g.s
	o := placement.GroupOptions{Options: s.planOptions(), Gates: s.groups.gates}
	if s.measures() {
		o.Begin = g.begin
	}
	for _, p := range g.f.postFilter {
		if p.Name() != nameDefaultPreemption {
			continue
		}
		budgets, err := s.budgets()
		if err != nil {
			return refusedGroup(pods, err)
		}
		o.Preempt = &placement.GroupPreempt{Budgets: budgets, Now: s.clock.Now()}
	}
	if s.o.CompleteGroups {
		profile := g.f.placement
		profile.Volumes, profile.Devices = nil, nil // the search has its own
		o.Complete = gang.Completion(proof.Question{Snapshot: s.snapshot, Profile: profile, Gates: o.Gates, Nominated: o.Nominated}, gang.Options{})
	}
	var d placement.GroupDecision
	_, st := protect(s, context.Background(), callee{at: "the plan of groups"}, func(context.Context) (struct{}, *Status) {
		d = g.f.groups.DecideGroup(pods, o)
		return struct{}{}, nil
	})
	if !st.Success() {
		err := g.f.planGroups()
		return refusedGroup(pods, errors.Join(st.AsError(), err))
	}
	s.next = d.Next
	return d
}

// refusedGroup is the decision about members that could not be decided.
func refusedGroup(pods []*v1.Pod, err error) placement.GroupDecision {
	d := placement.GroupDecision{Code: filter.Error, Err: err}
	for _, pod := range pods {
		d.Members = append(d.Members, placement.MemberOutcome{Pod: pod, Decision: placement.Decision{Slot: -1}, Code: filter.Error, Text: err.Error()})
	}
	return d
}

// tellGroup writes the condition of a group.
func (s *Scheduler) tellGroup(ctx context.Context, out *placement.GroupOutcome) {
	now := s.groups.Group(out.Group.Namespace, out.Group.Name)
	if now == nil || now.UID != out.Group.UID {
		return
	}
	if c, changed := now.Condition(out.Reason, out.Message); changed {
		err := s.act(ctx, "Client.PatchGroup", func(ctx context.Context) error { return s.o.Client.(GroupClient).PatchGroup(ctx, now, c) })
		if !errors.Is(err, ErrGone) {
			s.report(err)
		}
	}
}

// giveBack writes what DynamicResources gives back of an unschedulable group.
func (g *groupAttempt) giveBack(ctx context.Context, d *placement.GroupDecision) {
	w := ClaimWrites{Delete: d.Claims.Delete}
	for _, c := range d.Claims.Deallocate {
		w.Set = append(w.Set, devices.Deallocated(c))
	}
	if c := d.Claims.Unreserve; c != nil {
		w.Set = append(w.Set, devices.Unreserved(c, g.root.Pod.UID))
	}
	if len(w.Set)+len(w.Delete) > 0 {
		g.s.report(g.s.writeClaims(ctx, g.attempts[0].pod, w))
	}
}

// shareClaims gives each placed member also the devices of those of its claims that were allocated for another member of this attempt, as
// in v1.37: every one of them writes the allocation, and whoever comes first wins (rule PG8.5).
func (g *groupAttempt) shareClaims(members []placement.MemberOutcome) {
	given := map[types.UID]*resourcev1.AllocationResult{}
	for k := range members {
		for n, c := range members[k].Devices.Claims {
			given[c.UID] = &members[k].Devices.Results[n]
		}
	}
	if len(given) == 0 {
		return
	}
	for k := range members {
		m := &members[k]
		if !m.Placed() || len(m.Pod.Spec.ResourceClaims) == 0 {
			continue
		}
		claims, err := devices.PodClaims(m.Pod, g.s.devices)
		if err != nil {
			continue // its filter would have rejected it
		}
		for _, c := range claims {
			own := slices.ContainsFunc(m.Devices.Claims, func(x *resourcev1.ResourceClaim) bool { return x.UID == c.UID })
			if result := given[c.UID]; result != nil && !own {
				m.Devices.Claims, m.Devices.Results = append(slices.Clip(m.Devices.Claims), c), append(slices.Clip(m.Devices.Results), *result)
			}
		}
	}
}

// preempt begins to delete the victims. The root stays gated until the last of them is leaving.
func (g *groupAttempt) preempt(ctx context.Context, d *placement.GroupDecision) {
	kind, _, _ := strings.Cut(g.root.Pod.Name, "/")
	n := &Nomination{Node: "cluster"} // no pod is nominated to a node of that name, as in v1.37
	for _, v := range d.Victims {
		n.Victims = append(n.Victims, v.Pod)
	}
	g.attempts[0].result.Victims = n.Victims
	members := make([]*v1.Pod, 0, len(g.attempts))
	for _, a := range g.attempts {
		members = append(members, a.pod)
	}
	g.s.beginPreemption(ctx, preemptor{pod: g.root.Pod, kind: kind, members: members}, n)
}

// member does what follows from the decision about one member.
func (g *groupAttempt) member(ctx context.Context, a *attempt, m *placement.MemberOutcome) {
	s := g.s
	a.result.Evaluated, a.result.Feasible, a.result.Total = m.Evaluated, m.Feasible, m.Total
	switch {
	case m.Dropped:
		s.event(a.pod, v1.EventTypeWarning, "FailedScheduling", "Scheduling", "skip schedule deleting pod: "+podName(a.pod))
		s.queue.Done(a.pod)
	case s.cache.assumed(a.pod.UID) != nil:
		s.queue.Done(a.pod)
	case m.Placed():
		decided.Write(a.state, m.Volumes)
		allocated.Write(a.state, m.Devices)
		if failed := s.submit(ctx, a, m.Node); failed != nil {
			g.fail(a, *failed)
		}
	default:
		out := failure{status: NewStatus(Unschedulable, m.Text), nomination: &Nomination{Node: m.Nominate}}
		if m.Code == filter.Error {
			out.status = AsStatus(errors.New(m.Text))
		} else if m.Failure != nil {
			out.unschedulable = m.Failure.Rejecters
		}
		out.nomination.Victims = a.result.Victims
		g.fail(a, out)
	}
}

// fail makes a member one that returns with the root.
func (g *groupAttempt) fail(a *attempt, out failure) {
	r := g.s.noteFailure(a, out)
	if r.queued != nil {
		g.returns = append(g.returns, queue.MemberFailure{Entry: a.entry, Failure: *r.queued})
	} else {
		g.s.queue.Done(a.pod)
	}
	g.failed = append(g.failed, func(ctx context.Context) { g.s.tell(ctx, a, out, r) })
}

// end returns the root to the queue and writes what became of the members that failed.
func (g *groupAttempt) end(ctx context.Context, outcome queue.RootOutcome) {
	g.s.report(g.s.queue.ReturnRoot(g.root, queue.RootResult{Outcome: outcome, Failed: g.returns}))
	for _, tell := range g.failed {
		tell(ctx)
	}
}

// gangWaits reports whether a pod that was assumed must wait for others of its group. A group that is complete lets all of its pods go.
func (s *Scheduler) gangWaits(pod *v1.Pod) bool {
	tree := s.groups.tree(pod)
	if tree == nil {
		return false
	}
	root := tree.Root()
	if root.Composite == nil && root.Minimum == nil {
		return false
	}
	if !root.Ready(s.groups.countPlaced) {
		return true
	}
	for _, other := range s.waiting.list() {
		if t := s.groups.tree(other); t != nil && uidOf(t) == uidOf(tree) {
			s.waiting.allow(other.UID, gangPlugin)
		}
	}
	return false
}
