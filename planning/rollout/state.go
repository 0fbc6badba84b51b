package rollout

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/decider"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/placement"
)

// item is a pod on a node, or one that waits for a node.
type item struct {
	origin  *v1.Pod // the pod of the input that this pod, or a pod before it, replaces
	moves   int     // how many pods were there before
	obj     *v1.Pod // as the snapshot has it
	seen    *v1.Pod // as the disruption controller and the Eviction API see it
	node    string
	unit    *unit
	budgets []int32
	path    []string
}

// run is the state of one plan. Everything that changes is in the snapshot or in the fields of change, so that a step can be
// taken back.
type run struct {
	*Planner
	o        Options
	snapshot *cluster.Snapshot
	placer   *placement.Placer
	budgets  *budgets
	plan     Plan
	end      func() bool // of a plan that tries a remedy: it may be cut
	now      time.Duration
	onNode   map[string][]*item
	ofUnit   map[*unit][]*item
	pending  []*item
	held     *placement.Nominations // of pending
	starting []*item                // pods that become ready in this wave
	admitted map[*unit]*v1.Pod      // a pod of each controller whose pods are alike
	journal  []func()               // undoes the changes of fields since the last mark, in reverse order
}

// do notes how to take back a change of a field.
func (x *run) do(undo func()) { x.journal = append(x.journal, undo) }

// mark is a state between steps to return to.
type mark struct {
	snapshot cluster.Mark
	now      time.Duration
	list     []*policyv1.PodDisruptionBudget
	pending  []*item
}

// mark begins a step. The budgets are up to date.
func (x *run) mark() mark {
	x.budgets.sync(x.scale, x.clock())
	x.journal = x.journal[:0]
	return mark{x.snapshot.Mark(), x.now, slices.Clone(x.budgets.list), slices.Clone(x.pending)}
}

// back returns to a mark and ends it.
func (x *run) back(m mark) {
	x.undo(0)
	x.snapshot.Rollback(m.snapshot)
	x.now, x.pending, x.budgets.list = m.now, m.pending, m.list
}

// undo takes back the changes of fields after the first ones of the journal.
func (x *run) undo(keep int) {
	for i := len(x.journal) - 1; i >= keep; i-- {
		x.journal[i]()
	}
	x.journal = x.journal[:keep]
}

// clock returns the time of now.
func (x *run) clock() time.Time { return x.in.Now.Add(x.now) }

// observe returns the pod as the API has it: on its node, with the status that a kubelet reports once the pod runs, unless the pod
// has a Ready condition, and with the UID of its controller.
func (x *run) observe(pod *v1.Pod, node string, u *unit) *v1.Pod {
	c := *pod
	c.Spec.NodeName = node
	if node != "" && !slices.ContainsFunc(pod.Status.Conditions, isReady) {
		c.Status.Phase = v1.PodRunning
		c.Status.Conditions = append(slices.Clone(pod.Status.Conditions), v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue})
	}
	if u != nil {
		c.OwnerReferences = slices.Clone(pod.OwnerReferences)
		for i := range c.OwnerReferences {
			if r := &c.OwnerReferences[i]; r.Controller != nil && *r.Controller && (r.UID == "" || u.invented) {
				r.UID = u.uid
			}
		}
	}
	return &c
}

func isReady(c v1.PodCondition) bool { return c.Type == v1.PodReady }

// ready reports whether a pod has the condition Ready.
func ready(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return isReady(c) && c.Status == v1.ConditionTrue })
}

// withReady returns the pod as it runs on a node and is ready.
func withReady(pod *v1.Pod, node string) *v1.Pod {
	c := *pod
	c.Spec.NodeName, c.Status.Phase = node, v1.PodRunning
	c.Status.Conditions = append(slices.DeleteFunc(slices.Clone(pod.Status.Conditions), isReady), v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue})
	return &c
}

// newItem returns an item that no list has.
func (x *run) newItem(pod *v1.Pod, node string) *item {
	it := &item{origin: pod, obj: pod, node: node, unit: x.unitOf(pod)}
	it.seen = x.observe(pod, node, it.unit)
	it.budgets = x.budgets.index.AppendMatches(nil, pod.Namespace, pod.Labels)
	if node != "" {
		it.path = []string{node}
	}
	return it
}

// decide decides about a pod as the scheduler sees it. Pods that wait hold room on the nodes that they are nominated to.
func (x *run) decide(pod *v1.Pod) placement.Decision {
	return x.decideAll([]*v1.Pod{pod})[pod]
}

// release ends the nomination of a pod.
func (x *run) release(pod *v1.Pod) {
	if node := x.held.Node(pod); node != "" {
		x.held.Nominate(pod, "")
		x.do(func() { x.held.Nominate(pod, node) })
	}
}

// add puts an item into the lists.
func (x *run) add(it *item) {
	x.enlist(it)
	x.do(func() { x.delist(it) })
}

func (x *run) enlist(it *item) {
	x.onNode[it.node] = append(x.onNode[it.node], it)
	x.ofUnit[it.unit] = append(x.ofUnit[it.unit], it)
	x.budgets.add(it)
}

func (x *run) delist(it *item) {
	x.onNode[it.node] = without(x.onNode[it.node], it)
	x.ofUnit[it.unit] = without(x.ofUnit[it.unit], it)
	x.budgets.drop(it)
}

// see changes what the disruption controller sees of a pod.
func (x *run) see(it *item, pod *v1.Pod) {
	before := it.seen
	it.seen = pod
	x.budgets.changed(it)
	x.do(func() { it.seen = before })
}

// terminate makes a pod terminating. The pod stays on its node.
func (x *run) terminate(it *item) {
	now := metav1.NewTime(x.clock())
	c, seen := *it.obj, *it.seen
	c.DeletionTimestamp, seen.DeletionTimestamp = &now, &now
	must.Do(x.snapshot.Set(&c))
	x.see(it, &seen)
}

// remove takes a pod off its node.
func (x *run) remove(it *item) {
	must.Do(x.snapshot.Remove(it.obj))
	x.delist(it)
	x.do(func() { x.enlist(it) })
	decider.ReleaseClaims(x.snapshot, it.obj)
}

// put gives a pod the node of a decision; a pod of another scheduler has none. The pod is ready when the time advances.
func (x *run) put(it *item, d placement.Decision) {
	if d.Placed() {
		must.Do(x.placer.Assume(it.obj, d))
		node, path := it.node, it.path
		x.do(func() { it.node, it.path = node, path })
		it.node = d.Node
		it.path = append(slices.Clone(it.path), d.Node)
	}
	x.add(it)
	x.starting = append(x.starting, it)
}

// advance sets the time, at which all new pods are ready.
func (x *run) advance(to time.Duration) {
	x.now = to
	for _, it := range x.starting {
		x.see(it, withReady(it.seen, it.node))
	}
	x.starting = nil
}
