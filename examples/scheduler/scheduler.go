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
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/filter/volume"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/queue"
)

// Client is what the scheduler asks of the API server. It is called by several goroutines.
type Client interface {
	// Pod returns the pod as it is now, nil when it is gone. It is also called under the lock of the queue, so that neither
	// it nor who shares a lock with it may call the scheduler meanwhile.
	Pod(namespace, name string) *v1.Pod
	// Bind assigns the pod to a node.
	Bind(ctx context.Context, pod *v1.Pod, node string) error
	// PatchStatus writes the parts of the pod's status that the patch has.
	PatchStatus(ctx context.Context, pod *v1.Pod, patch StatusPatch) error
	// BindVolumes writes what a decision says (volume.Decision.Objects) and returns once the claims are bound and the
	// scheduler has been told so.
	BindVolumes(ctx context.Context, pod *v1.Pod, d volume.Decision) error
	// Delete deletes the pod; its own grace period counts.
	Delete(ctx context.Context, pod *v1.Pod) error
}

// ErrGone is what a Client says of a pod that is not there any more.
var ErrGone = errors.New("pod not found")

// StatusPatch is a change of a pod's status. nil fields stay as they are.
type StatusPatch struct {
	Condition     *v1.PodCondition
	NominatedNode *string
}

// Recorder takes the events that people read: type Normal or Warning, reason, action, note.
type Recorder interface {
	Event(pod *v1.Pod, kind, reason, action, note string)
}

// Outcome is how an attempt ended.
type Outcome string

// The outcomes.
const (
	Scheduled       Outcome = "Scheduled"
	Rejected        Outcome = "Unschedulable"
	SchedulingError Outcome = "Error"
)

// Result is an attempt that ended: the pod was bound, or went back to the queue.
type Result struct {
	Pod     *v1.Pod // as it was when it was popped
	Profile string
	Outcome Outcome
	Node    string // when scheduled
	Message string // otherwise; "" when all Bind plugins skipped the pod
	// Nominated and Victims are what a PostFilter plugin achieved.
	Nominated string
	Victims   []*v1.Pod
	// Evaluated and Feasible count nodes; Total is the score of the chosen one, 0 when there was no choice.
	Evaluated, Feasible int
	Total               int64
	Attempts            int
}

// Options configures a scheduler. Client is required.
type Options struct {
	Client Client
	// Profiles are what the schedulerNames mean; none is the default profile.
	Profiles []Profile
	// Plugins are beside the default plugins; nil: none.
	Plugins Registry
	// Extenders in the order of the configuration.
	Extenders []Extender
	// PercentageOfNodesToScore of profiles that have none of their own; 0 is the adaptive share.
	PercentageOfNodesToScore int32
	// InitialBackoff, MaxBackoff and Leftover are the queue's; zero and nil are the defaults 1 s, 10 s and 5 min.
	InitialBackoff time.Duration
	MaxBackoff     *time.Duration
	Leftover       time.Duration
	// PluginTimeout bounds every call of a plugin that is not the library's, of Client, Extenders and Recorder, and of
	// Budgets, Tie, OnAttempt, OnMove, OnResult and OnError. 0 is no bound. A call that does not answer in time has failed.
	// What it does later should touch nothing but its own. While PreEnqueue, Less, a hint, OnMove or Client.Pod is waited
	// for, the queue may stand still. Client.BindVolumes is bounded too: allow for the time that the volumes take.
	PluginTimeout time.Duration
	// AssumeTTL drops a pod from the cache whose binding has finished that long ago and was never seen; 0 does not.
	AssumeTTL time.Duration
	// Clock is the time; nil is the clock on the wall.
	Clock Clock
	// Go runs a task beside the scheduling cycles: a binding cycle, the actions of a preemption. nil starts a goroutine for
	// each. A simulator keeps them and runs them one after the other.
	Go func(task func())
	// OneByOne runs every plugin on its own also where the library could decide all at once: slower, but then Metrics sees
	// each of them.
	OneByOne bool
	// Tie chooses among n nodes of equal total; nil takes the first.
	Tie func(n int) int
	// Budgets are the disruption budgets that preemption respects; nil takes them from the cluster.
	Budgets func() *disruption.Budgets
	// Recorder, Metrics, OnAttempt, OnMove, OnResult and OnError are told what happens; each may be nil. OnAttempt is called
	// in the scheduling cycle before the first plugin, with the cluster that the pod finds; it changes nothing. OnMove is
	// called under the lock of the queue, and OnResult possibly by several goroutines.
	Recorder  Recorder
	Metrics   Metrics
	OnAttempt func(pod *v1.Pod, c *cluster.Snapshot)
	OnMove    func(m queue.Move, now time.Time)
	OnResult  func(Result)
	OnError   func(error)
}

// Scheduler schedules pods: one scheduling cycle after the other, any number of binding cycles beside them. What happens
// in the cluster is told to it through AddPod, UpdateNode and so on, by any goroutine.
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
	volumes  *placement.Volumes
	next     int // where the search for nodes begins

	mu         sync.Mutex
	binding    map[types.UID]bool // pods in PreBind; true: cancelled by preemption
	preempting map[types.UID]bool // pods whose victims are being deleted
	namespaces *namespaces
	inflight   map[string]bool // labels of InflightEvents that were set; guarded by the queue's lock
	calls      calls
	unmeasured atomic.Bool // Metrics has panicked
	attempts   atomic.Uint64
	tasks      atomic.Int64
}

// New returns a scheduler over a cluster, which nobody else may use from then on. Pods of the snapshot count as bound.
func New(snapshot *cluster.Snapshot, o Options) (*Scheduler, error) {
	if o.Client == nil {
		return nil, errors.New("client: Required value")
	}
	s := &Scheduler{
		o: o, clock: o.Clock, snapshot: snapshot, waiting: newWaitingRoom(), cache: newCache(o.AssumeTTL),
		profiles: map[string]*Framework{}, binding: map[types.UID]bool{}, preempting: map[types.UID]bool{}, inflight: map[string]bool{},
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
	s.namespaces = newNamespaces(snapshot)
	s.volumes = placement.NewVolumes(snapshot)
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
		InitialBackoff: s.o.InitialBackoff, MaxBackoff: s.o.MaxBackoff, Leftover: s.o.Leftover,
		Profiles: map[string]queue.Profile{}, Less: s.profiles[s.o.Profiles[0].SchedulerName].less(),
		Known: s.known,
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

// Profile returns the framework of a schedulerName, nil when there is none.
func (s *Scheduler) Profile(name string) *Framework { return s.profiles[name] }

// Waiting returns the number of pods that wait on Permit.
func (s *Scheduler) Waiting() int { return len(s.waiting.list()) }

// Queue returns the queue, to be looked at.
func (s *Scheduler) Queue() *Queue { return s.queue }

// View lets a function look at the cluster as the next scheduling cycle will see it, between two cycles. It must keep
// nothing. Changes of its own must be taken back before it returns.
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
