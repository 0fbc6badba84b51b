package placement

import (
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter/volume"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/view"
)

// Volumes is what the volume plugins of one cluster share: the decisions about volumes that the API objects do not show
// yet, and which volumes the running pods use. A Plan makes one for itself unless its plugins come with one; plans that
// place pods in the same cluster, such as those of several profiles, must share one. It follows the cluster and belongs to
// one goroutine.
//
// A decision about volumes has three steps, as in kube-scheduler:
//
//   - Reserve, when the pod is assumed on its node: the next pod cannot take the volumes of this pod.
//   - PreBind: the caller writes the objects of volume.Decision.Objects to the API, and waits until the volumes are bound.
//   - Unreserve, when the pod could not be bound, and also when the API shows the written objects.
//
// Placer.Assume and Placer.Forget do the first and the last step for callers who only try. A reservation of Assume also ends
// when the pod leaves the snapshot in another way, such as by a Rollback.
type Volumes struct {
	cluster Cluster
	log     volumeLog // nil: a cluster without a change log
	ledger  *volume.Ledger
	assumed []*v1.Pod // with reservations that end when they leave the snapshot

	at      uint64 // version that what follows is of
	usage   *volume.Usage
	users   map[int][]*v1.Pod // by slot, the pods that the usage counts
	classes volume.Table[*v1.PersistentVolume]
}

// volumeLog is a cluster that says what changed, and which pods it has.
type volumeLog interface {
	changeLog
	Pod(namespace, name string) *v1.Pod
}

// NewVolumes returns Volumes over a cluster, without reservations. The cluster must not be nil.
func NewVolumes(c Cluster) *Volumes {
	v := newVolumes(c)
	v.ledger = volume.NewLedger(v.objects())
	return v
}

func newVolumes(c Cluster) *Volumes {
	v := &Volumes{cluster: c}
	if v.log, _ = c.(volumeLog); v.log != nil {
		v.at = v.log.Version()
	}
	return v
}

// fork returns Volumes with the same reservations over another cluster, such as a fork of the snapshot. Later changes of one
// do not show in the other. O(reservations).
func (v *Volumes) fork(c Cluster) *Volumes {
	f := newVolumes(c)
	v.follow()
	f.ledger, f.assumed = v.ledger.Clone(f.objects()), slices.Clone(v.assumed)
	return f
}

// Objects returns the storage objects with all reservations applied.
func (v *Volumes) Objects() volume.Objects {
	v.follow()
	return v.ledger.Objects()
}

// Reserve records the decision for a pod that goes to a slot, so that no other pod takes its volumes. An empty decision is no
// error and records nothing; with another decision the pod must not be nil. The error is ErrReserved when the pod has a reservation already, or when a volume or claim was
// reserved in another way since the decision; nothing has changed then.
func (v *Volumes) Reserve(pod *v1.Pod, slot int, d volume.Decision) error {
	if d.Empty() {
		return nil
	}
	v.follow()
	if err := v.ledger.Assume(identified(pod), v.cluster.Node(slot), d); err != nil {
		return kindError{err, ErrReserved}
	}
	return nil
}

// assume is Reserve for a pod of the snapshot. The reservation ends when the pod leaves the snapshot.
func (v *Volumes) assume(pod *v1.Pod, slot int, d volume.Decision) error {
	err := v.Reserve(pod, slot, d)
	if err == nil && !d.Empty() {
		v.assumed = append(v.assumed, pod)
	}
	return err
}

// Unreserve ends the reservation of a pod, and reports whether there was one. A nil pod has none.
func (v *Volumes) Unreserve(pod *v1.Pod) bool {
	if pod == nil {
		return false
	}
	uid := identified(pod).UID
	v.assumed = slices.DeleteFunc(v.assumed, func(p *v1.Pod) bool { return identified(p).UID == uid })
	return v.ledger.Forget(uid)
}

// Reserved returns what is reserved for the pod; false when nothing is. Nothing is reserved for a nil pod.
func (v *Volumes) Reserved(pod *v1.Pod) (volume.Decision, bool) {
	if pod == nil {
		return volume.Decision{}, false
	}
	v.follow()
	return v.ledger.Decision(identified(pod).UID)
}

