package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/volumes"
	volumetracker "github.com/podberth/podberth/volumes/tracker"
)

// Client is the scheduler's access to the API server. Several goroutines call it.
type Client interface {
	// Pod returns the present version of the pod, nil if the pod is deleted. The scheduler also calls Pod under the lock
	// of the queue. Therefore Pod must not call the scheduler, and must not wait for a lock whose holder calls the
	// scheduler.
	Pod(namespace, name string) *v1.Pod
	// Bind assigns the pod to a node.
	Bind(ctx context.Context, pod *v1.Pod, node string) error
	// PatchStatus writes the fields of the patch to the pod's status.
	PatchStatus(ctx context.Context, pod *v1.Pod, patch StatusPatch) error
	// BindVolumes writes the objects of a decision (volumes.Decision.Objects). It returns after the claims are bound and
	// the changes were reported to the scheduler.
	BindVolumes(ctx context.Context, pod *v1.Pod, d volumes.Decision) error
	// WriteClaims writes what a pod's devices change in the API. It returns after the changes were reported to the scheduler, and
	// after the binding conditions of the devices are met for which it is asked to wait (devices.BindingReadiness).
	WriteClaims(ctx context.Context, pod *v1.Pod, w ClaimWrites) error
	// Delete deletes the pod with the pod's own grace period.
	Delete(ctx context.Context, pod *v1.Pod) error
}

// ClaimWrites are the changes of ResourceClaims at [PreBind], Unreserve or [PostFilter] of a pod.
type ClaimWrites struct {
	// Set are claims to write: finalizers, allocation and reservations. A claim without a UID is created, and a new claim
	// without a name gets one from the API server. When the writes fail, the Client deletes what it has created.
	Set []*resourcev1.ResourceClaim
	// Again returns what to write in the place of a claim of Set when the API server has a newer version of the claim. Its error ends
	// the attempt. nil: a conflict ends the attempt.
	Again func(claim, latest *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error)
	// Unreserve are claims that lose the pod's reservation, whatever else the API server has changed in them since.
	Unreserve []*resourcev1.ResourceClaim
	// Ready are claims of the pod whose devices must be ready before WriteClaims returns.
	Ready []*resourcev1.ResourceClaim
	// Delete are claims to delete, with their finalizers.
	Delete []*resourcev1.ResourceClaim
	// Mappings says which request of the last claim in Set serves which extended resource of which container. The Client writes
	// the mappings and the name of the claim into the pod's status.extendedResourceClaimStatus. nil changes nothing there.
	Mappings []v1.ContainerExtendedResourceRequest
}

// ErrGone is a [Client]'s error for a pod that does not exist any more.
var ErrGone = errors.New("pod not found")

// StatusPatch is a change of a pod's status. A nil field changes nothing.
type StatusPatch struct {
	Condition     *v1.PodCondition
	NominatedNode *string
}

// Recorder receives the events for users: type Normal or Warning, reason, action, note.
type Recorder interface {
	Event(pod *v1.Pod, kind, reason, action, note string)
}

// Outcome is the end of an attempt.
type Outcome string

// The outcomes.
const (
	Scheduled       Outcome = "Scheduled"
	Rejected        Outcome = "Unschedulable"
	SchedulingError Outcome = "Error"
)

// Result describes an attempt that ended: the pod was bound, or returned to the queue.
type Result struct {
	Pod     *v1.Pod // the version that was popped
	Profile string
	Outcome Outcome
	Node    string // when scheduled
	Message string // otherwise; "" when all Bind plugins skipped the pod
	// Nominated and Victims are the result of the PostFilter plugins.
	Nominated string
	Victims   []*v1.Pod
	// Evaluated and Feasible count nodes; Total is the score of the chosen node, 0 if the chosen node was the only
	// candidate.
	Evaluated, Feasible int
	Total               int64
	Attempts            int
	// Devices is what the pod's claims got, when scheduled.
	Devices devices.Allocation
}

