package cluster

import (
	"slices"

	"github.com/podberth/podberth/internal/view"
)

// Event is one entry of the change log.
//
//	Set >= 0, N != 0   N pods of pod set Set and term set Terms (-1: none) came to slot Node (negative: left it)
//	Set >= 0, N == 0   a pod of that set on Node was replaced by a newer object that counts the same
//	Set == -1, N == 0  the node of slot Node was added, changed or removed
//	Node == -1         something outside the nodes changed, or ids of sets or domains got other meanings: begin again
//	Node == -2         a claim, a volume or another object of storage changed, which only pods with volumes read
//	Node == -3         a PodDisruptionBudget, a PriorityClass or a group changed, which no filter and no score reads
type Event struct {
	Node, Set, Terms, N int32
}

const (
	blockLen  = 256
	keepMin   = 8192 / blockLen // number of blocks that stay when old blocks are dropped
	keepTotal = 2 * keepMin     // number of blocks at which old blocks are dropped
)

// changes is a change log: full blocks, and a last block that is being filled.
type changes[E any] struct {
	own    *owner // of the list and of the last block
	blocks [][]E
	first  uint64 // version before the first event that is kept
	next   uint64 // version after the last event
}

func (c *changes[E]) add(own *owner, e E) {
	if c.own != own {
		c.unshare(own)
	}
	n := len(c.blocks)
	if n == 0 || len(c.blocks[n-1]) == blockLen {
		if n == keepTotal {
			c.blocks = append(make([][]E, 0, keepTotal), c.blocks[n-keepMin:]...)
			c.first += (keepTotal - keepMin) * blockLen
		}
		c.blocks = append(c.blocks, make([]E, 0, blockLen))
		n = len(c.blocks)
	}
	c.blocks[n-1] = append(c.blocks[n-1], e)
	c.next++
}

func (c *changes[E]) unshare(own *owner) {
	c.blocks, c.own = slices.Clone(c.blocks), own
	if n := len(c.blocks); n > 0 {
		c.blocks[n-1] = append(make([]E, 0, blockLen), c.blocks[n-1]...)
	}
}

// Version returns the number of events ever logged. It grows with every change, a Rollback included, and never falls.
// A snapshot and its forks count on from the same number, but their histories differ.
func (s *Snapshot) Version() uint64 { return s.changes.next }

// Since yields the events after version, oldest first, in blocks of at most 256, and returns true. The blocks belong to the
// snapshot. Since returns false and yields nothing when version is larger than Version or so old that the log has dropped
// its events. The log keeps at least the last 8,192 events. After false the reader reads the whole cluster again. yield must
// not be nil. O(events).
func (s *Snapshot) Since(version uint64, yield func([]Event)) bool {
	return s.changes.since(version, yield)
}

func (c *changes[E]) since(version uint64, yield func([]E)) bool {
	if version < c.first || version > c.next {
		return false
	}
	for skip := version - c.first; skip < c.next-c.first; {
		block := c.blocks[skip/blockLen][skip%blockLen:]
		yield(block)
		skip += uint64(len(block))
	}
	return true
}

func (s *Snapshot) logPod(slot int, info *info, n int32) {
	s.changes.add(s.own, Event{Node: int32(slot), Set: info.set, Terms: info.terms, N: n})
}

func (s *Snapshot) logNode(slot int) {
	s.changes.add(s.own, Event{Node: int32(slot), Set: -1, Terms: -1})
}

func (s *Snapshot) logAll() { s.logOutside(view.Everything) }

// logOutside logs a change outside the nodes; what is one of the constants of package view.
func (s *Snapshot) logOutside(what int32) {
	s.changes.add(s.own, Event{Node: what, Set: -1, Terms: -1})
}
