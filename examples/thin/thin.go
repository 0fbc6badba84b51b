// Package thin is a scheduler in one file, [Scheduler], to be read from top to bottom. Left out, and in scheduler: extension points,
// profiles, Permit, extenders, metrics, a time limit for assumed pods, and a gate for pods whose victims leave.
//
//	See, SeePod -> queue -> One -> placer.Decide -> placer.Assume -> client.Bind, in the background
//	                 ^                  |                             |
//	                 +------ fail <-----+-----------------------------+
package thin

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
)

// Client is the API server. The scheduler calls Pod while it is locked, and the other methods from goroutines.
type Client interface {
	Pod(namespace, name string) *v1.Pod                                       // as an informer's cache has it; nil: gone
	Bind(ctx context.Context, pod *v1.Pod, d placement.Decision) error        // the claims as d.Volumes says, the pod to d.Node
	Evict(ctx context.Context, a preemption.Actions)                          // deletes the victims, clears the nominations
	Report(ctx context.Context, pod *v1.Pod, text string, n queue.Nomination) // the condition PodScheduled; n to status.nominatedNodeName
}

// Scheduler schedules the pods of one profile. Make one with [New]. It is safe for concurrent use.
type Scheduler struct {
	client  Client
	name    string // spec.schedulerName of the pods
	now     func() time.Time
	mu      sync.Mutex // protects all fields; bindings and evictions run without it
	cluster *cluster.Snapshot
	placer  *placement.Placer
	queue   *queue.Queue
	next    int            // where the next search for nodes begins
	wake    chan struct{}  // rouses Run
	tasks   sync.WaitGroup // bindings, evictions and reports that run
}

// New returns a scheduler over a cluster, which it owns from now on. The profile may have plugins of the caller. Pending pods
// come later, by SeePod.
func New(c *cluster.Snapshot, profile placement.Profile, client Client, now func() time.Time) (*Scheduler, error) {
	name := cmp.Or(profile.SchedulerName, v1.DefaultSchedulerName)
	placer, err := placement.NewPlacer(c, profile)
	events, unknown := profile.Registrations(c, release.Current)
	q, refused := queue.New(queue.Options{Profiles: map[string]queue.Profile{name: {Gates: []queue.Gate{queue.SchedulingGates()}, Events: events}}})
	return &Scheduler{client: client, name: name, now: now, cluster: c, placer: placer, queue: q, wake: make(chan struct{}, 1)}, errors.Join(err, unknown, refused)
}

// Run schedules pods until the context ends, then waits for what runs in the background.
func (s *Scheduler) Run(ctx context.Context) {
	defer s.tasks.Wait()
	for ctx.Err() == nil {
		for s.One(ctx) {
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-time.After(time.Second): // a backoff may have ended
		}
	}
}

// One makes one attempt to schedule a pod. It returns false when no pod is ready.
func (s *Scheduler) One(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.Advance(s.now())
	e, _ := s.queue.Pop(s.now())
	if e == nil {
		return false
	}
	o := placement.Options{Next: s.next}
	if s.queue.Nominations() > 0 {
		o.Nominated = func(i int) []*v1.Pod { return s.queue.NominatedFor(s.cluster.Node(i).Name) }
	}
	d := s.placer.Decide(e.Pod, o)
	s.next = d.Next
	if !d.Placed() {
		s.makeRoom(ctx, e, d.Failure, o)
	} else if err := s.placer.Assume(e.Pod, d); err != nil {
		s.fail(ctx, e, nil, queue.Nomination{Override: true}, err.Error())
	} else {
		s.queue.Nominate(e.Pod, queue.Nomination{Override: true}) // from here on the pod itself holds its room
		s.tasks.Go(func() { s.bind(ctx, e, d) })
	}
	return true
}

// bind binds an assumed pod. A pod whose binding fails gives back its room.
func (s *Scheduler) bind(ctx context.Context, e *queue.Entry, d placement.Decision) {
	err := s.client.Bind(ctx, e.Pod, d)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.queue.Done(e.Pod)
		return
	}
	if p := s.cluster.Pod(e.Pod.Namespace, e.Pod.Name); p != nil && p.Spec.NodeName == "" { // still assumed
		was := *e.Pod
		was.Spec.NodeName, err = d.Node, errors.Join(err, s.placer.Forget(e.Pod))
		s.move(&was, nil, queue.Event{Resource: "AssignedPod", Action: queue.Delete}) // it held room there
	}
	s.fail(ctx, e, nil, queue.Nomination{Override: true}, err.Error())
}

