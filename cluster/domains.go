package cluster

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	podkey "github.com/podberth/podberth/internal/key"
)

// valueIndex numbers the values of a label on the nodes, or the combinations of everything that a list of reads names. The
// first question makes the index. Every change of a node keeps the index up to date.
type valueIndex struct {
	own    *owner
	key    string   // label, for domains
	reads  []string // for classes
	labels *labelReads
	ids    []int32 // by slot, -1: none
	byName layered[string]
	names  []string // by id, as the two below
	counts []int32
	reps   []int32
	have   int
	given  bool // of domains: whether a caller may hold ids, so that a change must copy them
}

// Domains describes the values of the label key on the nodes as they are now:
//
//   - ids has the number of the node's value for each slot, -1 for a free slot and for a node without the label. The slice
//     never changes.
//   - domains is the number of values. Their numbers run from 0 to domains-1.
//   - have is the number of nodes with the label.
//
// A value keeps its number while every value keeps a node. Otherwise the snapshot logs an event with Node == -1, except when
// every node has a value of its own before and after the change. It also logs such an event when it begins or
// ceases to be true that no two nodes share a value. O(nodes) at the first call for a key, then O(1).
func (s *Snapshot) Domains(key string) (ids []int32, domains, have int) {
	c := s.values(indexKey{name: key})
	if c == nil {
		c = s.addValues(indexKey{name: key}, &valueIndex{key: key})
	}
	return c.ids, len(c.names), c.have
}

// Classes divides the nodes into classes. Nodes of one class are equal in everything that reads names:
//
//   - "label:KEY": the value of the label, or its absence.
//   - "taints": key, value and effect of spec.taints, in order.
//   - "unschedulable" (spec.unschedulable), "name", and "features" (the set of status.declaredFeatures).
//
// ids has the class of each slot, -1 for a free slot. reps has one slot of each class. ok is false, and the slices are nil,
// when reads has any other string. Empty reads give one class of all nodes. The slices are valid until the next change of a
// node, which may number the classes in another way. Read-only. O(nodes) at the first call for a list of reads, then O(reads).
func (s *Snapshot) Classes(reads []string) (ids, reps []int32, ok bool) {
	for _, r := range reads {
		if !isRead(r) {
			return nil, nil, false
		}
	}
	var room [128]byte
	list := room[:0]
	for _, r := range reads {
		list = podkey.Text(list, r)
	}
	s.lazy.RLock()
	c := s.indexes[indexKey{classes: true, name: string(list)}] // as values, which would need memory for the name
	s.lazy.RUnlock()
	if c == nil {
		c = s.addValues(indexKey{classes: true, name: string(list)}, newClasses(reads))
	}
	return c.ids, c.reps, true
}

func isRead(read string) bool {
	switch read {
	case "taints", "unschedulable", "name", "features":
		return true
	}
	return strings.HasPrefix(read, "label:")
}

// indexKey names an index: a label's, or a list of reads'.
type indexKey struct {
	classes bool
	name    string
}

// values returns an index for a caller and marks the index of a label as held. It returns nil when there is no index. An index
// of another snapshot needs no mark, because every change copies such an index.
func (s *Snapshot) values(name indexKey) *valueIndex {
	s.lazy.RLock()
	c := s.indexes[name]
	noted := c == nil || c.own != s.own || c.given || c.reads != nil
	s.lazy.RUnlock()
	if !noted {
		s.lazy.Lock()
		c.given = true
		s.lazy.Unlock()
	}
	return c
}

// maxClasses is the largest number of class indexes. When there are more, the snapshot drops all of them, because it does
// not count the uses of an index.
const maxClasses = 128

// addValues fills an index and publishes it. Of concurrent reads that publish an index of one name, the first index stays.
func (s *Snapshot) addValues(name indexKey, c *valueIndex) *valueIndex {
	s.lazy.Lock()
	defer s.lazy.Unlock()
	if have := s.indexes[name]; have != nil {
		return have // its maker has marked it as held
	}
	c.own, c.given = s.own, true
	c.ids = make([]int32, s.n)
	for i := range c.ids {
		c.ids[i] = -1
	}
	for i := range s.n {
		if node := s.Node(i); node != nil {
			v, ok := c.of(node)
			c.set(i, v, ok)
		}
	}
	m := maps.Clone(s.indexes) // forks may share the map
	if m == nil {
		m = map[indexKey]*valueIndex{}
	}
	if c.reads != nil && len(m) >= maxClasses {
		maps.DeleteFunc(m, func(_ indexKey, c *valueIndex) bool { return c.reads != nil })
	}
	m[name] = c
	s.indexes = m
	return c
}

// reindexValues brings all indexes up to date with the node that a slot has now (nil: none).
func (s *Snapshot) reindexValues(slot int, node *v1.Node) {
	var renewed map[indexKey]*valueIndex // forks may share the map of before
	lost := false
	for name, c := range s.indexes {
		var v string
		ok := false
		if node != nil {
			v, ok = c.of(node)
		}
		if slot < len(c.ids) && c.has(slot, v, ok) {
			continue
		}
		if c.own != s.own {
			if renewed == nil {
				renewed = maps.Clone(s.indexes)
			}
			c = c.clone(s.own)
			renewed[name] = c
		} else if c.given && c.reads == nil && slot < len(c.ids) {
			c.ids, c.given = slices.Clone(c.ids), false
		}
		for len(c.ids) <= slot {
			c.ids = append(c.ids, -1)
		}
		before := len(c.names) == c.have
		renumbered := c.set(slot, v, ok)
		after := len(c.names) == c.have
		if c.reads == nil && (before != after || renumbered && !after) {
			lost = true
		}
	}
	if renewed != nil {
		s.indexes = renewed
	}
	if lost {
		s.logAll()
	}
}

