package rollout

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/decider"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
)

// Input is a cluster before its nodes are replaced. Only Snapshot is required.
type Input struct {
	// Snapshot has the nodes, the pods on them, storage objects, disruption budgets, ReplicaSets, ReplicationControllers and
	// StatefulSets. New forks it; afterwards the Snapshot may change.
	Snapshot *cluster.Snapshot
	// Deployments and Jobs are workloads that a Snapshot does not hold. DaemonSets make the pods of surge nodes.
	Deployments []*appsv1.Deployment
	Jobs        []*batchv1.Job
	DaemonSets  []*appsv1.DaemonSet
	// Pending are pods that wait for a node. They are tried whenever a wave begins and when nodes have come. A pod with
	// status.nominatedNodeName holds room on that node as in v1.37: until it gets a node, or
	// finds none without waiting for victims there.
	Pending []*v1.Pod
	// Profile decides; without filters and scores it is placement.DefaultProfile, which looks at every node unless Sampling says
	// otherwise. Its Volumes and Devices must be nil.
	Profile placement.Profile
	// Admission is what the API server reads when a controller makes a pod.
	Admission admission.Cluster
	// Groups are the feature gates of groups of pods; nil: groups do not count. Otherwise the waiting pods of a tree of groups are decided
	// together, a new pod of a group counts with the pods of the group that are on nodes, and pods of a group with disruption mode All leave
	// in one wave or not at all, from whatever nodes. The Snapshot has the groups.
	Groups *podgroup.Gates
	// Now is the time at which the plan begins.
	Now time.Time
}

// Planner makes plans for one cluster. New makes a Planner. Its methods may be called at the same time.
type Planner struct {
	in      Input
	base    *cluster.Snapshot // never changes but for forks
	nodes   []string          // by slot
	waiting []*v1.Pod         // pods of the input that wait for a node
	units   map[unitKey]*unit
	scale   disruption.Scale
}

var errNoSnapshot = fmt.Errorf("rollout: %w", cluster.ErrNoSnapshot)

// New returns a [Planner]. The errors are [cluster.ErrNoSnapshot], those of Profile.Validate, those of [workload.Make] for an object that the
// API server refuses, and an error for a nil object, for two objects of one kind and name, for a waiting pod with the name of another
// pod, and for a profile that has Volumes or Devices. O(cluster).
func New(in Input) (*Planner, error) {
	if in.Snapshot == nil {
		return nil, errNoSnapshot
	}
	var err error
	if in.Profile, err = decider.Profile("rollout", "every plan", in.Profile); err != nil {
		return nil, err
	}
	p := &Planner{in: in, base: in.Snapshot.Fork()}
	if p.waiting, err = decider.Pending("rollout", p.base, in.Pending); err != nil {
		return nil, err
	}
	for i := range p.base.Len() {
		if n := p.base.Node(i); n != nil {
			p.nodes = append(p.nodes, n.Name)
		}
	}
	return p, p.group()
}

// Pool returns the names of the nodes that the selector matches, in the order of the slots. nil matches every node.
func (p *Planner) Pool(selector labels.Selector) []string {
	if selector == nil {
		return slices.Clone(p.nodes)
	}
	var out []string
	for _, name := range p.nodes {
		if selector.Matches(labels.Set(p.base.Node(p.base.Slot(name)).Labels)) {
			out = append(out, name)
		}
	}
	return out
}

// schedules reports whether the planner's profile decides about the pod.
func (p *Planner) schedules(pod *v1.Pod) bool {
	return p.in.Profile.Schedules(pod)
}
