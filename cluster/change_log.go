package cluster

import "slices"

// Event is one entry of the change log.
//
//	Set >= 0, N != 0   N pods of pod set Set and term set Terms (-1: none) came to slot Node (negative: left it)
//	Set >= 0, N == 0   a pod of that set on Node was replaced by a newer object that counts the same
//	Set == -1, N == 0  the node of slot Node was added, changed or removed
//	Node == -1         something outside the nodes changed, or ids of sets or domains got other meanings: begin again
type Event struct {
	Node, Set, Terms, N int32
}

const (
	blockLen  = 256
	keepMin   = 8192 / blockLen // blocks that stay when old ones are dropped
	keepTotal = 2 * keepMin     // blocks at which old ones are dropped
)

// changes is a change log: full blocks and a last one that is being filled.
type changes[E any] struct {
	own    *owner // of the list and of the last block
	blocks [][]E
	first  uint64 // version before the first event that is kept
	next   uint64 // version after the last one
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
	if n := len(c.blocks); n > 0 && len(c.blocks[n-1]) < blockLen {
		c.blocks[n-1] = append(make([]E, 0, blockLen), c.blocks[n-1]...)
	}
}

// Version returns the number of events ever logged. It grows with every change, a Rollback included, and never falls.
// A snapshot and its forks count on from the same number, but their histories differ.
func (s *Snapshot) Version() uint64 { return s.changes.next }

// Since yields the events after version, oldest first, in blocks of at most 256, and returns true. The blocks belong to
// the snapshot. It returns false, and yields nothing, when the log does not reach back to version (it keeps at least the
// last 8,192 events) or when version lies ahead; the reader then reads the cluster again. yield must not be nil. O(events).
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

func (s *Snapshot) logAll() { s.changes.add(s.own, Event{Node: -1, Set: -1, Terms: -1}) }
