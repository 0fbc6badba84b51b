package reuse

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

// watch looks for changes of nodes and of the objects beside nodes and pods.
func (e *Engine) watch() {
	version := e.log.Version()
	if version == e.at {
		return
	}
	outdated := false
	blocks, known := e.since(e.at)
	for _, events := range blocks {
		for i := range events {
			if x := &events[i]; x.Node < 0 || x.Set < 0 && !e.changed(int(x.Node)) {
				outdated = true
			}
		}
	}
	e.at = version
	if !known || outdated || len(e.changes) > maxChanges {
		// A pod that comes once between two changes of nodes is not worth heaps: what was seen before does not count any more.
		clear(e.seen)
		clear(e.asked)
		e.forget()
	}
}

// changed records a node whose object was replaced. It reports false when states, the scan order or answers about other nodes
// may depend on the change.
func (e *Engine) changed(slot int) bool {
	if slot >= len(e.nodes) {
		return false
	}
	old, node := e.nodes[slot], e.log.Node(slot)
	if old == node {
		return true
	}
	if old == nil || node == nil || old.Name != node.Name {
		return false
	}
	e.nodes[slot] = node
	e.changes = append(e.changes, int32(slot))
	for read := range e.reads {
		if readChanged(read, old, node) {
			return false
		}
	}
	return true
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
		return false // a node of another name is another node
	case "images":
		return !sameImages(a, b)
	}
	return true // taints and what else a constraint may honour: seldom read
}

func sameImages(a, b *v1.Node) bool {
	if len(a.Status.Images) != len(b.Status.Images) {
		return false
	}
	for i := range a.Status.Images {
		x, y := &a.Status.Images[i], &b.Status.Images[i]
		if x.SizeBytes != y.SizeBytes || len(x.Names) != len(y.Names) {
			return false
		}
		for k := range x.Names {
			if x.Names[k] != y.Names[k] {
				return false
			}
		}
	}
	return true
}
