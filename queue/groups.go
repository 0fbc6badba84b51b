package queue

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/podgroup"
)

// GroupOptions make the pods of a group one entry of the queue: that of the root of the group's tree, with all pods of the tree that
// wait. They are rules of v1.37 with the feature gate GenericWorkload on (PG2, PG7).
//
//   - A pod whose group, or a composite group above it, has no object is [Incomplete] until the object comes.
//   - The root is gated while a gate refuses one of its members.
//   - A failed root that no gate holds waits for no event: it rests and is tried again. Its rest grows with the number of its members.
//   - A pod that comes while its root is tried is [Pending] until ReturnRoot.
//
// Tell the queue of groups that come, change and go by [Move], after Objects has them: [Event.Resource] is "scheduling.k8s.io/PodGroup" or
// "scheduling.k8s.io/CompositePodGroup", and the objects are those of package podgroup. Tell it of each new pod by Move too
// ("UnscheduledPod", Add), after Add.
type GroupOptions struct {
	// Objects finds the groups as they are now.
	Objects podgroup.Objects
	// Gates say which parts of the API count.
	Gates podgroup.Gates
	// Known returns how many pods of a group the scheduler knows: those that wait and those on nodes, terminating pods included.
	Known func(g *podgroup.Group) int
}

// grouped reports whether a pod is a member of a group, so that it has no entry of its own.
func (q *Queue) grouped(pod *v1.Pod) bool {
	if q.o.Groups == nil {
		return false
	}
	_, ok := podgroup.Of(pod)
	return ok
}

// standIn returns the pod that stands for the root of a member's tree. The error says which object is missing.
func (q *Queue) standIn(pod *v1.Pod) (*v1.Pod, error) {
	g := q.o.Groups
	group, _ := podgroup.Of(pod)
	name, composite, err := podgroup.RootOf(g.Objects, pod.Namespace, group, g.Gates)
	if err != nil {
		return nil, err
	}
	out := &v1.Pod{}
	out.Namespace, out.Spec.SchedulerName = pod.Namespace, pod.Spec.SchedulerName
	spec := &podgroup.Spec{}
	if composite {
		c := g.Objects.Composite(pod.Namespace, name)
		out.Name, out.UID, spec = "compositepodgroup/"+name, c.UID, &c.Spec
	} else {
		x := g.Objects.Group(pod.Namespace, name)
		out.Name, out.UID, spec = "podgroup/"+name, x.UID, &x.Spec
	}
	priority := spec.EffectivePriority()
	out.Spec.Priority = &priority
	return out, nil
}

// addMember is add for a member of a group.
func (q *Queue) addMember(pod *v1.Pod, reason string, now time.Time) {
	if old := q.members[keyOf(pod)]; old != nil {
		q.leave(old, cause{reason: replaced}, now)
	}
	q.seq++
	e := &Entry{Timestamp: now, seq: q.seq}
	q.setPod(e, pod)
	q.home(e, cause{reason: reason}, now)
	q.nom.Nominate(pod, Nomination{})
}

// home puts a member that is nowhere, or returns from its attempt, to the others of its root.
func (q *Queue) home(e *Entry, c cause, now time.Time) {
	from := e.Place()
	q.members[keyOf(e.Pod)], e.since = e, now
	stand, err := q.standIn(e.Pod)
	root := q.cycling
	switch {
	case err != nil:
		e.place = Incomplete
	case root != nil && keyOf(root.Pod) == keyOf(stand):
		e.root, root.late = root, append(root.late, e)
	default:
		q.join(q.entries[keyOf(stand)], stand, e, c, now)
	}
	q.out = append(q.out, cause{reason: q.o.label(c.reason)}.move(e, from, e.Place()))
}

// join adds a member to a queued root; nil makes the root.
func (q *Queue) join(root *Entry, stand *v1.Pod, e *Entry, c cause, now time.Time) {
	if root == nil {
		root = &Entry{Timestamp: e.Timestamp, seq: e.seq}
		q.setRoot(root, stand)
	} else if root.place != Gated {
		q.take(root)
	}
	at, _ := slices.BinarySearchFunc(root.Members, e, compareMembers)
	e.root, root.Members = root, slices.Insert(root.Members, at, e)
	if root.place != Gated {
		q.enter(root, c, now)
	}
}

