package taint

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/same"
	"github.com/podberth/podberth/taints"
)

// Timers holds the timers of all pods of a cluster, as the taint-eviction controller does. No kind of pod is exempt: only
// its tolerations protect a terminating, finished, mirror or DaemonSet pod (rule XT6.1). Create it with [NewTimers]. It is
// not safe for concurrent use. New Timers know no pod and no node: after a restart of the controller all times begin again
// (rule XT4.2).
type Timers struct {
	options Options
	nodes   map[string][]v1.Taint // by name: the NoExecute taints of the known nodes
	pods    map[types.NamespacedName]*podTimer
	onNode  map[string]map[types.NamespacedName]*podTimer
	due     dueHeap
}

type podTimer struct {
	name        types.NamespacedName
	uid         types.UID
	node        string
	tolerations []v1.Toleration
	compiled    *taints.Evaluator
	timer       timerState
	cause       v1.Taint
}

// NewTimers returns timers that know no node and no pod.
func NewTimers(o Options) *Timers {
	return &Timers{
		options: o,
		nodes:   map[string][]v1.Taint{},
		pods:    map[types.NamespacedName]*podTimer{},
		onNode:  map[string]map[types.NamespacedName]*podTimer{},
	}
}

// SetNode takes a node that was added or updated (rule XT5.2). When the node is new or its NoExecute taints differ in any
// field or in their order, every pod on it is evaluated, by namespace and name. A nil node changes nothing.
func (t *Timers) SetNode(node *v1.Node, now time.Time) []Action {
	if node == nil {
		return nil
	}
	list := noExecute(node.Spec.Taints)
	if old, known := t.nodes[node.Name]; known && slices.EqualFunc(old, list, same.Taint) {
		return nil
	}
	t.nodes[node.Name] = list
	var actions []Action
	for _, p := range t.podsOn(node.Name) {
		actions = t.evaluate(actions, p, now)
	}
	return actions
}

// DeleteNode removes a node. The timers of its pods keep running.
func (t *Timers) DeleteNode(name string) { delete(t.nodes, name) }

// SetPod takes a pod that was added or updated (rule XT5.1). The pod is evaluated when it is new (another UID is another
// pod), or when its node or its tolerations differ. Other changes do nothing. While its node is unknown or empty, nothing
// happens and a timer stays. A nil pod changes nothing.
func (t *Timers) SetPod(pod *v1.Pod, now time.Time) []Action {
	if pod == nil {
		return nil
	}
	name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	p := t.pods[name]
	var actions []Action
	if p != nil && p.uid != pod.UID {
		actions = t.DeletePod(name, now)
		p = nil
	}
	if p == nil {
		p = &podTimer{name: name, uid: pod.UID}
		t.pods[name] = p
	} else if p.node == pod.Spec.NodeName && slices.EqualFunc(p.tolerations, pod.Spec.Tolerations, same.Toleration) {
		return nil
	}
	t.leave(p)
	p.node = pod.Spec.NodeName
	p.tolerations = pod.DeepCopy().Spec.Tolerations
	p.compiled = taints.Compile(p.tolerations, t.options.Matching)
	if p.node != "" {
		if t.onNode[p.node] == nil {
			t.onNode[p.node] = map[types.NamespacedName]*podTimer{}
		}
		t.onNode[p.node][name] = p
	}
	return t.evaluate(actions, p, now)
}

// DeletePod removes a pod that does not exist any more, whoever deleted it. A timer that still runs is cancelled, with the
// usual event.
func (t *Timers) DeletePod(name types.NamespacedName, now time.Time) []Action {
	p := t.pods[name]
	if p == nil {
		return nil
	}
	var actions []Action
	if p.timer.Running() {
		actions = append(actions, Action{What: EntryCancelled, At: now, Pod: name, UID: p.uid, Node: p.node, Fire: p.timer.Fire})
	}
	t.leave(p)
	p.timer = timerState{}
	delete(t.pods, name)
	return actions
}

