package placement

import (
	"math"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/podgroup"
)

// lowest remembers of each slot which pods there may leave for others, so that a search for victims walks only slots with such a pod, and none
// when no slot has one.
type lowest struct {
	slots   []lowestOf
	unknown []int         // slots that were touched
	count   map[int64]int // slots by their lowest priority
}

// lowestOf is what is known of a slot.
type lowestOf struct {
	known    bool
	priority int64 // the lowest of the pods; the lowest int64 with a pod of a group, whose group has the priority; the largest int64 without a pod
}

// read reads the pods of the slots that were touched.
func (l *lowest) read(c Cluster) {
	if l.count == nil {
		l.count = map[int64]int{}
	}
	for i := len(l.slots); i < c.Len(); i++ {
		l.slots = append(l.slots, lowestOf{})
		l.unknown = append(l.unknown, i)
	}
	for _, i := range l.unknown {
		s := &l.slots[i]
		if s.known {
			continue
		}
		*s = lowestOf{known: true, priority: math.MaxInt64}
		if c.Node(i) != nil {
			for q := range c.Pods(i) {
				s.priority = min(s.priority, int64(podinfo.Priority(q)))
				if _, grouped := podgroup.Of(q); grouped {
					s.priority = math.MinInt64
				}
			}
		}
		l.count[s.priority]++
	}
	l.unknown = l.unknown[:0]
}

// any reports whether a slot has a pod below a priority. Few priorities are in use.
func (l *lowest) any(priority int64) bool {
	for p := range l.count {
		if p < priority {
			return true
		}
	}
	return false
}

// touch forgets a slot.
func (l *lowest) touch(slot int) {
	if slot < len(l.slots) && l.slots[slot].known {
		p := l.slots[slot].priority
		if l.count[p]--; l.count[p] == 0 {
			delete(l.count, p)
		}
		l.slots[slot].known = false
		l.unknown = append(l.unknown, slot)
	}
}
