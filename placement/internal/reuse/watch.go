package reuse

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/view"
)

// watch looks for changes of nodes and of the objects beside nodes and pods.
func (e *Engine) watch() {
	if columns := e.log.Schema().Len(); columns != e.columns { // predicates and scorers have looked up their columns
		clear(e.pastPods)
		clear(e.pastRows)
		e.forget()
		return
	}
	before := e.present
	e.present.version = e.log.Version()
	n := e.catchUp(&before)
	if n.none() {
		return
	}
	clear(e.failures)
	worst, nodes, storage := nothing, false, false
	events, known := n.events()
	for i := range events {
		switch x := &events[i]; {
		case x.Node == view.Storage:
			storage = true
		case x.Node == view.Unread:
		case x.Node < 0:
			worst = everything
		case x.Set < 0:
			worst, nodes = max(worst, e.changed(int(x.Node))), true
		}
	}
	if nodes && !e.inOrder() { // a node may have left and come back in between
		worst = max(worst, states)
	}
	if nodes || !known {
		e.ranks()
	}
	kept := (len(e.layouts) + len(e.rows)) * len(e.nodes)
	if !known || len(e.changes) > maxChanges || worst == states && (!e.survives || kept > maxKept) {
		worst = everything
	}
	if storage && worst != everything {
		e.dropStorage()
	}
	if worst == nothing {
		return
	}
	// A pod that comes once between two changes of nodes is not worth heaps: what was seen before does not count any more.
	clear(e.pastPods)
	if worst == states {
		e.forgetStates()
		return
	}
	clear(e.pastRows)
	e.forget()
}

// loss is what a change takes away.
type loss uint8

const (
	nothing    loss = iota
	states          // and the kinds
	everything      // that is kept
)

// changed records a slot whose node came, left or has another object. It returns everything when the scan order or answers about
// other nodes may depend on the change in a way that nobody follows.
func (e *Engine) changed(slot int) loss {
	if slot >= len(e.nodes) {
		return everything
	}
	old, node := e.nodes[slot], e.log.Node(slot)
	e.nodes[slot] = node
	e.changes = append(e.changes, int32(slot))
	e.present.changes = len(e.changes)
	if old == node { // the node left and came back unseen, after which classes of nodes may have other numbers
		return nothing
	}
	if old == nil || node == nil || old.Name != node.Name {
		return states
	}
	for read := range e.reads {
		if readChanged(read, old, node) {
			return everything
		}
	}
	return nothing
}

// readChanged reports whether what is read of nodes differs between two objects of one node.
func readChanged(read string, a, b *v1.Node) bool {
	if key, ok := strings.CutPrefix(read, "label:"); ok {
		x, hadX := a.Labels[key]
		y, hadY := b.Labels[key]
		return x != y || hadX != hadY
	}
	switch read {
	case "name":
		return false // a node of another name is another node, which has come
	case "images":
		return !slices.EqualFunc(a.Status.Images, b.Status.Images, func(x, y v1.ContainerImage) bool {
			return x.SizeBytes == y.SizeBytes && slices.Equal(x.Names, y.Names)
		})
	}
	return true // any other read, such as taints, is rare: take it as changed
}