// identified returns the pod, with its name as the UID when it has none.
func identified(pod *v1.Pod) *v1.Pod {
	if pod.UID != "" {
		return pod
	}
	p := *pod
	p.UID = types.UID(podinfo.Name(pod))
	return &p
}

// objects returns the objects of the cluster without reservations.
func (v *Volumes) objects() volume.Objects {
	o := volumeObjectsOf(v.cluster)
	if o.PersistentVolumes != nil && v.log != nil {
		o.PersistentVolumes = byClass{o.PersistentVolumes, v}
	}
	return o
}

// inUse returns the volumes that running pods use, up to date. O(pods) at first and after a change of nodes or objects, then
// O(pods of the slots that changed).
func (v *Volumes) inUse() *volume.Usage {
	v.follow()
	if v.usage == nil || v.log == nil {
		v.usage, v.users = volume.NewUsage(v.cluster, v.Objects()), map[int][]*v1.Pod{}
		for i := range v.cluster.Len() {
			if pods := v.usersOf(i); len(pods) > 0 {
				v.users[i] = pods
			}
		}
	}
	return v.usage
}

// follow reads the change log: it drops what is out of date and counts changed slots again.
func (v *Volumes) follow() {
	if v.log == nil || v.at == v.log.Version() {
		return
	}
	var slots []int
	fresh, left := false, false
	known := v.log.Since(v.at, func(events []cluster.Event) {
		for _, e := range events {
			if e.Node == view.Unread {
				continue
			}
			fresh, left = fresh || e.Set < 0, left || e.N < 0
			if v.usage != nil && !fresh {
				slots = append(slots, int(e.Node))
			}
		}
	})
	v.at = v.log.Version()
	if fresh || !known {
		v.usage, v.users, v.classes = nil, nil, nil
	}
	if left || fresh || !known {
		v.release()
	}
	if v.usage == nil {
		return
	}
	slices.Sort(slots)
	for _, i := range slices.Compact(slots) {
		v.recount(i)
	}
}

// release ends the reservations of assumed pods that have left the snapshot.
func (v *Volumes) release() {
	v.assumed = slices.DeleteFunc(v.assumed, func(p *v1.Pod) bool {
		gone := v.log.Pod(p.Namespace, p.Name) == nil
		if gone {
			v.ledger.Forget(identified(p).UID)
		}
		return gone
	})
}

// recount brings the usage of one slot up to date.
func (v *Volumes) recount(i int) {
	before, now := v.users[i], v.usersOf(i)
	for _, p := range before {
		if !slices.Contains(now, p) {
			v.usage.Remove(p, i)
		}
	}
	for _, p := range now {
		if !slices.Contains(before, p) {
			v.usage.Add(p, i)
		}
	}
	v.users[i] = now
}

// usersOf returns the pods of a slot whose volumes count.
func (v *Volumes) usersOf(i int) []*v1.Pod {
	var out []*v1.Pod
	for p := range v.cluster.Pods(i) {
		if !volume.Ignores(p) {
			out = append(out, p)
		}
	}
	return out
}

// orNew returns v, or new Volumes over the cluster when v is nil.
func (v *Volumes) orNew(c Cluster) *Volumes {
	if v == nil {
		return NewVolumes(c)
	}
	return v
}

// byClass is the volumes of a cluster with a change log, and an index by class that follows the log.
type byClass struct {
	volume.Table[*v1.PersistentVolume]
	v *Volumes
}

// OfClass yields the volumes of one class by name.
func (t byClass) OfClass(class string) iter.Seq[*v1.PersistentVolume] {
	return t.index().(interface {
		OfClass(string) iter.Seq[*v1.PersistentVolume]
	}).OfClass(class)
}

// CandidatesFor yields the volumes of one class that a claim may take.
func (t byClass) CandidatesFor(class, namespace, claim string) iter.Seq[*v1.PersistentVolume] {
	return t.index().(interface {
		CandidatesFor(class, namespace, claim string) iter.Seq[*v1.PersistentVolume]
	}).CandidatesFor(class, namespace, claim)
}

func (t byClass) index() volume.Table[*v1.PersistentVolume] {
	t.v.follow()
	if t.v.classes == nil {
		t.v.classes = volume.List(slices.Collect(t.All())...)
	}
	return t.v.classes
}
