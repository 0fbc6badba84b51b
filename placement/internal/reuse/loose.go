package reuse

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/key"
)

// A pod that tolerates and selects what no pod before it did has no layout. It takes the layout of a partition: the nodes by what
// the static plugins read of them, not by what they answer. Pods whose plugins read the same share the partition, and one node of each
// class is asked about each pod.

// partition divides the nodes into classes that are equal in everything that some reads name.
type partition struct {
	name   string
	reads  []string
	cursor cursor
	known  bool    // the classes were found once
	class  []int32 // by slot
	reps   []int32 // by class: one of its slots; -1: it has no node
}

// maxClasses bounds a partition: more classes cost more than a layout of the pod's own.
const maxClasses = 1 << 8

// Everywhere is a Compiled whose domains do not depend on the tolerations and the node selection of the pod: AppendDomains is the same for
// all pods with the same AppendLayoutKey.
type Everywhere interface{ Everywhere() }

// looseKind returns a kind for a pod, over a layout that pods with other tolerations and node affinity share. The engine does not keep
// the kind. nil: the pod has a layout with its own statics.
func (e *Engine) looseKind(pod *v1.Pod, key string, c compiled) *podKind {
	for k := range c.list {
		if _, ok := c.list[k].compiled.(Everywhere); !ok {
			return nil
		}
	}
	e.buffers.key = e.staticKeys.append(e.buffers.key[:0], pod)
	if _, again := e.pastStatics[string(e.buffers.key)]; again {
		return nil
	}
	remember(e.pastStatics, string(e.buffers.key), struct{}{})
	if len(e.statics) == 0 || e.readsStorage(pod) { // the first statics of all are kept: most pods of most clusters share them
		return nil
	}
	t := e.looseStatics(pod)
	if t == nil {
		return nil
	}
	e.buffers.key = c.appendKey(e.buffers.key[:0]) // for its side effect: it notes which term sets match
	s := &podKind{engine: e, pod: pod, madeFor: key, podKey: key, shared: true}
	s.build(c, t)
	return s
}

// looseStatics returns the statics of a pod by the classes of a partition; nil when there is none.
func (e *Engine) looseStatics(pod *v1.Pod) *statics {
	t := &statics{pod: pod, cursor: e.now()}
	if t.usable = t.prepare(e); !t.usable {
		return nil
	}
	var reads []string
	for k := range t.plugins {
		if t.plugins[k].reader == nil {
			return nil
		}
		reads = t.plugins[k].reader.Reads(reads)
	}
	slices.Sort(reads)
	p := e.partitionOf(slices.Compact(reads))
	if p == nil {
		return nil
	}
	t.partition, t.class = p.name, p.class
	for _, slot := range p.reps {
		if slot < 0 {
			t.verdict, t.raw = append(t.verdict, filter.Rejection{}), append(t.raw, nil)
			continue
		}
		t.judge(int(slot))
	}
	if !t.usable {
		return nil
	}
	return t
}

// partitionOf returns the partition by these reads, up to date; nil when the log cannot tell, or when there are too many classes.
func (e *Engine) partitionOf(reads []string) *partition {
	name := string(key.Texts(nil, reads))
	p, known := e.partitions[name]
	if !known {
		p = &partition{name: name, reads: reads}
		for range e.log.Len() {
			p.class = append(p.class, -1)
		}
		e.partitions[name] = p
	}
	if !p.follow(e) {
		return nil
	}
	return p
}

// follow finds the classes of the changed nodes. The log may have numbered its classes in another way since: a node that did not change
// tells the present number of its class.
func (p *partition) follow(e *Engine) bool {
	if p.known && p.cursor.changes == len(e.changes) {
		return len(p.reps) <= maxClasses
	}
	l, ok := e.log.(classes)
	if !ok {
		return false
	}
	ids, reps, ok := l.Classes(p.reads)
	if !ok || len(reps) > maxClasses {
		return false
	}
	slots := e.scan
	n := e.catchUp(&p.cursor)
	if p.known {
		slots = nil
		for _, slot := range n.nodes() {
			p.class[slot] = -1
			slots = append(slots, int(slot))
		}
	}
	of := make(map[int32]int32, len(reps)) // class by number in the log
	for c, slot := range p.reps {
		if slot >= 0 && p.class[slot] != int32(c) { // a class without nodes gets none any more
			p.reps[c] = int32(slices.Index(p.class, int32(c)))
		}
		if slot = p.reps[c]; slot >= 0 {
			of[ids[slot]] = int32(c)
		}
	}
	for _, i := range slots {
		if e.nodes[i] == nil {
			continue
		}
		c, known := of[ids[i]]
		if !known {
			c = int32(len(p.reps))
			of[ids[i]], p.reps = c, append(p.reps, int32(i))
		}
		p.class[i] = c
	}
	p.known = true
	return len(p.reps) <= maxClasses
}
