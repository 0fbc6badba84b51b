package reuse

import "github.com/podberth/podberth/placement/internal/boxes"

// tree is the boxes of a layout. They follow the log.
type tree struct {
	*boxes.Tree
	cursor    cursor
	regrouped []int32 // slots that have another group
}

// follow brings the boxes to the version of the cluster. It reports false when the log does not reach back that far, or when so much
// has changed that a scan of every node takes less time.
func (t *tree) follow(e *Engine, l *layout) bool {
	n := e.catchUp(&t.cursor)
	if n.reordered() {
		return false
	}
	for _, i := range t.regrouped {
		t.Update(int(i), l.of[i])
	}
	t.regrouped = t.regrouped[:0]
	blocks, known := n.events()
	events := 0
	for _, block := range blocks {
		events += len(block)
	}
	if !known || 4*events > len(l.of) {
		return false
	}
	for _, block := range blocks {
		for k := range block {
			if slot := block[k].Node; slot >= 0 {
				t.Update(int(slot), l.of[slot])
			}
		}
	}
	return true
}
