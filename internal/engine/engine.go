// Package engine has what package placement asks of the states of other packages, so that it keeps their answers from decision to
// decision. Nobody else has a use for these questions: the types are here and not among the exported names of the rules, and change with
// the engine.
package engine

import "github.com/podberth/podberth/resources"

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
	// AppendSignature appends verdict and raw score of slot i.
	AppendSignature(dst []int32, i int) []int32
	// Since yields the slots whose nodes see devices that were allocated or released after a version of the ledger, and returns the
	// version now. It yields every slot when the ledger does not remember that long; version 0 is the start. A slot whose node
	// object was replaced is not among the slots. Since may yield a slot several times. A nil yield asks for the version alone.
	Since(version uint64, yield func(i int)) uint64
}

// Counts are the counts of running pods that package spread or affinity keeps for one pod.
type Counts interface {
	// Keys yields the topology keys by which the counts are kept, in the order in which AppendSignature counts them: for package spread
	// the key of each constraint. single is true when the signature has counts of the node alone. affinity.State.Apply may add a key at
	// the end.
	Keys(yield func(key string, single bool) bool)
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