func (c *valueIndex) clone(own *owner) *valueIndex {
	return &valueIndex{
		own: own, key: c.key, reads: c.reads, labels: c.labels, ids: slices.Clone(c.ids), byName: c.byName, names: slices.Clone(c.names),
		counts: slices.Clone(c.counts), reps: slices.Clone(c.reps), have: c.have,
	}
}

// has reports whether the slot has that value in the index already.
func (c *valueIndex) has(slot int, v string, ok bool) bool {
	id := c.ids[slot]
	if id < 0 {
		return !ok
	}
	return ok && c.names[id] == v
}

// set gives a slot a value, or none when ok is false. It reports whether a number changed its meaning: when a value loses its
// last node, the value with the highest number gets its number.
func (c *valueIndex) set(slot int, v string, ok bool) (renumbered bool) {
	old, id := c.ids[slot], int32(-1)
	if ok {
		if id = c.byName.get(v); id == gone {
			id = int32(len(c.names))
			c.byName.put(c.own, v, id)
			c.names, c.counts, c.reps = append(c.names, v), append(c.counts, 0), append(c.reps, int32(slot))
		}
		c.counts[id]++
		c.have++
	}
	c.ids[slot] = id
	if old < 0 {
		return false
	}
	c.have--
	if c.counts[old]--; c.counts[old] > 0 {
		if c.reps[old] == int32(slot) {
			c.reps[old] = int32(slices.Index(c.ids, old))
		}
		return false
	}
	c.byName.delete(c.own, c.names[old])
	last := int32(len(c.names) - 1)
	if old != last {
		c.names[old], c.counts[old], c.reps[old] = c.names[last], c.counts[last], c.reps[last]
		c.byName.put(c.own, c.names[old], old)
		for i := range c.ids {
			if c.ids[i] == last {
				c.ids[i] = old
			}
		}
	}
	c.names, c.counts, c.reps = c.names[:last], c.counts[:last], c.reps[:last]
	return true
}

// manyReads is the number of reads from which the labels of a node are looked up among the reads, and not the reads among the labels.
const manyReads = 64

// labelReads are the reads of labels in a long list of reads, so that a node costs what it has labels.
type labelReads struct {
	number map[string]uint64 // of the read that names the label, from 1
	others []string          // reads that are no labels
}

// newClasses returns an empty index of classes.
func newClasses(reads []string) *valueIndex {
	c := &valueIndex{reads: append([]string{}, reads...)}
	if len(reads) < manyReads {
		return c
	}
	c.labels = &labelReads{number: make(map[string]uint64, len(reads))}
	for _, r := range c.reads {
		if label, ok := strings.CutPrefix(r, "label:"); ok {
			c.labels.number[label] = uint64(len(c.labels.number) + 1)
		} else {
			c.labels.others = append(c.labels.others, r)
		}
	}
	return c
}

// appendTo appends the labels of a node that are read, by their numbers.
func (l *labelReads) appendTo(b []byte, node *v1.Node) []byte {
	type label struct {
		number uint64
		value  string
	}
	var has []label
	for k, v := range node.Labels {
		if n := l.number[k]; n > 0 {
			has = append(has, label{n, v})
		}
	}
	slices.SortFunc(has, func(a, b label) int { return cmp.Compare(a.number, b.number) })
	for _, x := range has {
		b = podkey.Text(binary.AppendUvarint(b, x.number), x.value)
	}
	return append(b, 0)
}

// of returns the value of a node, and false for a node without a value.
func (c *valueIndex) of(node *v1.Node) (string, bool) {
	if c.reads == nil {
		v, ok := node.Labels[c.key]
		return v, ok
	}
	var b []byte
	reads := c.reads
	if c.labels != nil {
		b, reads = c.labels.appendTo(b, node), c.labels.others
	}
	for _, r := range reads {
		switch r {
		case "taints":
			b = binary.AppendUvarint(b, uint64(len(node.Spec.Taints)))
			for i := range node.Spec.Taints {
				t := &node.Spec.Taints[i]
				b = podkey.Text(podkey.Text(podkey.Text(b, t.Key), t.Value), t.Effect)
			}
		case "unschedulable":
			if node.Spec.Unschedulable {
				b = append(b, 1)
			} else {
				b = append(b, 0)
			}
		case "name":
			b = podkey.Text(b, node.Name)
		case "features":
			features := slices.Compact(slices.Sorted(slices.Values(node.Status.DeclaredFeatures)))
			b = binary.AppendUvarint(b, uint64(len(features)))
			for _, f := range features {
				b = podkey.Text(b, f)
			}
		default:
			v, ok := node.Labels[strings.TrimPrefix(r, "label:")]
			if !ok {
				b = append(b, 0)
				continue
			}
			b = podkey.Text(append(b, 1), v)
		}
	}
	return string(b), true
}
