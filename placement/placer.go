package placement

import (
	"errors"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/internal/podinfo"
	volumetracker "github.com/podberth/podberth/volumes/tracker"
)

// Placer is a [Plan] that can also place pods: it changes its snapshot. [NewPlacer] makes a Placer; the zero value is not usable.
// A Placer belongs to one goroutine, and nobody else may use the snapshot during a call. When a method returns an error, the
// snapshot and the reservations are as before. Assume and Forget return an error for a nil pod; the other methods panic.
type Placer struct {
	*Plan
	snapshot *cluster.Snapshot
}

// NewPlacer returns a [Placer] over a snapshot, which must not be nil. A Placer changes its cluster and takes changes back, so that a
// [View] or a [Cluster] of the caller's is not enough: [cluster.New] makes a snapshot of the same nodes and pods, and copies none of them.
// To decide without placing, [New] takes any Cluster, and Rows makes one of a View. The error is that of [Profile.Validate].
func NewPlacer(s *cluster.Snapshot, profile Profile) (*Placer, error) {
	plan, err := New(s, profile)
	if err != nil {
		return nil, err
	}
	return &Placer{plan, s}, nil
}

// Assume puts the pod on the node of the decision, in the snapshot and in the plan's Volumes, so that the next decision
// counts the pod. The errors are
//
//   - a *NoPlaceError for a decision without a node,
//   - the error of [cluster.Snapshot.Assume]: [cluster.ErrPlaced], [cluster.ErrUnknownNode], or the pod is nil or has finished,
//   - ErrReserved of volumes/tracker when the pod has a reservation already, or another pod has reserved one of the volumes or claims,
//   - v1.37's text for a ResourceClaim that was deleted, allocated or deallocated since the decision.
//
// Assume writes the allocations of the pod's ResourceClaims into the snapshot, as PreBind does.
func (p *Placer) Assume(pod *v1.Pod, d Decision) error {
	if !d.Placed() {
		return &NoPlaceError{Failure: d.Failure, pod: podinfo.Name(pod)}
	}
	return p.put(pod, d, func() error { return p.profile.Devices.Assume(p.snapshot, pod, d.Devices) })
}

// put is Assume with another way to count the devices.
func (p *Placer) put(pod *v1.Pod, d Decision, count func() error) error {
	if err := p.snapshot.Assume(pod, d.Slot); err != nil {
		return err
	}
	if err := p.profile.Volumes.Assume(pod, d.Slot, d.Volumes); err != nil {
		return errors.Join(err, p.snapshot.Remove(pod))
	}
	if err := count(); err != nil {
		p.profile.Volumes.Unreserve(pod)
		return errors.Join(err, p.snapshot.Remove(pod))
	}
	return nil
}

// Forget takes back what Assume did, in the snapshot, in the volumes and in the claims. The error is the *field.Error of [cluster.Snapshot.Remove]: the pod is on no node, or is nil.
func (p *Placer) Forget(pod *v1.Pod) error {
	if err := p.snapshot.Remove(pod); err != nil {
		return err
	}
	p.profile.Volumes.Unreserve(pod)
	return p.profile.Devices.Forget(p.snapshot, pod)
}

// PlaceAll places all the pods or none of them. It decides about one pod after the other, and each decision counts the pods
// before. With a nil error all pods are assumed, as by Assume, and the decisions are in the order of the pods. The error is
//
//   - a *NoPlaceError for the first pod that has no place,
//   - the *field.Error of [cluster.Snapshot.Assume] for a pod that is on a node already, such as a pod that the list has twice.
//
// With an error no pod is assumed, and the last decision is about the pod of the error. An empty list places nothing.
func (p *Placer) PlaceAll(pods []*v1.Pod, o Options) ([]Decision, error) {
	mark := p.snapshot.Mark()
	var decisions []Decision
	for _, pod := range pods {
		d := p.Decide(pod, o)
		o.Next = d.Next
		decisions = append(decisions, d)
		if err := p.Assume(pod, d); err != nil {
			p.snapshot.Rollback(mark)
			return decisions, err
		}
	}
	p.snapshot.Commit(mark)
	return decisions, nil
}

// WithNodes returns a Placer over a fork of the snapshot that has more nodes, for questions about nodes that do not exist
// yet. Reservations of volumes and devices hold in the fork too. The Placer itself and its snapshot stay as they are. The error wraps a
// *field.Error: [cluster.ErrDuplicate] for a node whose name is taken, [field.ErrorTypeRequired] for a nil node or a node
// without a name.
func (p *Placer) WithNodes(nodes ...*v1.Node) (*Placer, error) {
	fork := p.snapshot.Fork()
	for k, n := range nodes {
		if n != nil && fork.Slot(n.Name) >= 0 {
			return nil, kindError{field.Duplicate(field.NewPath("nodes").Index(k).Child("metadata", "name"), n.Name), cluster.ErrDuplicate}
		}
		if err := fork.Set(n); err != nil {
			return nil, err
		}
	}
	profile := p.profile
	profile.Volumes, profile.Devices = profile.Volumes.Fork(fork, volumetracker.Of(fork)), profile.Devices.Fork(fork, tracker.Of(fork))
	return NewPlacer(fork, profile)
}
