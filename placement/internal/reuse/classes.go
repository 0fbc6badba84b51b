package reuse

import (
	"maps"
	"slices"

	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/placement/internal/intern"
)

// classes divide the nodes so that plugins with KeepByNode say the same about the nodes of a class. Where the log can tell, and there are few
// classes, nodes of a class are equal in everything that the plugins read: all pods whose plugins read the same share these classes, and one
// node of each is asked about each pod. Otherwise each node is asked, and nodes of a class have the same answers.
type classes struct {
	name    string // of the reads; "": by answers
	reads   []string
	cursor  cursor
	dropped bool         // there are too many
	of      []int32      // by slot; -1: a free slot
	reps    []int32      // by class: one of its slots; -1: it has no node
	answers intern.Lists // of the classes by answers
}

// maxClasses limits the classes by reads: a decision takes a step for each.
const maxClasses = 1 << 8

// classifier is a log that divides its nodes by what is read of them.
type classifier interface {
	Classes(reads []string) (ids, reps []int32, ok bool)
}

// classesOf returns the classes for statics whose plugins are prepared.
func (e *Engine) classesOf(t *statics) *classes {
	reads, ok := t.reads(e.buffers.reads[:0])
	e.buffers.reads, e.buffers.key = reads, key.Texts(e.buffers.key[:0], reads)
	if known := e.classes[string(e.buffers.key)]; ok && known != nil && known.follow(e) {
		return known
	}
	c := &classes{cursor: e.present, reads: slices.Clone(reads), of: none(nil, e.log.Len())}
	if ok && c.byReads(e, e.scan) {
		c.name = string(e.buffers.key)
		e.classes[c.name] = c
		return c
	}
	for _, i := range e.scan {
		c.byAnswers(t, i)
	}
	return c
}

// byAnswers finds the class of a slot by what the plugins answer.
func (c *classes) byAnswers(t *statics, i int) {
	x := &c.answers
	x.Next = x.Next[:0]
	for k := range t.plugins {
		x.Next = t.plugins[k].appendAnswer(x.Next, i)
	}
	id, known := x.Number()
	if !known {
		c.reps = append(c.reps, int32(i))
	}
	c.of[i] = id
}

// byReads finds the classes of slots by what is read of them. The log may have numbered its classes in another way since the last call: a node
// that did not change tells the present number of its class. byReads reports false when the log cannot tell or there are too many classes.
func (c *classes) byReads(e *Engine, slots []int) bool {
	l, ok := e.log.(classifier)
	if !ok {
		return false
	}
	ids, reps, ok := l.Classes(c.reads)
	if !ok || len(reps) > maxClasses {
		return false
	}
	for _, i := range slots {
		c.of[i] = -1
	}
	class := make(map[int32]int32, len(reps)) // by number in the log
	for k, slot := range c.reps {
		if slot >= 0 && c.of[slot] != int32(k) { // a class without nodes gets none any more
			c.reps[k] = int32(slices.Index(c.of, int32(k)))
		}
		if slot = c.reps[k]; slot >= 0 {
			class[ids[slot]] = int32(k)
		}
	}
	for _, i := range slots {
		if e.nodes[i] == nil {
			continue
		}
		k, known := class[ids[i]]
		if !known {
			k = int32(len(c.reps))
			class[ids[i]], c.reps = k, append(c.reps, int32(i))
		}
		c.of[i] = k
	}
	return len(c.reps) <= maxClasses
}

// follow finds the classes of the changed nodes. It drops the classes by reads, and reports false, when there are too many of them.
func (c *classes) follow(e *Engine) bool {
	n := e.catchUp(&c.cursor)
	if c.dropped || len(n.nodes()) == 0 {
		return !c.dropped
	}
	var slots []int
	for _, slot := range n.nodes() {
		slots = append(slots, int(slot))
	}
	if !c.byReads(e, slots) {
		c.dropped = true
		delete(e.classes, c.name)
		maps.DeleteFunc(e.statics, func(_ string, t *statics) bool { return t.classes == c })
		maps.DeleteFunc(e.layouts, func(_ string, l *layout) bool { return l.classes == c })
	}
	return !c.dropped
}
