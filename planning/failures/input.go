package failures

import (
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/decider"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
)

// Input is a cluster before a failure. Only Snapshot is required.
type Input struct {
	// Snapshot has the nodes, the pods on them, storage objects, disruption budgets, ReplicaSets, ReplicationControllers and
	// StatefulSets. New forks it; afterwards the Snapshot may change.
	Snapshot *cluster.Snapshot
	// Deployments and Jobs are the workloads that a Snapshot does not hold.
	Deployments []*appsv1.Deployment
	Jobs        []*batchv1.Job
	// Pending are pods that waited for a node before the failure. They compete with the pods that come back, and no result
	// counts them as consequences. A pod with status.nominatedNodeName holds room on that node as in v1.37. Pods with scheduling
	// gates and pods of other schedulers take no node.
	Pending []*v1.Pod
	// Profile decides; without filters and scores it is placement.DefaultProfile, which looks at every node unless Sampling says
	// otherwise. Its Volumes and Devices must be nil. A profile with v1.37's sampling keeps no work between pods on more than 100 nodes.
	Profile placement.Profile
	// Admission is what the API server reads when a controller makes a pod.
	Admission admission.Cluster
	// Quotas are the quotas before the failure, charged with all pods of the cluster. A pod that is lost gives back what it is charged,
	// and the pod that takes its place is charged and may be refused. New copies them. nil: no quotas.
	Quotas *admission.Quotas
	// Groups are the feature gates of groups of pods; nil: groups do not count. Otherwise the pods of a tree of groups are decided together
	// (placement.Placer.DecideGroup), and leave for others as their groups say. The Snapshot has the groups.
	Groups *podgroup.Gates
	// Now is the time of the failure, for budgets that remember disruptions.
	Now time.Time
}

// Planner answers questions about the failures of one cluster. New makes a Planner. Its methods may be called at the same
// time, and give the same answers whatever was asked before.
type Planner struct {
	in       Input
	base     *cluster.Snapshot // never changes; players fork it
	nodes    []string          // by slot order
	units    []*unit
	unitOf   map[*v1.Pod]*unit
	pending  []*v1.Pod
	budgets  []*budget
	matching *disruption.Budgets // indexes of budgets by labels

	mu   sync.Mutex
	idle []*player
}

var errNoSnapshot = fmt.Errorf("failures: %w", cluster.ErrNoSnapshot)

// New returns a [Planner]. The errors are [cluster.ErrNoSnapshot], those of Profile.Validate, those of [workload.Make] for an object that the
// API server refuses, and an error for a nil pod of [Pending], for a waiting pod with the name of another pod, and for a profile that
// has Volumes or Devices. O(cluster).
func New(in Input) (*Planner, error) {
	if in.Snapshot == nil {
		return nil, errNoSnapshot
	}
	var err error
	if in.Profile, err = decider.Profile("failures", "every scenario", in.Profile); err != nil {
		return nil, err
	}
	in.Quotas = in.Quotas.Clone()
	p := &Planner{in: in, base: in.Snapshot.Fork(), unitOf: map[*v1.Pod]*unit{}}
	if p.pending, err = decider.Pending("failures", p.base, in.Pending); err != nil {
		return nil, err
	}
	slices.SortStableFunc(p.pending, func(a, b *v1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	for i := range p.base.Len() {
		if n := p.base.Node(i); n != nil {
			p.nodes = append(p.nodes, n.Name)
		}
	}
	if err := p.group(); err != nil {
		return nil, err
	}
	p.watchBudgets()
	return p, nil
}

// schedules reports whether the planner's profile decides about the pod.
func (p *Planner) schedules(pod *v1.Pod) bool {
	return p.in.Profile.Schedules(pod)
}

// take returns a player that no one else uses.
func (p *Planner) take() *player {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		x := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return x
	}
	s := p.base.Fork()
	placer := must.Get(placement.NewPlacer(s, p.in.Profile))
	return &player{Planner: p, snapshot: s, placer: placer, admitted: map[unitKey]*v1.Pod{}}
}

// put gives a player back.
func (p *Planner) put(x *player) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, x)
}
