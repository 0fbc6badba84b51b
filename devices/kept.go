package devices

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/resources"
)

// Kept is the filter and score DynamicResources for all pods whose claims ask for the same. In contrast to a State, a Kept
// stays right while allocations and nodes change, and it knows no pod: State.Allocation says what a pod gets. A Kept belongs to
// the goroutine of its allocator.
type Kept struct {
	id        int
	state     *State // of one of the pods
	search    *Search
	allocator *Allocator
}

// Kept returns the answers that the pod shares with every pod whose claims ask for the same. It is nil when the pod shares
// none:
//
//   - a claim of the pod has an allocation,
//   - a class provides an extended resource of the pod,
//   - the answer for one node can depend on the nodes that were asked before (quirk U10.2).
func (s *State) Kept() *Kept {
	a := s.allocator
	if a.inventory.coupled || s.pod.special != nil || len(s.pending) == 0 || len(s.pending) < len(s.pod.claims) {
		return nil
	}
	x := s.searchFor(nil)
	if x.shape == nil {
		x.shape = a.shapeOf(x.Search)
	}
	if x.shape.kept == nil {
		x.shape.kept = &Kept{id: x.shape.id, state: s, search: x.Search, allocator: a}
	}
	return x.shape.kept
}

// ID returns a number that pods with equal claims have in common. No other Kept of the allocator has the number.
func (k *Kept) ID() int { return k.id }

// Name returns "DynamicResources".
func (*Kept) Name() string { return (*State)(nil).Name() }

// Check returns the verdict on slot i, as State.Check does.
func (k *Kept) Check(i int) resources.Verdict { return k.answer(i).verdict }

// Reasons returns v1.36's text of a verdict of Check, as State.Reasons does.
func (k *Kept) Reasons(v resources.Verdict) []string { return k.state.Reasons(v) }

// Code returns the code of a verdict, as State.Code does.
func (k *Kept) Code(v resources.Verdict) filter.Code { return k.state.Code(v) }

// Raw returns the score of slot i, as State.Raw does.
func (k *Kept) Raw(i int) int64 { return k.answer(i).score }

// Normalize returns the normalized score, as State.Normalize does.
func (k *Kept) Normalize(raw, lo, hi int64) int64 { return k.state.Normalize(raw, lo, hi) }

// AppendSignature appends verdict and raw score of slot i.
func (k *Kept) AppendSignature(dst []int32, i int) []int32 {
	a := k.answer(i)
	return append(dst, int32(a.verdict), int32(a.score))
}

// Since yields the slots whose nodes see devices that were allocated or released after a version of the ledger, and returns the
// version now. It yields every slot when the ledger does not remember that long; version 0 is the start. A slot whose node
// object was replaced is not among the slots. Since may yield a slot several times. A nil yield asks for the version alone.
func (k *Kept) Since(version uint64, yield func(i int)) uint64 {
	l := k.allocator.ledger
	now := l.forgotten + uint64(len(l.touched))
	if yield == nil || version >= now {
		return now
	}
	if version < l.forgotten {
		for i := range k.allocator.slots {
			yield(i)
		}
		return now
	}
	pools := slices.Clone(l.touched[version-l.forgotten:])
	slices.Sort(pools)
	for _, at := range slices.Compact(pools) {
		for _, i := range k.allocator.seenBy[at] {
			yield(int(i))
		}
	}
	return now
}

func (k *Kept) answer(i int) slotAnswer {
	var node *v1.Node
	if i >= 0 && i < k.state.cluster.Len() {
		node = k.state.cluster.Node(i)
	}
	if node == nil {
		return slotAnswer{verdict: noFreeSlot}
	}
	clear(k.search.left) // counters are kept for one attempt only
	x := k.search.ask(k.allocator.viewOf(i, node))
	return slotAnswer{verdict: k.state.verdictOf(x), score: x.score}
}
