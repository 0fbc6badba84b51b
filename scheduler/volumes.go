package scheduler

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/volumes"
)

// volumeBinding is VolumeBinding at all its points. It chooses the pod's volumes together with the node, reserves the
// volumes so that no other pod gets them, and binds the volumes before the pod is bound.
type volumeBinding struct {
	podFilter
	scores preScores // of a release that scores storage (rule L2.4)
}

// decided holds the decision about the pod's claims on the chosen node.
var decided = NewKey[volumes.Decision]("VolumeBinding decision")

func (p volumeBinding) libraryScore() *placement.Plugin {
	if p.plugin.Score == nil {
		return nil
	}
	return p.plugin
}

// PreScore returns Skip in a release that does not score by the capacity of volumes. In a release that does, every node is asked also
// for a pod without claims, and has score 0.
func (p volumeBinding) PreScore(ctx context.Context, s *State, pod *v1.Pod, nodes []*NodeInfo) *Status {
	if p.plugin.Score == nil {
		return NewStatus(Skip)
	}
	status := p.scores.PreScore(ctx, s, pod, nodes)
	if status.Code() == Skip {
		p.scores.key.Write(s, nil)
		return nil
	}
	return status
}

// Score asks the scorer.
func (p volumeBinding) Score(ctx context.Context, s *State, pod *v1.Pod, node *NodeInfo) (int64, *Status) {
	return p.scores.Score(ctx, s, pod, node)
}

// Reserve reserves the volumes for the pod.
func (p volumeBinding) Reserve(_ context.Context, s *State, pod *v1.Pod, node string) *Status {
	slot := p.h.s.snapshot.Slot(node)
	d, err := decided.Read(s)
	if err != nil {
		x, err := p.key.Read(s)
		if err != nil {
			return nil // the plan found nothing to do
		}
		b, ok := x.predicate.(interface {
			Bindings(i int) (volumes.Decision, bool)
		})
		if !ok {
			return nil // the pod has no claims
		}
		d, _ = b.Bindings(slot)
		decided.Write(s, d)
	}
	return AsStatus(p.h.s.volumes.Reserve(pod, slot, d))
}

// Unreserve releases the reserved volumes.
func (p volumeBinding) Unreserve(_ context.Context, _ *State, pod *v1.Pod, _ string) { p.release(pod) }

// release releases the reserved volumes at the start of the next scheduling cycle.
func (p volumeBinding) release(pod *v1.Pod) {
	s := p.h.s
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	s.cache.later(func(*cluster.Snapshot) error { s.volumes.Unreserve(pod); return nil })
}

// PreBindPreFlight returns Skip for pods whose claims are bound already.
func (volumeBinding) PreBindPreFlight(_ context.Context, s *State, _ *v1.Pod, _ string) (bool, *Status) {
	if d, err := decided.Read(s); err != nil || d.Empty() {
		return false, NewStatus(Skip)
	}
	return true, nil
}

// PreBind calls Client.BindVolumes and waits until the volumes are bound.
func (p volumeBinding) PreBind(ctx context.Context, s *State, pod *v1.Pod, _ string) *Status {
	d, err := decided.Read(s)
	if err == nil {
		err = p.h.s.bindVolumes(ctx, pod, d)
	}
	if err != nil {
		return AsStatus(err)
	}
	p.release(pod) // the cluster shows it now
	return nil
}
