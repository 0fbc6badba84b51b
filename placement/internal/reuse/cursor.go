package reuse

import (
	"slices"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/view"
)

// cursor is how far something that is kept has followed the cluster. Each follower has a cursor of its own, because most of what is kept
// waits until the next pod that needs it. They catch up in this order, so that each finds what it reads up to date:
//
//  1. the engine (watch): which nodes changed, and what must be forgotten
//  2. statics: the classes of changed nodes
//  3. rows: the keys of nodes with events
//  4. the states of a kind: the pods of the events
//  5. the layout: changed nodes, shifted slots, and nodes with events
//  6. the exceptions of a kind: likewise, and nodes with other counts
//  7. the boxes of a layout, when a pod is searched for
type cursor struct {
	version uint64 // of the log
	changes int    // of the engine's list of changed nodes
	orders  int    // how many scan orders there were
}

// news is what happened between two cursors.
type news struct {
	engine   *Engine
	from, to cursor
}

// catchUp moves a cursor to the present and returns what happened since.
func (e *Engine) catchUp(c *cursor) news {
	n := news{e, *c, e.present}
	*c = n.to
	return n
}

// none reports whether the log has no event.
func (n *news) none() bool { return n.from.version == n.to.version }

// nodes returns the slots whose node came, left or has another object. A slot may come twice.
func (n *news) nodes() []int32 { return n.engine.changes[n.from.changes:n.to.changes] }

// reordered reports whether the scan order is another one.
func (n *news) reordered() bool { return n.from.orders != n.to.orders }

// events returns the events, and false when the log does not reach back that far. The list is valid until the next call. Followers
// that a pod needs often have the same version, so the engine reads the events since then once for all of them. A function that each
// follower gives to the log would be allocated at every decision.
func (n *news) events() (events []cluster.Event, known bool) {
	b := &n.engine.buffers
	if n.none() {
		return nil, true
	}
	if from, to := n.from.version, n.to.version; !b.known || b.from != from || b.to != to {
		b.events, b.from, b.to = nil, from, to
		b.known = n.engine.log.Since(from, n.engine.collect)
	}
	return b.events, b.known
}

// collect takes a block of events of the log. One block, which is the rule, is not copied.
func (b *buffers) collect(block []cluster.Event) {
	if len(b.events) == 0 {
		b.events, b.blocks = block, b.blocks[:0]
		return
	}
	if len(b.blocks) == 0 {
		b.blocks = append(b.blocks, b.events...)
	}
	b.blocks = append(b.blocks, block...)
	b.events = b.blocks
}

// scanBy takes the scan order of a question.
func (e *Engine) scanBy(order []int32) {
	if view.SameList(e.order, order) {
		return
	}
	e.order, e.scan = order, e.scan[:0]
	for _, i := range order {
		e.scan = append(e.scan, int(i))
	}
}

// ranks returns the place in scan order of each slot. The list is written over when the order is another one: rows and boxes read it after
// they have followed the order.
func (e *Engine) ranks() []int32 {
	if !e.inOrder() || len(e.ranked) != e.log.Len() {
		e.ranked, e.rankedOf = slices.Grow(e.ranked[:0], e.log.Len())[:e.log.Len()], e.order
		clear(e.ranked)
		e.present.orders++
		for k, i := range e.scan {
			e.ranked[i] = int32(k)
		}
	}
	return e.ranked
}

// inOrder reports whether the scan order is the order that the ranks were made of.
func (e *Engine) inOrder() bool { return view.SameList(e.rankedOf, e.order) }
