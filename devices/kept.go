package devices

import (
	"slices"
	"strconv"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/resources"
)

// kept is an [engine.Kept].
type kept struct {
	id      int
	state   *state // of one of the pods
	freeing bool
	away    bool // see Elsewhere
}

// Kept returns the answers that the pod shares with every pod whose claims, and whose containers' extended resources, ask for the
// same. Of a claim that has an allocation the allocation's node selector counts, and the score of its alternatives. Kept is nil
// when the pod shares no answers:
//
//   - devices of an allocation have binding conditions,
//   - an earlier attempt has created the claim for the pod's extended resources,
//   - the answer for one node can depend on the nodes that were asked before (quirk U10.2),
//   - [Options.AlwaysRelease] is set and a claim has an allocation,
//   - [Options.Stop] has ended a search for such claims.
//
// [State.Freed] does not know which nodes a Kept was asked about. When a pod with an allocated claim fits on no node, ask the State
// about one of the nodes of each signature again before [Freed].
//
// It is for package placement, and its type is internal. Unlike other questions, Kept belongs to the goroutine of the allocator.
func (s *state) Kept() engine.Kept { return s.keptAs(false, false) }

// keptAs returns the Kept of the pod; with freeing preemption can free devices. away: it answers for nodes that no allocation reaches.
func (s *state) keptAs(freeing, away bool) engine.Kept {
	a, own := s.allocator, len(s.pending)
	if s.pod.special != nil {
		if s.pod.special.UID != "" {
			return nil
		}
		own++
	}
	allocated, ok := s.appendAllocated(nil, away)
	if !ok || own > 0 && a.inventory.coupled {
		return nil
	}
	for k := range s.pod.claims {
		if s.pod.claims[k].allocated() {
			own++
		}
	}
	if own == 0 || own < len(s.pod.claims) { // a pod without claims, or Options.ClaimOnce
		return nil
	}
	x := s.searchFor(nil)
	if x.shape == nil {
		x.shape = a.shapeOf(x.Search)
	}
	if x.shape.stopped {
		return nil
	}
	asked := append(strconv.AppendBool(strconv.AppendBool(nil, freeing), away), allocated...)
	if s.pod.special != nil {
		asked = podkey.DeviceContainers(asked, s.pod.pod)
		for _, name := range s.pod.asked {
			asked = key.Int(key.Text(asked, string(name)), int64(a.classID(s.pod.extended[name])))
		}
	}
	k := x.shape.kept[string(asked)]
	if k == nil {
		if len(x.shape.kept) >= maxShapes {
			clear(x.shape.kept)
		}
		a.made++
		k = &kept{a.made, s.pod.on(s.cluster, a, s.clock), freeing, away} // Freed must not use this state
		k.state.away = away
		x.shape.kept[string(asked)] = k
	}
	return k
}

// appendAllocated appends what answers depend on of the claims that have an allocation. It reports false when such an answer
// depends on more.
func (s *state) appendAllocated(dst []byte, away bool) ([]byte, bool) {
	for k := range s.pod.claims {
		c := &s.pod.claims[k]
		if !c.allocated() {
			continue
		}
		if s.allocator.options.AlwaysRelease {
			return nil, false
		}
		allocation := c.object.Status.Allocation
		for j := range allocation.Devices.Results {
			if len(allocation.Devices.Results[j].BindingConditions) > 0 {
				return nil, false
			}
		}
		if dst = key.Flag(dst, true); !away {
			dst = key.Optional(dst, allocation.NodeSelector, key.NodeSelector)
		}
	}
	return key.Int(key.Flag(dst, false), s.preferred), true
}

func (k *kept) ID() int { return k.id }

func (*kept) Name() string { return (*state)(nil).Name() }

func (k *kept) Check(i int) resources.Verdict { return k.answer(i).verdict }

func (k *kept) Reasons(v resources.Verdict) []string { return k.state.Reasons(v) }

func (k *kept) Code(v resources.Verdict) filter.Code { return k.state.Code(v) }

func (k *kept) Raw(i int) int64 { return k.answer(i).score }

func (k *kept) Normalize(raw, lo, hi int64) int64 { return k.state.Normalize(raw, lo, hi) }

func (k *kept) AppendSignature(dst []int32, i int) []int32 {
	a := k.answer(i)
	if k.away {
		return append(dst, int32(a.verdict))
	}
	return k.state.appendMissing(append(dst, int32(a.verdict), int32(a.score)), a.verdict, i)
}

// appendMissing appends which allocated claims keep the pod from slot i, a bit for each.
func (s *state) appendMissing(dst []int32, v resources.Verdict, i int) []int32 {
	n, word := 0, int32(0)
	for k := range s.pod.claims {
		c := &s.pod.claims[k]
		if !c.allocated() {
			continue
		}
		if n > 0 && n%32 == 0 {
			dst, word = append(dst, word), 0
		}
		if v == notAvailable && !c.reach.Matches(s.cluster.Node(i)) {
			word |= 1 << (n % 32)
		}
		n++
	}
	if n > 0 {
		dst = append(dst, word)
	}
	return dst
}

func (k *kept) Since(version uint64, yield func(i int)) uint64 {
	l := k.state.allocator.ledger
	now := l.forgotten + uint64(len(l.touched))
	if yield == nil || version >= now {
		return now
	}
	if version < l.forgotten {
		for i := range k.state.allocator.slots {
			yield(i)
		}
		return now
	}
	pools := slices.Clone(l.touched[version-l.forgotten:])
	slices.Sort(pools)
	for _, at := range slices.Compact(pools) {
		for _, i := range k.state.allocator.seenBy[at] {
			yield(int(i))
		}
	}
	return now
}

func (k *kept) answer(i int) slotAnswer {
	s := k.state
	if i < 0 || i >= s.cluster.Len() {
		return slotAnswer{verdict: noFreeSlot}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.searchFor(nil); x.shape != nil && x.shape.stopped { // the attempt is over: no other node is searched
		return slotAnswer{verdict: s.verdictOf(answer{err: ErrStopped}, s.cluster.Node(i))}
	}
	clear(s.left) // counters are kept for one attempt only
	x := s.decide(i)
	if k.freeing {
		x.verdict = freed(x.verdict)
	}
	return x
}
