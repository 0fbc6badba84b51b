package placement

import (
	"encoding/binary"
	"math"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
)

// layout divides the nodes into groups of equal signature. Within a group only the nodes' own rows differ: whether the pod
// fits and what the resource and image scores give. Everything else, verdicts that move whole domains and scores that are
// normalized over all feasible nodes included, is asked once for each group.
//
// Shapes that ask for the same, tolerate and select the same nodes and look at the same topology keys share a layout, as
// long as no signature depends on the pods of a node.
type layout struct {
	version uint64
	founder *shape
	private bool // signatures depend on the founder's counts
	broken  bool // a score does not fit the keys of the heaps

	static []int32  // class of equal static signatures, by slot
	group  []int32  // -1: a free slot
	where  []int32  // position in the group's heap; -1: rejected by the slot's own rows
	reject []uint16 // that verdict
	groups []group
	index  map[string]int32
	rank   []int32
	dirty  []int32
	marked []bool

	signature  []int32 // scratch
	signatures []byte
}

// group is the nodes of one signature.
type group struct {
	size    int32
	static  filter.Rejection // of the predicates before the one that reads rows
	heap    heap
	rejects []tally // of its nodes whose own rows reject
	raw     []int64 // of the scorers that only a change of a node can change
}

type tally struct {
	verdict uint16
	slot, n int32
}

const maxOwn = 1 << 30

// lay gives the shape its layout, a new one if need be. It reports false when the own scores do not fit the heap's keys.
func (r *reuse) lay(s *shape) bool {
	private := s.private()
	if !private {
		r.key.b = r.key.b[:0]
		r.key.layout(s)
		if l, ok := r.layouts[string(r.key.b)]; ok {
			s.layout = l
			return l.follow(r)
		}
	}
	n := r.log.Len()
	l := &layout{
		version: r.log.Version(), founder: s, private: private, index: map[string]int32{}, rank: r.ranks(),
		static: make([]int32, n), group: make([]int32, n), where: make([]int32, n), reject: make([]uint16, n), marked: make([]bool, n),
	}
	s.layout = l
	for i := range n {
		l.group[i], l.where[i] = -1, -1
	}
	order := r.plan.order()
	l.classify(s, order)
	for _, i := range order {
		l.join(s, int32(i))
		if !l.enter(s, int32(i)) {
			return false
		}
	}
	if !private {
		r.layouts[string(r.key.b)] = l
	}
	return true
}

// private reports whether a signature of the shape depends on the pods of the node: a topology key that no two nodes share.
func (s *shape) private() bool {
	for _, key := range s.topologyKeys() {
		if _, domains, have := s.reuse.log.Domains(key); key == v1.LabelHostname || domains >= have && have > 0 {
			return true
		}
	}
	return false
}

func (s *shape) topologyKeys() (keys []string) {
	if s.hard != nil {
		keys = s.hardE.Keys(keys)
	}
	if s.soft != nil {
		keys = s.softE.Keys(keys)
	}
	if s.pods != nil {
		keys = s.pods.AppendKeys(keys)
	}
	return keys
}

// follow judges the nodes anew whose pods changed. It reports false when the layout no longer serves.
func (l *layout) follow(r *reuse) bool {
	version := r.log.Version()
	if version == l.version {
		return !l.broken
	}
	known := r.log.Since(l.version, func(events []cluster.Event) {
		for i := range events {
			l.touch(events[i].Node)
		}
	})
	l.version = version
	l.broken = l.broken || !known || !l.renew(l.founder)
	return !l.broken
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
	g := group{raw: make([]int64, len(s.fixed))}
	for k, p := range s.attempt.Predicates {
		if k == s.statics {
			break
		}
		if v := p.Check(i); v != 0 {
			g.static = filter.Rejection{Predicate: uint16(k), Verdict: v}
			break
		}
	}
	for k := range s.fixed {
		g.raw[k] = s.fixed[k].Raw(i)
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
	for k := range s.rows {
		own += s.rows[k].Raw(int(i)) * s.rows[k].weight
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
		if l.private {
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