// Options configures a scheduler. Client is required.
type Options struct {
	Client Client
	// Release is the release of kube-scheduler that the scheduler follows: the default plugins, the queue, preemption and binding
	// (docs/fidelity/versions). Plugins whose Args are set follow the release of their arguments.
	Release release.Version
	// Profiles are the profiles by schedulerName. Without profiles the scheduler has the default profile.
	Profiles []Profile
	// Plugins are added to the default plugins; nil adds none.
	Plugins Registry
	// Selectors compiles the CEL expressions of device classes and claims. Without Selectors a pod whose claims have selectors
	// fails.
	Selectors devices.SelectorCompiler
	// Extenders in the order of the configuration.
	Extenders []Extender
	// PercentageOfNodesToScore applies to profiles without their own percentage; 0 is the adaptive share.
	PercentageOfNodesToScore int32
	// InitialBackoff, MaxBackoff and Leftover are options of the queue; zero and nil are the defaults 1 s, 10 s and 5 min.
	InitialBackoff time.Duration
	MaxBackoff     *time.Duration
	Leftover       time.Duration
	// PluginTimeout bounds every call of a plugin that is not the library's, of Client, Extenders and Recorder, and of
	// Budgets, Tie, OnAttempt, OnMove, OnResult and OnError. 0 is no bound. A call that does not return in time has
	// failed; it should not change shared state after that. While PreEnqueue, Less, a hint, OnMove or Client.Pod runs, the
	// queue may be locked. Client.BindVolumes is bounded too: choose a bound that is longer than the binding of volumes
	// takes.
	PluginTimeout time.Duration
	// AssumeTTL is the time after which the cache drops an assumed pod whose binding has finished and was never seen. 0
	// keeps the pod.
	AssumeTTL time.Duration
	// ReadPod asks the API server for a pod whose AssumeTTL is over: nil when it is gone or replaced. A pod that was bound stays for
	// another AssumeTTL. A pod that was not bound leaves the cache and is tried again: the API server has lost its binding. nil drops
	// every pod unread, as kube-scheduler would.
	ReadPod func(pod *v1.Pod) (*v1.Pod, error)
	// Clock is the source of time; nil is the real time.
	Clock Clock
	// Go runs a task in parallel with the scheduling cycles: a binding cycle, or the actions of a preemption. nil starts a
	// goroutine for each task. A simulator keeps the tasks and runs them one after the other.
	Go func(task func())
	// Groups makes groups of pods count, with these gates (v1.37, feature gate GenericWorkload, off by default): the waiting pods of a
	// group are decided together. Client must be a GroupClient, and the filters and scores those of package placement, without
	// extenders. Report groups as objects of package podgroup by Set and Remove. nil: a pod of a group is a pod like others.
	Groups *podgroup.Gates
	// CompleteGroups searches for a placement of a group that finds no place one member after the other (package planning/gang, within its
	// DefaultSteps), before the group may preempt. v1.37 does not, and leaves such a group waiting. It counts with Groups.
	CompleteGroups bool
	// OneByOne calls every plugin separately, also in profiles for which a plan could decide. Attempts are slower, and
	// Metrics measures each plugin.
	OneByOne bool
	// Tie chooses among n nodes of equal total; nil chooses the first node.
	Tie func(n int) int
	// Budgets returns the disruption budgets that preemption considers; nil takes the budgets of the cluster.
	Budgets func() *disruption.Budgets
	// Recorder, Metrics, OnAttempt, OnMove, OnResult and OnError receive what the scheduler does; each may be nil.
	// OnAttempt is called in the scheduling cycle before the first plugin, with the cluster of the cycle, which it must
	// not change. OnMove is called under the lock of the queue. Several goroutines may call OnResult.
	Recorder  Recorder
	Metrics   Metrics
	OnAttempt func(pod *v1.Pod, c *cluster.Snapshot)
	OnMove    func(m queue.Move, now time.Time)
	OnResult  func(Result)
	OnError   func(error)
}

// Scheduler schedules pods: one scheduling cycle after the other, and any number of binding cycles in parallel. Callers
// report changes of the cluster with AddPod, UpdateNode and the similar methods, from any goroutine.
type Scheduler struct {
	o        Options
	clock    Clock
	queue    *Queue
	cache    *cache
	waiting  *waitingRoom
	profiles map[string]*Framework

	cycle    sync.Mutex // held by the scheduling cycle: guards what follows
	snapshot *cluster.Snapshot
	nodes    nodeList
	volumes  *volumetracker.Tracker
	devices  *tracker.Tracker
	groups   *groups // nil without Options.Groups
	next     int     // where the search for nodes begins

	pdbs        []*policyv1.PodDisruptionBudget
	disruptions *disruption.Budgets // of pdbs

	mu         sync.Mutex
	binding    map[types.UID]*preBinding // pods in PreBind, and those that failed there, until their room is back
	preempting map[types.UID]*v1.Pod     // preemptors, each with its last victim when only one is left
	namespaces *namespaces
	inflight   map[string]bool // labels of InflightEvents that were set; guarded by the queue's lock
	calls      calls
	unmeasured atomic.Bool // Metrics has panicked
	attempts   atomic.Uint64
	tasks      atomic.Int64
}