// makeRoom looks for pods of lower priority that leave, nominates the pod to their node and evicts them in the background.
func (s *Scheduler) makeRoom(ctx context.Context, e *queue.Entry, f *placement.Failure, o placement.Options) {
	if f.Err != nil {
		s.fail(ctx, e, nil, queue.Nomination{Override: true}, f.Text())
		return
	}
	budgets := disruption.NewBudgets(slices.Collect(cluster.List[*policyv1.PodDisruptionBudget](s.cluster).All()), disruption.BudgetOptions{})
	r := s.placer.Preempt(e.Pod, f, o, placement.PreemptOptions{Budgets: budgets, Now: s.now()})
	message := f.Message
	message.PostFilter = preemption.PostFilterText(release.Current, preemption.PostFilterOutcome{Preemption: r.Message, Node: r.Node, Victims: len(r.Victims)})
	do := r.Actions(e.Pod, s.queue.NominatedFor(r.Node))
	s.fail(ctx, e, f.Rejecters, queue.Nomination{Override: r.ClearNomination || r.Node != "", Node: r.Node}, message.String())
	s.tasks.Go(func() { s.client.Evict(ctx, do) })
}

// fail sends a pod back to the queue and reports why.
func (s *Scheduler) fail(ctx context.Context, e *queue.Entry, rejecters []string, n queue.Nomination, text string) {
	pod := s.client.Pod(e.Pod.Namespace, e.Pod.Name)
	if pod == nil || pod.UID != e.Pod.UID || pod.Spec.NodeName != "" {
		s.queue.Done(e.Pod)
		return
	}
	if _, err := s.queue.Return(e, queue.Failure{Rejecters: rejecters, Pod: pod, Nomination: n}, s.now()); err != nil {
		text += "; " + err.Error() // another pod of that name is queued
	}
	s.tasks.Go(func() { s.client.Report(ctx, pod, text, n) })
}

// SeePod takes in a change of a pod: old is nil for a new pod, new is nil for a deleted one.
func (s *Scheduler) SeePod(old, new *v1.Pod) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case new == nil || cluster.Finished(new):
		s.queue.Delete(old)
		if s.cluster.Remove(old) == nil || old != nil && old.Status.NominatedNodeName != "" { // it held room
			s.move(old, nil, queue.Event{Resource: "AssignedPod", Action: queue.Delete})
		}
	case new.Spec.NodeName != "" && (old == nil || old.Spec.NodeName == ""):
		s.queue.Delete(new)
		err = s.cluster.Set(new)
		s.move(nil, new, queue.Event{Resource: "AssignedPod", Action: queue.Add})
	case new.Spec.NodeName != "":
		err = s.cluster.Set(new)
		s.move(old, new, queue.PodUpdateEvents(old, new, release.Current)...)
	case s.cluster.Pod(new.Namespace, new.Name) == nil && new.Spec.SchedulerName == s.name: // not assumed
		_, err = s.queue.Update(old, new, s.now())
		s.move(nil, nil)
	}
	return err
}

// See takes in a change of another object in the same way. resource is the kind as [queue.Event] names it, such as Node.
func (s *Scheduler) See(resource string, old, new metav1.Object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := []queue.Event{{Resource: resource, Action: queue.Update}}
	if node, ok := new.(*v1.Node); ok && old != nil {
		events = queue.NodeUpdateEvents(old.(*v1.Node), node)
	} else if old == nil {
		events[0].Action = queue.Add
	} else if new == nil {
		events[0].Action = queue.Delete
	}
	defer s.move(old, new, events...)
	if new == nil {
		return s.cluster.Remove(old)
	}
	return s.cluster.Set(new)
}

// move reports events to the queue and wakes Run.
func (s *Scheduler) move(old, new any, events ...queue.Event) {
	for _, e := range events {
		s.queue.Move(queue.Change{Event: e, Old: old, New: new}, s.now())
	}
	select {
	case s.wake <- struct{}{}:
	default: // Run wakes already
	}
}
