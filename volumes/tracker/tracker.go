package tracker

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/follow"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/volumes"
)

// Tracker follows the volumes of one cluster: the decisions that the API objects do not show yet, and which volumes the
// running pods use. New makes a Tracker; the zero value is not usable. Plans that place pods in the same cluster, such as
// those of several profiles, must share a Tracker, because the reservations are in it.
type Tracker struct {
	cluster filter.Cluster
	log     changeLog // nil: a cluster without a change log
	ledger  *volumes.Ledger
	assumed []*v1.Pod // with reservations that end when they leave the snapshot

	cursor  follow.Cursor // what follows is of its version
	usage   *volumes.Usage
	users   map[int][]*v1.Pod // by slot, the pods that the usage counts
	classes volumes.Table[*v1.PersistentVolume]
}

// changeLog is a cluster that says what changed, and which pods it has; see cluster.Snapshot.
type changeLog interface {
	Version() uint64
	Since(version uint64, yield func([]cluster.Event)) bool
	Pod(namespace, name string) *v1.Pod
}

// New returns a tracker of a cluster and its objects, without reservations. A cluster with the change log and the pods of a
// [cluster.Snapshot] is followed; the pods of another cluster are counted again at each question. The cluster must not be nil.
// New reads nothing.
func New(c filter.Cluster, o volumes.Objects) *Tracker {
	t := over(c)
	t.ledger = volumes.NewLedger(t.indexed(o))
	return t
}

// over returns a tracker without a ledger.
func over(c filter.Cluster) *Tracker {
	t := &Tracker{cluster: c}
	if t.log, _ = c.(changeLog); t.log != nil {
		t.cursor = follow.At(t.log)
	}
	return t
}

// Fork returns a tracker with the same reservations over another cluster, such as a fork of the snapshot. Later changes of
// one do not show in the other. O(reservations).
func (t *Tracker) Fork(c filter.Cluster, o volumes.Objects) *Tracker {
	t.follow()
	f := over(c)
	f.ledger, f.assumed = t.ledger.Clone(f.indexed(o)), slices.Clone(t.assumed)
	return f
}

// Objects returns the storage objects with all reservations applied.
func (t *Tracker) Objects() volumes.Objects {
	t.follow()
	return t.ledger.Objects()
}

// Usage returns the volumes that running pods use, up to date. Ask again after each change of the cluster. O(pods) at first
// and after a change of nodes or objects, then O(pods of the slots that changed).
func (t *Tracker) Usage() *volumes.Usage {
	t.follow()
	if t.usage == nil || t.log == nil {
		t.usage, t.users = volumes.NewUsage(t.cluster, t.Objects()), map[int][]*v1.Pod{}
		for i := range t.cluster.Len() {
			if pods := t.usersOf(i); len(pods) > 0 {
				t.users[i] = pods
			}
		}
	}
	return t.usage
}

// follow reads the change log: it drops what is out of date and counts changed slots again.
func (t *Tracker) follow() {
	if t.log == nil || t.cursor == follow.At(t.log) { // most calls: the function below would be allocated
		return
	}
	var slots []int
	fresh, left := false, false
	known := t.cursor.Read(t.log, func(e *cluster.Event) {
		if e.Node == view.Unread {
			return
		}
		fresh, left = fresh || e.Set < 0, left || e.N < 0
		if t.usage != nil && !fresh {
			slots = append(slots, int(e.Node))
		}
	})
	if fresh || !known {
		t.usage, t.users, t.classes = nil, nil, nil
	}
	if left || fresh || !known {
		t.release()
	}
	if t.usage == nil {
		return
	}
	slices.Sort(slots)
	for _, i := range slices.Compact(slots) {
		t.recount(i)
	}
}

// recount brings the usage of one slot up to date.
func (t *Tracker) recount(i int) {
	before, now := t.users[i], t.usersOf(i)
	for _, p := range before {
		if !slices.Contains(now, p) {
			t.usage.Remove(p, i)
		}
	}
	for _, p := range now {
		if !slices.Contains(before, p) {
			t.usage.Add(p, i)
		}
	}
	t.users[i] = now
}

// usersOf returns the pods of a slot whose volumes count.
func (t *Tracker) usersOf(i int) []*v1.Pod {
	var out []*v1.Pod
	for p := range t.cluster.Pods(i) {
		if !volumes.Ignores(p) {
			out = append(out, p)
		}
	}
	return out
}
