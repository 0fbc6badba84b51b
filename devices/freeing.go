package devices

import (
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/resources"
)

// freeing is a [State] for which preemption can free devices. v1.37 does not see that: it takes a node without devices for the
// claims as a node where preemption cannot help. A freeing gives such a node the code Unschedulable, and its trials count the
// devices of an allocated claim as free when every pod of status.reservedFor is gone.
type freeing struct {
	*state
	objects Objects
}

// Freeing returns the state with the claims that victims use; package tracker asks for it. objects must not be nil.
func (s *state) Freeing(objects Objects) filter.Predicate { return &freeing{s, objects} }

// Check returns the verdict on slot i, as [State.Check] does, but preemption can help where devices are missing.
func (f *freeing) Check(i int) resources.Verdict { return freed(f.state.Check(i)) }

func freed(v resources.Verdict) resources.Verdict {
	if v == notAllocated {
		return notAllocatedNow
	}
	return v
}

// Kept is that of the state, for pods for which preemption can free devices.
func (f *freeing) Kept() engine.Kept { return f.keptAs(true, false) }

// NewTrial returns a trial without any pod removed. A trial searches once for each check, on the one node. It belongs to the
// goroutine of the allocator.
func (f *freeing) NewTrial() filter.Trial { return &freeingTrial{f: f, gone: map[types.UID]*v1.Pod{}} }

type freeingTrial struct {
	f    *freeing
	gone map[types.UID]*v1.Pod
}

var _ filter.Trial = (*freeingTrial)(nil)

func (t *freeingTrial) Add(pod *v1.Pod, _ int)    { delete(t.gone, podinfo.UID(pod)) }
func (t *freeingTrial) Remove(pod *v1.Pod, _ int) { t.gone[podinfo.UID(pod)] = pod }
func (t *freeingTrial) Reset()                    { clear(t.gone) }

func (t *freeingTrial) Check(i int) resources.Verdict {
	v := t.f.Check(i)
	if v != notAllocatedNow {
		return v
	}
	free := t.free()
	if len(free) == 0 {
		return v
	}
	s := t.f.state
	s.mu.Lock()
	defer s.mu.Unlock()
	ledger := s.allocator.ledger
	for _, c := range free {
		ledger.Remove(c, c.Status.Allocation)
	}
	defer func() {
		for _, c := range free {
			ledger.Add(c, c.Status.Allocation)
		}
		clear(s.left)
	}()
	clear(s.left)
	node := s.cluster.Node(i)
	provided, _ := s.pod.extended.provided(s.pod.asked, node)
	if ok, _ := s.searchFor(provided).solve(node); ok {
		return 0
	}
	return v
}

// free returns the allocated claims whose users are all gone.
func (t *freeingTrial) free() (out []*resourcev1.ResourceClaim) {
	seen := map[*resourcev1.ResourceClaim]bool{}
	for _, pod := range t.gone {
		claims, _ := PodClaims(pod, t.f.objects) // none when a claim of the victim is gone: nobody knows what the others hold
		for _, c := range claims {
			if seen[c] || c.Status.Allocation == nil || len(c.Status.ReservedFor) == 0 {
				continue
			}
			seen[c] = true
			left := false
			for _, r := range c.Status.ReservedFor {
				left = left || t.gone[r.UID] == nil
			}
			if !left {
				out = append(out, c)
			}
		}
	}
	return out
}
