package failures

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/decider"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/release"
)

// player plays scenarios on a fork of the cluster, one at a time. Its placer keeps work between scenarios.
type player struct {
	*Planner
	snapshot *cluster.Snapshot
	placer   *placement.Placer
	observe  func(Attempt)       // nil: nobody hears
	admitted map[unitKey]*v1.Pod // a pod of each controller whose pods are alike
	scene
}

// scene is what one scenario needs.
type scene struct {
	shuffle  *rand.Rand // nil: the queue's order
	lost     map[string]bool
	items    []*item           // everything that was lost or displaced, in order
	of       map[*unit][]*item // the items of a unit
	placed   map[*v1.Pod]*item // by the new pod, once it was placed
	before   []*item           // pods of Input.Pending
	still    []*v1.Pod         // without a node at the end; nil: not asked yet
	active   []*item           // to try, in order
	failed   []*item           // tried without success
	changed  []*unit           // units that may make pods, in order
	left     map[*unit][]*v1.Pod
	waits    map[*unit]string
	arrivals int
	healthy  []int32             // by budget
	lowest   []int32             // the same right after the failure
	allowed  *disruption.Budgets // for preemption; nil when healthy has changed
	quotas   *admission.Quotas
	changes  int // placements and removals
	next     int // where the next search begins

	nominations *placement.Nominations
	vain        map[string]bool // trees of groups that made pods leave in vain, and preempt no more
}

// item is a pod that was lost, displaced or pending before, and the pod that takes its place.
type item struct {
	old      *v1.Pod
	from     string
	unit     *unit
	fate     Fate
	pod      *v1.Pod // nil: nobody has made it yet
	node     string
	instead  string // the pod that waited and has the node
	by       string // the preemptor
	arrival  int
	tried    int // changes at the last attempt
	failure  *placement.Failure
	refusal  error
	gate     string // what SchedulingGates says
	attempts int
}

// play plays a scenario and leaves the snapshot as it was.
func (x *player) play(s Scenario, shuffle *rand.Rand) Result {
	x.scene = scene{
		shuffle: shuffle, lost: map[string]bool{}, left: map[*unit][]*v1.Pod{}, waits: map[*unit]string{},
		of: map[*unit][]*item{}, placed: map[*v1.Pod]*item{}, vain: map[string]bool{}, healthy: x.healthyBefore(), quotas: x.in.Quotas.Clone(),
	}
	mark := x.snapshot.Mark()
	defer x.snapshot.Rollback(mark)
	x.lose(s.Nodes)
	x.lowest = slices.Clone(x.healthy)
	waiting := slices.DeleteFunc(slices.Clone(x.pending), func(pod *v1.Pod) bool {
		_, gated := filter.Gated(pod)
		return gated || !x.schedules(pod)
	})
	x.nominations = placement.NewNominations(x.snapshot, waiting)
	for _, pod := range waiting {
		it := &item{old: pod, unit: x.unitOf[pod], pod: pod, fate: Pending}
		x.before = append(x.before, it)
		x.enqueue(it)
	}
	x.remake()
	x.schedule()
	return x.result(s)
}

// lose removes the nodes with their pods.
func (x *player) lose(nodes []string) {
	for _, name := range nodes {
		x.lost[name] = true
	}
	for _, name := range nodes {
		slot := x.snapshot.Slot(name)
		pods := slices.SortedFunc(x.snapshot.Pods(slot), byName)
		for _, pod := range pods {
			x.remove(pod, name, "")
		}
		must.Do(x.snapshot.Remove(x.snapshot.Node(slot)))
	}
}

// remove takes a pod of the cluster off its node.
func (x *player) remove(pod *v1.Pod, from, by string) {
	must.Do(x.snapshot.Remove(pod))
	decider.ReleaseClaims(x.snapshot, pod)
	x.quotas.Refund(pod)
	x.changes++
	u := x.unitOf[pod]
	it := &item{old: pod, from: from, unit: u, by: by, fate: Gone}
	x.items = append(x.items, it)
	x.count(pod, -1)
	switch {
	case u == nil || pod.DeletionTimestamp != nil:
	case u.kind == "Node" || u.tied() && by == "":
		it.fate = Tied
	default:
		x.touch(u)
	}
	if u != nil {
		x.of[u] = append(x.of[u], it)
		x.left[u] = slices.DeleteFunc(x.leftOf(u), func(p *v1.Pod) bool { return p == pod })
	}
}

// leftOf returns the pods of a unit that exist, as a list of this scene.
func (x *player) leftOf(u *unit) []*v1.Pod {
	if list, ok := x.left[u]; ok {
		return list
	}
	return slices.Clone(u.pods)
}

// touch notes that a unit may make pods.
func (x *player) touch(u *unit) {
	at, found := slices.BinarySearchFunc(x.changed, u, func(a, b *unit) int { return cmp.Compare(a.place, b.place) })
	if !found {
		x.changed = slices.Insert(x.changed, at, u)
	}
}

