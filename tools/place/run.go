package place

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/page"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// gatedMessage is what the API server says of a pod with scheduling gates.
const gatedMessage = "Scheduling is blocked due to non-empty scheduling gates"

// simulation is one run.
type simulation struct {
	w        *world
	o        options
	timeline []event
	begin    time.Time
	first    string // the schedulerName of the first profile

	entries  []entry
	last     map[string]entry  // by pod
	gaveWay  map[string]string // the pod for which a pod was evicted
	tried    map[string]int    // the world's changes at a pod's last attempt
	gated    []*v1.Pod         // of the input, without an entry yet
	place    map[string]int    // the place of a pod of the input in the order of the queue
	stderr   io.Writer         // for progress
	progress *report.Progress
	attempts int                               // that began
	tables   map[string][]placement.NodeReport // of the attempts that run now, by pod
	verdicts verdicts                          // of a page
	log      strings.Builder
	notes    report.Warnings
	refused  bool  // an event of the timeline was refused
	err      error // there is no plan of a profile

	explain   func(pod *v1.Pod, c *cluster.Snapshot)
	attempted *attempted // the last attempt of the member of a group that the question is about
	stopped   bool
}

// attempted is an attempt of a pod, with the cluster before it.
type attempted struct {
	pod *v1.Pod
	c   *cluster.Snapshot
}

// newSimulation starts the scheduler over the world.
func newSimulation(w *world, o options, timeline []event, setup scheduler.Options, stderr io.Writer) (*simulation, error) {
	x := &simulation{w: w, o: o, stderr: stderr, timeline: timeline, begin: w.now, first: setup.Profiles[0].SchedulerName, last: map[string]entry{}, gaveWay: map[string]string{}, tried: map[string]int{}, place: map[string]int{}, tables: map[string][]placement.NodeReport{}, verdicts: verdicts{of: map[string]*page.Verdict{}, alike: map[string]int{}}}
	setup.Client, setup.Clock, setup.Go, setup.Budgets = w, w, w.later, w.disruptionBudgets
	setup.Selectors, setup.Groups = cel.NewCompiler(), w.groups
	setup.OnResult, setup.OnAttempt = x.result, x.attempt
	setup.OnError = func(err error) { x.warn("%v", err) }
	if o.seed != 0 {
		setup.Tie = rand.New(rand.NewPCG(o.seed, 0)).IntN
	}
	setup.OnMove = func(m queue.Move, _ time.Time) { x.logf("%v", m) }
	if o.preemption == optimalPreemption {
		bestVictims(setup.Profiles)
	}
	var err error
	if w.s, err = scheduler.New(w.snapshot, setup); err != nil {
		return nil, err
	}
	return x, nil
}

// warn adds a warning, once.
func (x *simulation) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(x.notes.Texts(), text) {
		x.notes.Add(text)
	}
}

// logf writes a line of the log, if there is one.
func (x *simulation) logf(format string, args ...any) {
	if x.o.log == "" {
		return
	}
	report.Textf(&x.log, "%.3fs "+format+"\n", append([]any{x.w.now.Sub(x.begin).Seconds()}, args...)...)
}

// run plays until no pod is active or backing off, no pod is leaving and the timeline is over. A pod that was tried after the
// last change of the cluster and rests after an error is not waited for, because it would fail in the same way.
func (x *simulation) run(ctx context.Context) error {
	if x.o.grace {
		for _, name := range sortedKeys(x.w.pods) {
			if p := x.w.pods[name]; p.DeletionTimestamp != nil && p.Spec.NodeName != "" {
				x.w.leave(p)
			}
		}
	}
	for _, r := range x.w.refused {
		x.add(r.Pod, refusedEntry(r))
	}
	for k, p := range x.w.pending {
		x.place[key(p)] = k
		if len(p.Spec.SchedulingGates) > 0 {
			x.gated = append(x.gated, p)
		}
		x.w.s.AddPod(p)
	}
	for _, p := range x.w.dying {
		x.w.s.AddPod(p)
	}
	x.progress = report.NewProgress(x.stderr, "place", "attempts", nil)
	defer x.progress.End()
	for !x.stopped {
		if err := cmp.Or(program.Interrupted(ctx), x.due()); err != nil {
			return err
		}
		for !x.stopped && ctx.Err() == nil && x.w.s.TryScheduleOne(ctx) {
			x.w.work()
		}
		next, more := x.next()
		if !more {
			break
		}
		x.w.now = next
	}
	x.tellGated(len(x.w.pending))
	x.tellUnclaimed()
	x.tellHeld()
	return x.err
}

// due removes pods whose time is over and applies the events of the present time.
func (x *simulation) due() error {
	x.w.depart()
	for len(x.timeline) > 0 && !x.begin.Add(x.timeline[0].at).After(x.w.now) {
		e := x.timeline[0]
		x.timeline = x.timeline[1:]
		if err := x.apply(e); err != nil {
			return err
		}
	}
	x.w.s.Tick()
	x.w.work()
	return nil
}

// next returns the time at which the run goes on, and false when the run is over.
func (x *simulation) next() (at time.Time, more bool) {
	see := func(t time.Time) {
		if !more || t.Before(at) {
			at, more = t, true
		}
	}
	if len(x.w.leaving) > 0 {
		see(x.w.leaving[0].at)
	}
	if len(x.timeline) > 0 {
		see(x.begin.Add(x.timeline[0].at))
	}
	play := more && (at.Sub(x.w.now) <= longest || !x.idle())
	if t, ok := x.w.s.Next(); ok && (play || x.hopeful() || x.w.s.Waiting() > 0) {
		see(t)
	}
	return at, more
}

