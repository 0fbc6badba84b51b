package hooks

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/engine"
)

// Counting compiles pods for a plugin with KeepByAllPods. It may remember facts about pod sets and term sets. When nodes change or ids get other
// meanings, the engine opens another Counting, unless the Counting has the method Lasts(): such a Counting checks what it remembers.
type Counting interface {
	// Compile returns nil for a pod that the plugin skips. An error means that the engine does not serve the pod.
	Compile(pod *v1.Pod) (Compiled, error)
}

// PodKeyer is a Counting that writes the key of a pod itself, from the objects that the pod names, such as claims. Its key replaces
// that of Plugin.AppendKey.
type PodKeyer interface {
	// AppendPodKey reports false when the engine does not serve the pod.
	AppendPodKey(dst []byte, pod *v1.Pod) ([]byte, bool)
	// Epoch returns a number that grows when every answer may have changed. It is asked after AppendPodKey.
	Epoch() uint64
}

// Compiled is one pod, compiled by a plugin with KeepByAllPods.
type Compiled interface {
	// AppendKey appends what the state depends on beside nodes and running pods. Pods share a state when these keys and the keys
	// with KeepByNode are equal.
	AppendKey(dst []byte) []byte
	// Matched reports whether a term of a term set matched the pod when AppendKey was called.
	Matched(terms int32) bool
	// Count counts the running pods.
	Count() State
}

// State has the counts of running pods for one pod. Counters keep the counts up to date.
type State interface {
	// Filter and Score return the state as a predicate and as a scorer; nil when the plugin does not filter or score the pod.
	Filter() filter.Predicate
	Score() Scorer
	// Reads appends what the state reads of nodes.
	Reads(dst []string) []string
	// Keys returns the number of topology keys that the state counts by. A Counter may add one.
	Keys() int
	// AppendLayoutKey appends what determines the meaning of AppendDomains, such as the topology keys.
	AppendLayoutKey(dst []byte) []byte
	// AppendDomains appends the domain of the slot for each key, as many integers for every slot. For a key whose
	// values no two nodes share, like hostname, the number is only 0 (the node has the key) or -1 (it has not).
	AppendDomains(dst []int32, slot int) []int32
	// AppendCounts appends the counts of the slot for the keys whose values no two nodes share. It reports whether any of these counts is not 0.
	AppendCounts(dst []int32, slot int) ([]int32, bool)
	// AppendCounted appends the slots for which AppendCounts reports true. It may append other slots, and a slot twice.
	AppendCounted(dst []int32) []int32
	// Single reports whether the state counts by a key whose values no two nodes share.
	Single() bool
	// OfSet returns what each running pod of a pod set does to the state, and OfTerms what each pod of a term set does by its terms; nil: nothing.
	OfSet(rep *v1.Pod) Counter
	OfTerms(id int32, rep *v1.Pod) Counter
}

// Idle is a Compiled that may count no running pod. AppendIdleKey appends what the state depends on while none counts, and reports whether that is
// so. Pods with equal idle keys, and with equal keys with KeepByNode, have equal states then.
type Idle interface {
	AppendIdleKey(dst []byte) (_ []byte, idle bool)
}

// Recounting is a Compiled whose states use the memory of states before them.
type Recounting interface {
	// CountIn is Count with this memory.
	CountIn(m *engine.Memory) State
}

// Releasing is a State that gives its memory to states after it. Nobody uses the state, its predicate or its scorer afterwards.
type Releasing interface {
	Release(m *engine.Memory)
}

// Shifting is a State whose AppendDomains changes also with objects that are neither nodes nor pods.
type Shifting interface {
	// Shifted yields the slots whose domains may have changed since a version, and returns the version now. Version 0 is the
	// start. A nil yield asks for the version alone.
	Shifted(version uint64, yield func(slot int)) uint64
}

// Dividing is a Counting whose states have predicates that give all slots of equal AppendDomains the same verdict. Such a predicate may
// come before the predicate that reads rows.
type Dividing interface{ Divides() }

// PerPod is a State with two predicates. Pods share one, which decides. The other is for one pod: it gives the same verdicts but on a few slots, and
// the reasons. When the pod fits on no node, it is asked about one node of each group that the predicates before it allow.
type PerPod interface {
	Of(pod *v1.Pod) filter.Predicate
	// Apart appends the slots where the verdicts may differ, each once or several times. The pod is that of the latest key.
	Apart(dst []int32, pod *v1.Pod) []int32
}

// Matching is a State whose pods may differ in which pods they count. For returns its predicate for another pod that shares the state: the verdicts are
// the same, but a pod that comes to a trial of it, or that leaves there, may count for one of the two alone.
type Matching interface {
	For(pod *v1.Pod) filter.Predicate
}

// Meeting is a Compiled that terms of running pods may match. Meets reports whether a term of a term set matches the pod now.
type Meeting interface{ Meets(terms int32) bool }

// Everywhere is a Compiled whose domains do not depend on the tolerations and the node selection of the pod: AppendDomains is the same for
// all pods with the same AppendLayoutKey.
type Everywhere interface{ Everywhere() }

// Counter counts n more pods on a slot, or -n fewer.
type Counter func(slot int, n int32)
