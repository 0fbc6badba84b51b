package tracker

import (
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/volumes"
)

// A decision about volumes has three steps, as in kube-scheduler:
//
//   - Reserve, when the pod is assumed on its node: the next pod cannot take the volumes of this pod.
//   - PreBind: the caller writes the objects of volumes.Decision.Objects to the API, and waits until the volumes are bound.
//   - Unreserve, when the pod could not be bound, and also when the API shows the written objects.

// ErrReserved is the error of Reserve and Assume for a pod that has a reservation already, and for a volume or claim that has
// been reserved in another way since the decision. Decide again.
var ErrReserved = errors.New("volumes are reserved already")

// Reserve records the decision for a pod that goes to a slot, so that no other pod takes its volumes. An empty decision is no
// error and records nothing; with another decision the pod must not be nil. The error is [ErrReserved] when the pod has a
// reservation already, or when a volume or claim was reserved in another way since the decision; nothing has changed then.
func (t *Tracker) Reserve(pod *v1.Pod, slot int, d volumes.Decision) error {
	if d.Empty() {
		return nil
	}
	t.follow()
	if err := t.ledger.Assume(identified(pod), t.cluster.Node(slot), d); err != nil {
		return reservedError{err}
	}
	return nil
}

// Assume is Reserve for a pod of the snapshot. The reservation also ends when the pod leaves the snapshot, such as by a
// Rollback.
func (t *Tracker) Assume(pod *v1.Pod, slot int, d volumes.Decision) error {
	err := t.Reserve(pod, slot, d)
	if err == nil && !d.Empty() {
		t.assumed = append(t.assumed, pod)
	}
	return err
}

// Unreserve ends the reservation of a pod, and reports whether there was one. A nil pod has none.
func (t *Tracker) Unreserve(pod *v1.Pod) bool {
	if pod == nil {
		return false
	}
	uid := podinfo.UID(pod)
	t.assumed = slices.DeleteFunc(t.assumed, func(p *v1.Pod) bool { return podinfo.UID(p) == uid })
	return t.ledger.Forget(uid)
}

// Reserved returns what is reserved for the pod; false when nothing is. Nothing is reserved for a nil pod.
func (t *Tracker) Reserved(pod *v1.Pod) (volumes.Decision, bool) {
	if pod == nil {
		return volumes.Decision{}, false
	}
	t.follow()
	return t.ledger.Decision(podinfo.UID(pod))
}

// release ends the reservations of assumed pods that have left the snapshot.
func (t *Tracker) release() {
	t.assumed = slices.DeleteFunc(t.assumed, func(p *v1.Pod) bool {
		gone := t.log.Pod(p.Namespace, p.Name) == nil
		if gone {
			t.ledger.Forget(podinfo.UID(p))
		}
		return gone
	})
}

// identified returns the pod, with its name as the UID when it has none.
func identified(pod *v1.Pod) *v1.Pod {
	if pod.UID != "" {
		return pod
	}
	p := *pod
	p.UID = podinfo.UID(pod)
	return &p
}

// reservedError is an error of the ledger that is also ErrReserved, for errors.Is.
type reservedError struct{ error }

// Is reports whether target is ErrReserved.
func (reservedError) Is(target error) bool { return target == ErrReserved }

// Unwrap returns the error that has the text.
func (e reservedError) Unwrap() error { return e.error }
