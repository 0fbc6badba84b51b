package placement

import (
	"math"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/podgroup"
)

// lowest remembers of each slot whether a pod there may leave for others, so that a search for victims walks only such slots.
type lowest struct{ slots []lowestOf }

// lowestOf is what is known of a slot.
type lowestOf struct {
	known    bool
	grouped  bool  // a pod of a group is there: its group has the priority
	priority int64 // the lowest of the pods; the largest int64 without one
}

// below reports whether a pod of a slot belongs to a group, or has a priority below another. The pods of a slot are read once, until the slot is
// touched.
func (l *lowest) below(c Cluster, slot int, priority int64) bool {
	for len(l.slots) <= slot {
		l.slots = append(l.slots, lowestOf{})
	}
	s := &l.slots[slot]
	if !s.known {
		*s = lowestOf{known: true, priority: math.MaxInt64}
		for q := range c.Pods(slot) {
			if _, grouped := podgroup.Of(q); grouped {
				s.grouped = true
			}
			s.priority = min(s.priority, int64(podinfo.Priority(q)))
		}
	}
	return s.grouped || s.priority < priority
}

// touch forgets a slot.
func (l *lowest) touch(slot int) {
	if slot < len(l.slots) {
		l.slots[slot] = lowestOf{}
	}
}