// longest is the longest time for which the run plays retries of idle pods. A longer time passes in one step, because a
// grace period may be as long as 292 years and the queue retries every pod about every five minutes.
const longest = time.Hour

// idle reports whether every pod of the queue was tried after the last change of the cluster. Such a pod fails again until
// the next change.
func (x *simulation) idle() bool {
	idle := true
	x.w.s.Queue().Read(func(q *queue.Queue) {
		for _, st := range q.All(x.w.now) {
			idle = idle && (st.Place == queue.Gated || x.tried[key(st.Pod)] == x.w.changes)
		}
	})
	return idle
}

// hopeful reports whether a pod that may have a chance is backing off.
func (x *simulation) hopeful() (found bool) {
	x.w.s.Queue().Read(func(q *queue.Queue) {
		if q.Counts().Backoff == 0 {
			return
		}
		for _, st := range q.All(x.w.now) {
			found = found || st.Place == queue.Backoff || st.Place == queue.ErrorBackoff && x.tried[key(st.Pod)] != x.w.changes
		}
	})
	return found
}

// attempt is called at the beginning of each scheduling cycle.
func (x *simulation) attempt(pod *v1.Pod, c *cluster.Snapshot) {
	if k, ok := x.place[key(pod)]; ok && x.last[key(pod)].Pod == "" {
		x.tellGated(k)
	}
	x.tried[key(pod)] = x.w.changes
	if x.w.dies(pod) && key(pod) != x.o.explain { // the cycle drops it
		return
	}
	x.attempts++
	x.progress.Step(x.attempts, max(x.attempts, len(x.w.pending)))
	if key(pod) == x.o.explain && x.member(pod) {
		x.attempted = &attempted{pod, c.Fork()}
	}
	switch {
	case x.explain != nil && key(pod) == x.o.explain && !x.stopped:
		if next := x.nextSibling(pod, c); next != "" {
			x.o.explain = next
			return
		}
		x.stopped = true
		x.explain(pod, c)
	case x.o.detail.of(key(pod)):
		q, err := x.asks(pod, c)
		if err != nil {
			x.err = err
			return
		}
		if x.tables[key(pod)], err = q.table(); err != nil {
			x.warn("pod %s: -detail has no scores: %v", key(pod), err)
		}
	case x.o.Output == page.Form && x.o.explain == "" && x.verdicts.room(pod, c.Len()):
		if err := x.judge(pod, c); err != nil {
			x.warn("pod %s: the page has no verdict of every plugin: %v", key(pod), err)
		}
	}
}

// judge keeps what every plugin says about a pod, for a page.
func (x *simulation) judge(pod *v1.Pod, c *cluster.Snapshot) error {
	q, err := x.asks(pod, c)
	if err != nil {
		return err
	}
	table, err := q.table()
	if err != nil {
		return err
	}
	return x.verdicts.keep(pod, q.with, table)
}

// profile returns the profile of the pod's scheduler, or the first one.
func (x *simulation) profile(pod *v1.Pod) placement.Profile {
	profile := x.w.s.Profile(dump.SchedulerName(pod))
	if profile == nil {
		profile = x.w.s.Profile(x.first)
	}
	return profile.Placement()
}

// tellGated adds the entries of gated pods up to place k in the order of the queue.
func (x *simulation) tellGated(k int) {
	for len(x.gated) > 0 && x.place[key(x.gated[0])] <= k {
		x.add(x.gated[0], gatedEntry(x.gated[0]))
		x.gated = x.gated[1:]
	}
}

func gatedEntry(p *v1.Pod) entry {
	return entry{SchedulerName: dump.SchedulerName(p), Priority: preemption.Priority(p), Outcome: outcomeGated, Message: gatedMessage}
}

// result is called at the end of each attempt.
func (x *simulation) result(r scheduler.Result) {
	e := entry{
		SchedulerName: r.Profile, Attempt: r.Attempts, Priority: preemption.Priority(r.Pod), Outcome: string(r.Outcome), Node: r.Node,
		Message: r.Message, NominatedNode: r.Nominated, evaluated: r.Evaluated, feasible: r.Feasible, total: r.Total, Nodes: x.tables[key(r.Pod)],
	}
	e.Allocations = allocationsOf(r.Pod, r.Node, r.Devices)
	for _, v := range r.Victims {
		e.Victims = append(e.Victims, key(v))
		x.gaveWay[key(v)] = key(r.Pod)
	}
	delete(x.gaveWay, key(r.Pod))
	x.logf("%s: %s", key(r.Pod), e.line())
	x.add(r.Pod, e)
}

// line returns the attempt as the log writes it, without the pod.
func (e entry) line() string {
	out := "attempt: " + e.Outcome
	if e.Node != "" {
		out += " on " + e.Node
	}
	if e.Message != "" {
		out += ": " + e.Message
	}
	if e.NominatedNode != "" {
		out += fmt.Sprintf(" (nominated %s, victims %s)", e.NominatedNode, strings.Join(e.Victims, ","))
	}
	return out
}
