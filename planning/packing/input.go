package packing

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/decider"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
)

// Input is a cluster and a queue. Only Snapshot is required.
type Input struct {
	// Snapshot has the nodes, the pods on them, and the disruption budgets. Pack forks it.
	Snapshot *cluster.Snapshot
	// Pending is the queue. Pods that have a node, that terminate or that have finished are ignored.
	Pending []*v1.Pod
	// Profile decides; without filters it is placement.DefaultProfile over all nodes. Its Volumes and Devices must be nil.
	Profile placement.Profile
	// Movable reports whether a running pod may be moved or evicted; nil: all may. Pods of DaemonSets, static pods and terminating
	// pods stay whatever Movable says.
	Movable func(pod *v1.Pod) bool
	// Now is the time of the plan, for the preemptions of kube-scheduler.
	Now time.Time
}

// Options bound the search.
type Options struct {
	// Steps bounds the steps; 0: 20,000.
	Steps int
	// Stop is asked every hundred steps. The search ends when Stop returns true; nil: never.
	Stop func() bool
	// Seed chooses among equal insertions and the random moves.
	Seed uint64
	// Groups are the feature gates of groups of pods (package podgroup); nil: groups do not count. The snapshot has the groups.
	Groups *podgroup.Gates
}

// defaultSteps are the steps of a search when [Options.Steps] is 0.
const defaultSteps = 20_000

var errNoSnapshot = fmt.Errorf("packing: %w", cluster.ErrNoSnapshot)

// check validates the input and returns the profile and the queue, the highest priority and then the oldest first.
func (in *Input) check(o Options) (placement.Profile, []*v1.Pod, error) {
	p := in.Profile
	switch {
	case in.Snapshot == nil:
		return p, nil, errNoSnapshot
	case o.Steps < 0:
		return p, nil, errors.New("packing: steps: must not be negative")
	}
	if len(p.Filters) == 0 { // scores alone decide nothing
		p.Scores = nil
	}
	p, err := decider.Profile("packing", "the plan", p)
	if err != nil {
		return p, nil, err
	}
	var queue []*v1.Pod
	names := map[string]bool{}
	for k, pod := range in.Pending {
		if pod == nil {
			return p, nil, fmt.Errorf("packing: pending[%d]: Required value: must not be nil", k)
		}
		if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || cluster.Finished(pod) {
			continue
		}
		name := podinfo.Name(pod)
		if names[name] || in.Snapshot.Pod(pod.Namespace, pod.Name) != nil {
			return p, nil, fmt.Errorf("packing: pending[%d]: Duplicate value: %q", k, name)
		}
		names[name] = true
		queue = append(queue, pod)
	}
	slices.SortStableFunc(queue, func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(podinfo.Priority(b), podinfo.Priority(a)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
	})
	return p, queue, nil
}

// stays reports whether a running pod must stay on its node.
func (in *Input) stays(pod *v1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return pod.DeletionTimestamp != nil || podinfo.Static(pod) || podinfo.Mirror(pod) || owner != nil && owner.Kind == "DaemonSet" ||
		in.Movable != nil && !in.Movable(pod)
}

// budgets returns the disruption budgets of the snapshot.
func (in *Input) budgets() []*policyv1.PodDisruptionBudget {
	return slices.Collect(cluster.List[*policyv1.PodDisruptionBudget](in.Snapshot).All())
}
