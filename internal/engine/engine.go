// Package engine has what package placement asks of the states of other packages, so that it keeps their answers from decision to
// decision. Nobody else has a use for these questions: the types are here and not among the exported names of the rules, and change with
// the engine.
package engine

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// Kept is the filter and score DynamicResources for all pods whose claims ask for the same. In contrast to a devices.State, a Kept
// stays right while allocations and nodes change, and it knows no pod. It belongs to the goroutine of its allocator.
type Kept interface {
	// Name, Check and Reasons are those of a devices.State: a Kept is a filter.Predicate.
	Name() string
	Check(i int) resources.Verdict
	Reasons(v resources.Verdict) []string
	// Raw returns the score of slot i, as devices.State.Raw does, and Normalize the normalized score.
	Raw(i int) int64
	Normalize(raw, lo, hi int64) int64
	// ID returns a number that pods with equal claims have in common. No other Kept of the allocator has the number.
	ID() int
	// AppendSignature appends what the devices.State of each pod says about slot i: the verdict, the raw score, and which of the allocated claims are
	// not available there. It appends as many integers for every slot.
	AppendSignature(dst []int32, i int) []int32
	// Since yields the slots whose nodes see devices that were allocated or released after a version of the ledger, and returns the
	// version now. It yields every slot when the ledger does not remember that long; version 0 is the start. A slot whose node
	// object was replaced is not among the slots. Since may yield a slot several times. A nil yield asks for the version alone.
	Since(version uint64, yield func(i int)) uint64
}

// Counts are the counts of running pods that package spread or affinity keeps for one pod.
type Counts interface {
	// Keys yields the topology keys by which the counts are kept, in the order in which AppendSignature counts them: for package spread
	// the key of each constraint. single is true when the signature has counts of the node alone. A move of package affinity may add a
	// key at the end.
	Keys(yield func(key string, single bool) bool)
	// Len returns how many keys there are. Keys would allocate, and this is asked at each decision.
	Len() int
	// AppendSignature appends integers that, together with the counts of whole domains, determine verdict and raw score of slot i: slots
	// of equal signature get the same answers (rules S4.7 and A13.4). For a key that nodes share, the signature has the domain, -1
	// without one. For a single key it has what the node counts: one number for package spread, or -1; three for package affinity, which
	// counts are above 0 and the two words of the score. As long as Keys yields the same keys, only events on a slot change its
	// signature.
	AppendSignature(dst []int32, i int) []int32
	// AppendCountedSlots appends the slots that have a count other than 0 in their signature. It may append other slots, and a slot
	// more than once. O(nodes) for each single key.
	AppendCountedSlots(dst []int32) []int32
}

// Move counts n pods more on slot i, or -n fewer. nil changes nothing. It costs 5 to 20 ns, and allocates only for the first count of a
// topology key or for a count that is larger than ever before.
type Move func(i int, n int32)

// Both returns both moves as one; nil when both are nil.
func Both(a, b Move) Move {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(i int, n int32) {
		a(i, n)
		b(i, n)
	}
}

// By makes a move n times on slot i; a nil move too, which changes nothing.
func (m Move) By(i int, n int32) {
	if m != nil {
		m(i, n)
	}
}

// Moving is the counts of a state, or of a trial of it, that follow running pods. After moves they equal a fresh Count (rules S5.3, S5.6
// and A13.2); those of a trial equal what AddPod and RemovePod of v1.37.2 count. A move counts nothing on a free slot and for topology
// keys that the node lacks.
type Moving interface {
	// OfLabels returns how pods with the namespace and labels of rep, which are all being deleted or none, move the counts by these. It
	// is nil when no constraint or term of the incoming pod counts them.
	OfLabels(rep *v1.Pod) Move
}

// MovingTerms is a Moving that terms of running pods move too, as those of package affinity do.
type MovingTerms interface {
	Moving
	// OfTerms returns how pods with the namespace and terms of rep move the counts by their terms, which may match the incoming pod. It
	// is nil when no term matches. id is the term set of rep; the memo keeps the compiled terms under this id. With a nil memo the terms
	// are compiled and id does not matter.
	OfTerms(m *Memo, id int32, rep *v1.Pod) Move
}

// Memo keeps the compiled terms of running pods, by the term sets of one cluster. When another pod represents a set, the memo compiles
// the terms of that pod. The zero value is empty and ready to use. A nil Memo keeps nothing and may be used too. A Memo ignores sets whose
// id is 1,048,576 or more. It must not be copied and is not safe for concurrent use.
type Memo struct{ kept any }

// KeptIn returns what package affinity keeps in a memo, a new T at first. It is nil for a nil memo.
func KeptIn[T any](m *Memo) *T {
	if m == nil {
		return nil
	}
	kept, ok := m.kept.(*T)
	if !ok {
		kept = new(T)
		m.kept = kept
	}
	return kept
}

// Reads appends what the answers of a state read of a node, in the words of cluster.Snapshot.Classes. Nodes that are equal in it get equal
// answers. The state must say so.
func Reads(state any, dst []string) []string {
	return state.(interface{ Reads(dst []string) []string }).Reads(dst)
}

// Zero reports whether every node gets 0 from an image state of package score, because no node has an image of the pod (rule C7.7).
func Zero(images any) bool { return images.(interface{ Zero() bool }).Zero() }

// CountsOf returns the counts of a state of package spread or affinity. The result follows the state.
func CountsOf(state any) Counts { return state.(interface{ Counts() Counts }).Counts() }

// Allocation and Balance are the states of package score for a caller that has already read the rows of slot i: RawOf is Raw(i).
type (
	Allocation interface {
		RawOf(i int, alloc resources.Vector, cpuMilli, memoryBytes int64) int64
	}
	Balance interface {
		RawOf(i int, alloc, used resources.Vector) int64
	}
)

// Constraints is what a plan asks of the constraints of a pod that package spread compiled.
type Constraints interface {
	// AppendKey appends bytes that are equal for two evaluators of one action exactly when namespace, constraints, merged selectors and
	// self-match are equal. When the keys, nodeSelector, node affinity, tolerations and Options of two pods are equal, their evaluators
	// and states give equal answers.
	AppendKey(dst []byte) []byte
	// Keys appends the topology keys in the order of the constraints, each once.
	Keys(dst []string) []string
	// Reads appends what the evaluator reads of a node: "label:KEY" of each topology key, and what the inclusion policies need
	// ("label:KEY", "name", "taints").
	Reads(dst []string) []string
}
