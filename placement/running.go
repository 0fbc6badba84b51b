package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/resources"
)

// running remembers what the running pods of a cluster count with, for preemption.
type running struct {
	kindOf   func(pod *v1.Pod) (kind any, terms int32) // of the cluster; nil: nothing is known of running pods
	requests func(pod *v1.Pod) (resources.Vector, bool)
	slots    []runningSlot
	kinds    map[any]int32     // numbers of the kinds
	effects  [][]hooks.Counter // by kind: what a pod of the kind does to the trials of the question; nil: not known
	known    []int32           // kinds whose effects are known
	memo     map[any]any
}

// runningSlot has the pods of a slot that were asked about, in that order. Most questions come in the same order.
type runningSlot struct {
	pods []runningPod
	next int
}

// runningPod is what the cluster knows of a running pod.
type runningPod struct {
	pod      *v1.Pod
	kind     int32 // pods of one kind count the same
	terms    int32 // id of the term set, -1: none
	requests resources.Vector
	memo     map[any]any
}

// remember returns the stored value of the key. The first call with the key makes the value.
func (k *runningPod) remember(key any, make func() any) any {
	x, ok := k.memo[key]
	if !ok {
		x = make()
		k.memo[key] = x
	}
	return x
}

func newRunning(c Cluster) *running {
	k := &running{kinds: map[any]int32{}, memo: map[any]any{}}
	if x, ok := c.(interface {
		PodKind(pod *v1.Pod) (kind any, terms int32)
		PodRequests(pod *v1.Pod) (resources.Vector, bool)
	}); ok {
		k.kindOf, k.requests = x.PodKind, x.PodRequests
	}
	return k
}

// of returns what a pod on a slot counts with; nil for a pod that the cluster does not know. The answer is valid until the next call.
func (k *running) of(pod *v1.Pod, slot int) *runningPod {
	if k.kindOf == nil {
		return nil
	}
	for slot >= len(k.slots) {
		k.slots = append(k.slots, runningSlot{})
	}
	s := &k.slots[slot]
	for range s.pods {
		if s.next >= len(s.pods) {
			s.next = 0
		}
		if x := &s.pods[s.next]; x.pod == pod {
			s.next++
			return x
		}
		s.next++
	}
	kind, terms := k.kindOf(pod)
	if kind == nil {
		return nil
	}
	number, ok := k.kinds[kind]
	if !ok {
		number = int32(len(k.kinds))
		k.kinds[kind] = number
		k.effects = append(k.effects, nil)
	}
	requests, _ := k.requests(pod)
	s.pods = append(s.pods, runningPod{pod, number, terms, requests, k.memo})
	return &s.pods[len(s.pods)-1]
}

// maxKinds bounds the memory of kinds. Most kinds of so many have no pod any more.
const maxKinds = 1 << 18

// ask begins a question. The effects on the trials of the question before go, because they hold these trials.
func (k *running) ask() {
	for _, kind := range k.known {
		k.effects[kind] = nil
	}
	k.known = k.known[:0]
	if len(k.kinds) > maxKinds {
		k.forget()
	}
}

// touch forgets the pods of a slot.
func (k *running) touch(slot int) {
	if slot < len(k.slots) {
		k.slots[slot] = runningSlot{}
	}
}

// forget drops everything.
func (k *running) forget() {
	clear(k.slots)
	clear(k.kinds)
	k.effects, k.known = nil, nil
	clear(k.memo)
}
