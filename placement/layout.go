package placement

import (
	"encoding/binary"
	"math"

	"github.com/podberth/podberth/filter"
)

// layout divides the nodes into groups of equal signature. Within a group only the nodes' own rows differ: whether the pod
// fits and what the resource and image scores give. Everything else, verdicts that move whole domains and scores that are
// normalized over all feasible nodes included, is asked once for each group.
type layout struct {
	group  []int32  // of each slot; -1: a free slot
	where  []int32  // position in its group's heap; -1: rejected by its own rows
	reject []uint16 // verdict of its own rows
	static []int32  // class of equal static signatures
	groups []group
	index  map[string]int32
	rank   []int32
	dirty  []int32
	marked []bool

	ownScores  []int // positions in the scorers
	moving     bool  // a signature depends on the pods of the node
	signature  []int32
	signatures []byte
	keys       []string
	feasible   []int32 // scratch: groups
	raw, add   []int64
}

// group is the nodes of one signature.
type group struct {
	size    int32
	static  filter.Rejection // of the predicates before the one that reads rows
	heap    heap
	rejects []tally // of its nodes whose own rows reject
	raw     []int64 // by scorer: raw scores that are fixed by the signature
}

type tally struct {
	verdict uint16
	slot, n int32
}

const maxOwn = 1 << 30

// build makes the groups. It reports false when the own scores do not fit the heap's keys.
func (l *layout) build(r *reuse, s *shape) bool {
	n := r.log.Len()
	*l = layout{
		group: make([]int32, n), where: make([]int32, n), reject: make([]uint16, n), static: make([]int32, n), marked: make([]bool, n),
		index: map[string]int32{}, rank: r.ranks(), keys: l.keys[:0],
	}
	for k := range s.attempt.scorers {
		if s.kinds[k] == ownScore {
			l.ownScores = append(l.ownScores, k)
		}
	}
	l.moving = s.hard != nil || s.soft != nil || s.pods != nil
	for i := range n {
		l.group[i], l.where[i] = -1, -1
	}
	l.classify(s, r.plan.order())
	for _, i := range r.plan.order() {
		l.join(s, int32(i))
		if !l.enter(s, int32(i)) {
			return false
		}
	}
	return true
}

// sign writes the signature of a slot: its static class, and where it stands for the states that follow pods.
func (l *layout) sign(s *shape, i int) {
	l.signature = append(l.signature[:0], l.static[i])
	if s.hard != nil {
		l.signature = s.hard.AppendSignature(l.signature, i)
	}
	if s.soft != nil {
		l.signature = s.soft.AppendSignature(l.signature, i)
	}
	if s.pods != nil {
		l.signature = s.pods.AppendSignature(l.signature, i)
	}
	l.pack()
}

// classify numbers the static signatures: what only a change of the node can change.
func (l *layout) classify(s *shape, order []int) {
	classes := map[string]int32{}
	for _, i := range order {
		l.signature = l.signature[:0]
		for _, signed := range s.signed {
			l.signature = signed.AppendSignature(l.signature, i)
		}
		l.pack()
		id, ok := classes[string(l.signatures)]
		if !ok {
			id = int32(len(classes))
			classes[string(l.signatures)] = id
		}
		l.static[i] = id
	}
}

func (l *layout) pack() {
	l.signatures = l.signatures[:0]
	for _, x := range l.signature {
		l.signatures = binary.LittleEndian.AppendUint32(l.signatures, uint32(x))
	}
}

// join puts a slot into the group of its signature.
func (l *layout) join(s *shape, i int32) {
	l.sign(s, int(i))
	g, ok := l.index[string(l.signatures)]
	if !ok {
		g = int32(len(l.groups))
		l.groups = append(l.groups, l.newGroup(s, int(i)))
		l.index[string(l.signatures)] = g
	}
	l.group[i] = g
	l.groups[g].size++
}

// newGroup works out what is fixed for all nodes of slot i's signature.
func (l *layout) newGroup(s *shape, i int) group {
	g := group{raw: make([]int64, len(s.attempt.scorers))}
	for k, p := range s.attempt.Predicates {
		if k == s.statics {
			break
		}
		if v := p.Check(i); v != 0 {
			g.static = filter.Rejection{Predicate: uint16(k), Verdict: v}
			break
		}
	}
	for k := range s.attempt.scorers {
		if s.kinds[k] == fixedScore {
			g.raw[k] = s.attempt.scorers[k].Raw(i)
		}
	}
	return g
}

// enter judges the rows of a slot and puts it into its group's heap, or counts why not.
func (l *layout) enter(s *shape, i int32) bool {
	g := &l.groups[l.group[i]]
	if g.static.Verdict != 0 {
		return true
	}
	if s.own >= 0 {
		if v := s.attempt.Predicates[s.own].Check(int(i)); v != 0 {
			l.reject[i] = v
			g.count(v, i, 1)
			return true
		}
	}
	key, ok := l.ownKey(s, i)
	if ok {
		g.heap.push(heapEntry{key, i}, l.where)
	}
	return ok
}

func (l *layout) ownKey(s *shape, i int32) (int64, bool) {
	var own int64
	for _, k := range l.ownScores {
		x := &s.attempt.scorers[k]
		own += x.Raw(int(i)) * x.weight
	}
	return own<<32 | int64(math.MaxUint32-uint32(l.rank[i])), own >= 0 && own < maxOwn
}

// leave takes a slot out of the heap or out of the count.
func (l *layout) leave(i int32) {
	g := &l.groups[l.group[i]]
	switch {
	case l.where[i] >= 0:
		g.heap.remove(int(l.where[i]), l.where)
	case l.reject[i] != 0:
		g.count(l.reject[i], i, -1)
		l.reject[i] = 0
	}
}

func (g *group) count(v uint16, slot, n int32) {
	for k := range g.rejects {
		if g.rejects[k].verdict == v {
			g.rejects[k].n += n
			return
		}
	}
	g.rejects = append(g.rejects, tally{v, slot, n})
}

// touch remembers that the rows of a slot changed.
func (l *layout) touch(i int32) {
	if !l.marked[i] {
		l.marked[i] = true
		l.dirty = append(l.dirty, i)
	}
}

// renew judges the touched slots anew.
func (l *layout) renew(s *shape) bool {
	ok := true
	for _, i := range l.dirty {
		l.marked[i] = false
		if l.group[i] < 0 {
			continue
		}
		if l.moving {
			l.sign(s, int(i))
			if g, same := l.index[string(l.signatures)]; !same || g != l.group[i] {
				l.leave(i)
				l.groups[l.group[i]].size--
				l.join(s, i)
				ok = l.enter(s, i) && ok
				continue
			}
		}
		ok = l.again(s, i) && ok
	}
	l.dirty = l.dirty[:0]
	return ok
}

// again judges the rows of a slot that stays in its group.
func (l *layout) again(s *shape, i int32) bool {
	g := &l.groups[l.group[i]]
	if g.static.Verdict != 0 {
		return true
	}
	if l.where[i] < 0 {
		l.leave(i)
		return l.enter(s, i)
	}
	if s.own >= 0 && s.attempt.Predicates[s.own].Check(int(i)) != 0 {
		l.leave(i)
		return l.enter(s, i)
	}
	key, ok := l.ownKey(s, i)
	if !ok {
		return false
	}
	g.heap.set(int(l.where[i]), key, l.where)
	return true
}