// enqueue makes an item active.
func (x *player) enqueue(it *item) {
	it.arrival = x.arrivals
	x.arrivals++
	at, _ := slices.BinarySearchFunc(x.active, it, func(a, b *item) int {
		return cmp.Or(cmp.Compare(podinfo.Priority(b.pod), podinfo.Priority(a.pod)), cmp.Compare(a.arrival, b.arrival))
	})
	x.active = slices.Insert(x.active, at, it)
}

// maxAttempts is how often a pod is tried at most. Every preemption replaces pods by one of a higher priority, so a scenario
// ends by itself, unless a plugin contradicts itself; the limit makes an error of that.
const maxAttempts = 10000

// schedule tries the active pods in order. When none is active, the StatefulSets go on, and then the failed pods are tried
// again if the cluster has changed since.
func (x *player) schedule() {
	for {
		for len(x.active) > 0 {
			it := x.active[0]
			x.active = x.active[1:]
			if it.attempts++; it.attempts > maxAttempts {
				must.Do(fmt.Errorf("pod %s: %w", podinfo.Name(it.pod), errLoop))
			}
			if x.grouped(it) {
				x.attemptGroup(it)
			} else {
				x.attempt(it)
			}
			x.remake()
		}
		again := false
		for _, it := range x.failed {
			again = again || it.tried != x.changes
		}
		if !again {
			return
		}
		retry := x.failed // of one priority in the order of their arrival
		x.failed = nil
		for _, it := range retry {
			x.enqueue(it)
		}
	}
}

// attempt decides about an item as the scheduler sees its pod: with the nomination that the pod has then.
func (x *player) attempt(it *item) {
	it.failure, it.tried = nil, x.changes
	pod, o := x.nominations.Of(it.pod), x.nominations.Options(it.pod, x.next)
	d := x.placer.Decide(pod, o)
	x.next = d.Next
	if d.Placed() {
		x.tell(Attempt{Pod: pod, Decision: d})
		x.settle(it, d)
		return
	}
	it.failure = d.Failure
	if d.Failure.Err == nil {
		released := x.giveBack(d.Failure)
		r := x.placer.Preempt(pod, d.Failure, o, placement.PreemptOptions{Budgets: x.preemptionBudgets(), Now: x.in.Now, Groups: x.in.Groups})
		x.nominations.Failed(it.pod, r)
		if r.Outcome == preemption.Success {
			x.preempt(it, pod, d, r)
			return
		}
		it.failure.Message.PostFilter = preemption.PostFilterText(release.Current, preemption.PostFilterOutcome{
			Stopped: d.Failure.Code == filter.UnschedulableAndUnresolvable, Devices: released.Reason, Preemption: r.Message,
		})
		x.write(released)
	} else {
		x.nominations.Nominate(it.pod, "")
	}
	x.tell(Attempt{Pod: pod, Decision: d})
	x.failed = append(x.failed, it)
}

// preempt removes the victims and tries the pod again at once, first on the node that it is nominated to.
func (x *player) preempt(it *item, pod *v1.Pod, d placement.Decision, r preemption.Result) {
	a := Attempt{Pod: pod, Decision: d, Nominated: r.Node}
	for _, v := range r.Victims {
		a.Victims = append(a.Victims, v.Pod)
	}
	x.tell(a)
	for _, v := range r.Victims {
		x.displace(v.Pod, r.Node, podinfo.Name(it.pod))
	}
	x.attempt(it)
}

func (x *player) tell(a Attempt) {
	if x.observe != nil {
		x.observe(a)
	}
}

// displace removes a victim. A pod that this scene placed is tried again; a pod of the cluster is made again by its controller.
func (x *player) displace(pod *v1.Pod, from, by string) {
	it := x.placed[pod]
	if it == nil {
		x.remove(pod, from, by)
		return
	}
	must.Do(x.placer.Forget(pod))
	x.changes++
	x.count(pod, -1)
	it.node, it.by, it.fate = "", by, Pending
	x.enqueue(it)
}

// settle puts a pod on the node of a decision.
func (x *player) settle(it *item, d placement.Decision) {
	must.Do(x.placer.Assume(it.pod, d))
	x.nominations.Nominate(it.pod, "")
	x.changes++
	it.node, it.fate = d.Node, Placed
	x.placed[it.pod] = it
	x.count(it.pod, 1)
	if it.unit != nil && it.unit.stateful != nil {
		x.touch(it.unit)
	}
}

// remake lets the controllers that lost or placed pods make what is missing.
func (x *player) remake() {
	units := x.changed
	x.changed = nil
	var fresh []*item
	for _, u := range units {
		fresh = append(fresh, x.made(u)...)
	}
	if x.shuffle != nil {
		x.shuffle.Shuffle(len(fresh), func(i, k int) { fresh[i], fresh[k] = fresh[k], fresh[i] })
	}
	for _, it := range fresh {
		x.enqueue(it)
	}
}

// String returns the workload as groups have it.
func (u *unit) String() string { return strings.TrimSpace(u.kind + " " + u.namespace + "/" + u.name) }