// enter puts a root that is new into active, and one that was taken back to where it was. A gate may send it to gated.
func (q *Queue) enter(root *Entry, c cause, now time.Time) {
	from, to := root.place, root.place
	if from == Nowhere {
		to = Active
	}
	if refused, by := q.gate(root); refused {
		to, c.plugin, c.err = Gated, by, root.GateErr
	}
	q.put(root, to, c, now)
	if from == to {
		q.out = q.out[:len(q.out)-1]
	}
}

// setRoot gives a root the pod that stands for it.
func (q *Queue) setRoot(root *Entry, stand *v1.Pod) {
	root.Pod, root.priority, root.profile = stand, *stand.Spec.Priority, q.profileOf(podinfo.SchedulerName(stand))
}

// leave takes a member away from its root, or from the incomplete pods. The gates of the other members of an active or resting root are
// asked again. A root without members goes.
func (q *Queue) leave(e *Entry, c cause, now time.Time) {
	from, root := e.Place(), e.root
	delete(q.members, keyOf(e.Pod))
	e.root, e.place = nil, Nowhere
	if root != nil {
		ask := root.place != InFlight && root.place != Gated && len(root.Members) > 1
		if ask {
			q.take(root)
		}
		is := func(x *Entry) bool { return x == e }
		root.Members, root.late = slices.DeleteFunc(root.Members, is), slices.DeleteFunc(root.late, is)
		switch {
		case ask:
			q.enter(root, c, now)
		case len(root.Members) == 0 && root.place != InFlight:
			q.drop(root, c)
		}
	}
	q.out = append(q.out, c.move(e, from, Nowhere))
}

// regroup looks for the groups of a namespace again: members whose groups came are queued as if they came now, with their timestamps,
// and members whose groups went are incomplete.
func (q *Queue) regroup(namespace, reason string, now time.Time) {
	var list []*Entry
	for key, e := range q.members {
		if key.Namespace != namespace {
			continue
		}
		if _, err := q.standIn(e.Pod); (err != nil) != (e.place == Incomplete) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *Entry) int { return cmp.Compare(a.seq, b.seq) })
	for _, e := range list {
		q.leave(e, cause{reason: reason}, now)
		q.home(e, cause{reason: reason}, now)
	}
}

// namespaceOfGroup returns the namespace of the group that an event brings or takes; "" for any other event.
func namespaceOfGroup(c *Change) string {
	if c.Event.Action&(Add|Delete) == 0 {
		return ""
	}
	for _, object := range []any{c.New, c.Old} {
		switch g := object.(type) {
		case *podgroup.Group:
			if g != nil {
				return g.Namespace
			}
		case *podgroup.Composite:
			if g != nil {
				return g.Namespace
			}
		}
	}
	return ""
}

// sortMembers sorts members as they are tried.
func sortMembers(members []*Entry) {
	slices.SortFunc(members, compareMembers)
}

func compareMembers(a, b *Entry) int { return podgroup.CompareMembers(a.asMember(), b.asMember()) }

func (e *Entry) asMember() podgroup.Member {
	return podgroup.Member{Pod: e.Pod, Attempts: e.Attempts, Timestamp: e.Timestamp, Order: e.seq}
}

// entryOf returns the queued entry that an attempt of the pod begins with: that of its root for a member. nil: there is none.
func (q *Queue) entryOf(pod *v1.Pod) *Entry {
	if e := q.entries[keyOf(pod)]; e != nil {
		return e
	}
	if e := q.members[keyOf(pod)]; e != nil && e.root != nil && e.root.place != InFlight {
		return e.root
	}
	return nil
}

// lookup returns the entry of a queued pod, or of a member that waits for its group or its root.
func (q *Queue) lookup(key types.NamespacedName) *Entry {
	if e := q.entries[key]; e != nil {
		return e
	}
	return q.members[key]
}

// updateMember is Update for a member of a group that is not in flight.
func (q *Queue) updateMember(old, new *v1.Pod, events []Event, now time.Time) {
	e := q.members[keyOf(new)]
	if e == nil {
		q.add(new, labelUpdate, now)
		return
	}
	q.setPod(e, new)
	q.nom.Update(old, new)
	root := e.root
	if root == nil {
		return
	}
	sortMembers(root.Members)
	for _, event := range events {
		if root.place != Gated || !q.gateHears(root.GatingPlugin, event) {
			continue
		}
		if v, by, err := q.judge(root, &Change{Event: event, Old: old, New: new}); v != skip {
			q.requeue(root, v, cause{event.String(), by, err}, now)
		}
	}
}