// New returns a scheduler of a cluster. From then on nobody else may use the snapshot. Pods of the snapshot count as
// bound.
func New(snapshot *cluster.Snapshot, o Options) (*Scheduler, error) {
	if o.Client == nil {
		return nil, errors.New("client: Required value")
	}
	s := &Scheduler{
		o: o, clock: o.Clock, snapshot: snapshot, waiting: newWaitingRoom(), cache: newCache(o.AssumeTTL),
		profiles: map[string]*Framework{}, binding: map[types.UID]*preBinding{}, preempting: map[types.UID]*v1.Pod{}, inflight: map[string]bool{},
	}
	if s.clock == nil {
		s.clock = WallClock{}
	}
	for i := range snapshot.Len() {
		for p := range snapshot.Pods(i) {
			s.cache.pods[p.UID] = &cached{pod: p}
		}
	}
	s.nodes.follow(snapshot, true)
	var err error
	if s.namespaces, err = newNamespaces(snapshot); err != nil {
		return nil, err
	}
	s.volumes = volumetracker.New(snapshot, volumetracker.Of(snapshot))
	if o.Groups != nil {
		if _, ok := o.Client.(GroupClient); !ok {
			return nil, errors.New("client: must have PatchGroup, because groups are given")
		}
		s.groups = newGroups(snapshot, s.namespaces, *o.Groups)
		s.cache.groups = s.groups
	}
	s.devices = tracker.New(snapshot, tracker.Of(snapshot))
	if err := s.makeProfiles(); err != nil {
		return nil, err
	}
	return s, s.makeQueue()
}

func (s *Scheduler) makeProfiles() error {
	registry := DefaultRegistry()
	if err := registry.Merge(s.o.Plugins); err != nil {
		return err
	}
	profiles := defaulted(s.o.Profiles)
	if err := checkProfiles(profiles); err != nil {
		return err
	}
	first := ""
	for k, p := range profiles {
		f, err := newFramework(s, p, registry)
		if err != nil {
			return fmt.Errorf("profile %q: %w", p.SchedulerName, err)
		}
		if k == 0 {
			first = p.SchedulerName
		} else if have, want := f.queueSort.Name(), s.profiles[first].queueSort.Name(); have != want {
			return fmt.Errorf("different queue sort plugins for profile %q: %q, first: %q", p.SchedulerName, have, want)
		}
		s.profiles[p.SchedulerName] = f
	}
	s.o.Profiles = profiles
	return nil
}

func (s *Scheduler) makeQueue() error {
	o := queue.Options{
		Release: s.o.Release, InitialBackoff: s.o.InitialBackoff, MaxBackoff: s.o.MaxBackoff, Leftover: s.o.Leftover,
		Profiles: map[string]queue.Profile{}, Less: s.profiles[s.o.Profiles[0].SchedulerName].less(),
		Known: s.known, Groups: s.groups.options(),
	}
	for name, f := range s.profiles {
		events, err := f.events()
		if err != nil {
			return err
		}
		if len(s.o.Extenders) > 0 {
			events = append(events, queue.UnregisteredEvents("Extender")...)
		}
		p := queue.Profile{Events: events}
		for _, plugin := range f.preEnqueue {
			p.Gates = append(p.Gates, f.gate(plugin))
		}
		if o.Groups != nil {
			p.Gates, p.Events = append(p.Gates, o.Groups.Gate()), append(p.Events, o.Groups.Events()...)
		}
		o.Profiles[name] = p
	}
	q, err := queue.New(o)
	if err != nil {
		return err
	}
	s.queue = NewQueue(q, s.clock, s.moved)
	s.queue.onError = s.report
	return nil
}

// Profile returns the framework of a schedulerName, nil if no profile has this name.
func (s *Scheduler) Profile(name string) *Framework { return s.profiles[name] }

// Waiting returns the number of pods that wait on [Permit].
func (s *Scheduler) Waiting() int { return len(s.waiting.list()) }

// Queue returns the scheduler's queue. The caller may only read it.
func (s *Scheduler) Queue() *Queue { return s.queue }

// View calls a function between two scheduling cycles, with the cluster of the next cycle. The function must not keep
// the cluster. It must undo its own changes before it returns.
func (s *Scheduler) View(look func(c *cluster.Snapshot)) {
	s.cycle.Lock()
	defer s.cycle.Unlock()
	if err := s.refresh(); err != nil {
		s.report(err)
	}
	look(s.snapshot)
}

func (s *Scheduler) refresh() error {
	nodes, err := s.cache.refresh(s.snapshot)
	s.nodes.follow(s.snapshot, nodes)
	return err
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

func compareNames(a, b *v1.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
