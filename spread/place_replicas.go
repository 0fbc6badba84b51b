package spread

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// PlaceOptions limit where Place puts replicas. With the zero value every node takes any number.
type PlaceOptions struct {
	// Slots are the nodes that may take replicas: those that pass the other filters. nil means all nodes. A slot without
	// a node is left out.
	Slots []int
	// Room returns how many replicas the node of a slot takes by its resources; nil means any number. It is called once for
	// each slot.
	Room func(i int) int
	// Steps bounds the search where constraints conflict; 0 means 10,000, a negative number no search.
	Steps int
}

// maxPlaced bounds the memory and the time of one call of Place.
const maxPlaced = 1_000_000

func (s *hardState) Place(n int, o PlaceOptions) (slots []int, proven bool) {
	all := n <= maxPlaced
	n = min(n, maxPlaced)
	p := &placer{state: s.clone(), effect: s.hard.effect(s.hard.pod), steps: max(cmp.Or(o.Steps, 10_000), 0)}
	p.group(s, o)
	for len(p.path) < n {
		next := p.emptiest()
		if next < 0 {
			break
		}
		p.put(next)
	}
	greedy := slices.Clone(p.path)
	if len(greedy) >= n {
		return greedy, all
	}
	if len(s.cols) < 2 {
		return greedy, true
	}
	for len(p.path) > 0 {
		p.take()
	}
	p.best, p.seen = greedy, map[string]bool{}
	if p.search(n) {
		return p.path, all
	}
	return p.best, p.steps > 0
}

// placer places replicas on a copy of a state.
type placer struct {
	state  *hardState
	effect effect
	groups []placeGroup
	path   []int // slots
	taken  []int // the group of each of the slots
	best   []int
	seen   map[string]bool
	steps  int
}

// placeGroup is a set of slots in the same domains of every constraint.
type placeGroup struct {
	slots []int // the slots of the first replicas, the nodes in turn; next makes it longer
	used  int
	nodes []placeNode // the nodes that take one more replica in this turn or in a later turn
	at    int         // the node of nodes that is next
}

// placeNode is a node with the number of replicas for which it has room.
type placeNode struct{ slot, room int }

// next reports whether the group has a node for one more replica than it uses, which is slots[used] then.
func (g *placeGroup) next() bool {
	if g.used < len(g.slots) {
		return true
	}
	if g.at == len(g.nodes) {
		g.at = 0
		g.nodes = slices.DeleteFunc(g.nodes, func(x placeNode) bool { return x.room <= 0 })
	}
	if len(g.nodes) == 0 {
		return false
	}
	x := &g.nodes[g.at]
	g.at++
	x.room--
	g.slots = append(g.slots, x.slot)
	return true
}

func (p *placer) group(s *hardState, o PlaceOptions) {
	slots := o.Slots
	if slots == nil {
		for i := range s.slots {
			slots = append(slots, i)
		}
	}
	number := map[string]int{}
	for _, i := range slots {
		if i < 0 || i >= s.slots || s.cluster.Node(i) == nil {
			continue
		}
		var key []byte
		for k := range s.cols {
			key = binary.LittleEndian.AppendUint32(key, uint32(s.cols[k].ids[i]))
			key = binary.LittleEndian.AppendUint32(key, uint32(s.cols[k].into[i]))
		}
		g, ok := number[string(key)]
		if !ok {
			g = len(p.groups)
			number[string(key)] = g
			p.groups = append(p.groups, placeGroup{})
		}
		room := math.MaxInt
		if o.Room != nil {
			room = o.Room(i)
		}
		if room > 0 {
			p.groups[g].nodes = append(p.groups[g].nodes, placeNode{i, room})
		}
	}
}

// takes reports whether group g takes one more replica.
func (p *placer) takes(g int) bool {
	x := &p.groups[g]
	return x.next() && p.state.Check(x.slots[x.used]) == 0
}

// compare puts the groups that do not count first, then the groups in the emptiest domains.
func (p *placer) compare(a, b int) int {
	i, j := p.groups[a].slots[0], p.groups[b].slots[0]
	if c := cmp.Compare(p.counted(i), p.counted(j)); c != 0 {
		return c
	}
	for k := range p.state.cols {
		col := &p.state.cols[k]
		if c := cmp.Compare(col.counts[col.ids[i]], col.counts[col.ids[j]]); c != 0 {
			return c
		}
	}
	return cmp.Compare(a, b)
}

// emptiest returns the first group that takes one more replica, -1 when no group does.
func (p *placer) emptiest() int {
	best := -1
	for g := range p.groups {
		if p.takes(g) && (best < 0 || p.compare(g, best) < 0) {
			best = g
		}
	}
	return best
}

// choices returns the groups that take one more replica, in order.
func (p *placer) choices() []int {
	var out []int
	for g := range p.groups {
		if p.takes(g) {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, p.compare)
	return out
}

// counted returns 1 when a replica on slot i changes a count, otherwise 0: such a replica blocks no other.
func (p *placer) counted(i int) int {
	for k := range p.state.cols {
		if p.state.cols[k].into[i] >= 0 {
			return 1
		}
	}
	return 0
}

func (p *placer) put(g int) {
	x := &p.groups[g]
	i := x.slots[x.used]
	x.used++
	p.state.apply(p.effect, i, 1)
	p.path, p.taken = append(p.path, i), append(p.taken, g)
}

func (p *placer) take() {
	last := len(p.path) - 1
	p.groups[p.taken[last]].used--
	p.state.apply(p.effect, p.path[last], -1)
	p.path, p.taken = p.path[:last], p.taken[:last]
}

// search tries every choice, the emptiest first. It never tries the same numbers of replicas twice.
func (p *placer) search(n int) bool {
	if len(p.path) > len(p.best) {
		p.best = slices.Clone(p.path)
	}
	if len(p.path) == n {
		return true
	}
	var key []byte
	for g := range p.groups {
		key = binary.AppendUvarint(key, uint64(p.groups[g].used))
	}
	if p.seen[string(key)] {
		return false
	}
	p.seen[string(key)] = true
	for _, g := range p.choices() {
		if p.steps--; p.steps <= 0 {
			return false
		}
		p.put(g)
		if p.search(n) {
			return true
		}
		p.take()
	}
	return false
}