func (t *Timers) leave(p *podTimer) {
	delete(t.onNode[p.node], p.name)
	if len(t.onNode[p.node]) == 0 {
		delete(t.onNode, p.node)
	}
}

// Next returns when the next timer is due; ok is false when none runs.
func (t *Timers) Next() (fire time.Time, ok bool) {
	t.dropStale()
	if len(t.due) == 0 {
		return time.Time{}, false
	}
	return t.due[0].fire, true
}

// Advance returns the deletions of all pods whose timers are due at now, in order of their times, then namespace and name
// (rule XT2.8). It does not look at taints again. The pods stay known until DeletePod.
func (t *Timers) Advance(now time.Time) []Action {
	var actions []Action
	for {
		t.dropStale()
		if len(t.due) == 0 || t.due[0].fire.After(now) {
			return actions
		}
		p := heap.Pop(&t.due).(due).pod
		actions = append(actions, Action{EntryEvicted, now, p.name, p.uid, p.node, p.timer.Fire, p.cause})
		p.timer = timerState{}
	}
}

// timer returns the timer of a pod, the zero value when no timer runs.
func (t *Timers) timer(name types.NamespacedName) timerState {
	if p := t.pods[name]; p != nil {
		return p.timer
	}
	return timerState{}
}

func (t *Timers) evaluate(actions []Action, p *podTimer, now time.Time) []Action {
	list, known := t.nodes[p.node]
	if !known || p.node == "" {
		return actions
	}
	old := p.timer
	d := decide(old, p.compiled, list, now, t.options)
	p.timer = d.Timer
	act := func(what string, fire time.Time) {
		a := Action{What: what, At: now, Pod: p.name, UID: p.uid, Node: p.node, Fire: fire}
		if what != EntryCancelled && d.Cause != nil {
			a.Cause = *d.Cause
		}
		actions = append(actions, a)
	}
	if d.Cancelled {
		act(EntryCancelled, old.Fire)
	}
	switch {
	case d.Delete:
		act(EntryEvicted, time.Time{})
	case d.Started:
		act(EntryStarted, d.Timer.Fire)
	case d.Moved:
		act(EntryMoved, d.Timer.Fire)
	}
	if d.Started || d.Moved {
		p.cause = *d.Cause
		heap.Push(&t.due, due{d.Timer.Fire, p})
	}
	return actions
}

func (t *Timers) podsOn(node string) []*podTimer {
	var list []*podTimer
	for _, p := range t.onNode[node] {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *podTimer) int { return compareNames(a.name, b.name) })
	return list
}

func compareNames(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func noExecute(list []v1.Taint) []v1.Taint {
	var kept []v1.Taint
	for i := range list {
		if list[i].Effect == v1.TaintEffectNoExecute {
			kept = append(kept, *list[i].DeepCopy())
		}
	}
	return kept
}

// due is a timer in the heap. It is out of date when the pod has no timer or its timer has another end.
type due struct {
	fire time.Time
	pod  *podTimer
}

func (t *Timers) dropStale() {
	for len(t.due) > 0 && !t.due[0].fire.Equal(t.due[0].pod.timer.Fire) {
		heap.Pop(&t.due)
	}
}

// compareDue orders timers:
//
//  1. by time
//  2. by namespace
//  3. by name
//  4. by UID
func compareDue(a, b due) int {
	return cmp.Or(a.fire.Compare(b.fire), compareNames(a.pod.name, b.pod.name), cmp.Compare(a.pod.uid, b.pod.uid))
}

type dueHeap []due

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return compareDue(h[i], h[j]) < 0 }
func (h dueHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)        { *h = append(*h, x.(due)) }
func (h *dueHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = due{}
	*h = old[:len(old)-1]
	return last
}

// running returns the running timers, in the order in which they are due.
func (t *Timers) running() []due {
	var list dueHeap
	for _, p := range t.pods {
		if p.timer.Running() {
			list = append(list, due{p.timer.Fire, p})
		}
	}
	slices.SortFunc(list, compareDue)
	return list
}
