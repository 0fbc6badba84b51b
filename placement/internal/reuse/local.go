package reuse

import (
	"encoding/binary"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Locals are pods whose answers about a node follow from what Append appends of the node, and from the rows of the node. No pod on
// another node counts, and none of these pods changes an answer about another node. The zero value has no pod.
type Locals struct{ kinds []local }

// local is a kind of pods.
type local struct {
	key   string
	from  *layout
	moves int      // of the layout, when the kind was added
	group []int32  // by slot: nodes about which the plugins of the groups Statics and States say the same
	fixed []Scorer // of group Rows, which read the object of a node alone
}

// Kinds returns how many kinds of pods there are.
func (l *Locals) Kinds() int { return len(l.kinds) }

// Add adds a pod and returns the number of its kind, which is below Kinds. It reports false when the answers about the pod follow from more
// than that, or when the engine does not serve the pod.
func (l *Locals) Add(e *Engine, pod *v1.Pod) (kind int, ok bool) {
	for _, skips := range e.skips {
		if !skips(pod) {
			return 0, false
		}
	}
	e.watch()
	if !e.podKey(pod) {
		return 0, false
	}
	if kind = slices.IndexFunc(l.kinds, func(x local) bool { return x.key == string(e.room.key) }); kind >= 0 {
		return kind, true
	}
	x := local{key: string(e.room.key)}
	s := e.shape(pod)
	if s == nil || !s.local() {
		return 0, false
	}
	a, ok := e.askerOf(pod)
	if !ok || a.filter != nil && !rowsAlone(a.filter) {
		return 0, false
	}
	for _, s := range a.scorers {
		if rowsAlone(s.Scorer) {
			continue
		}
		if n, is := s.Scorer.(NodeAlone); !is || !n.NodeAlone() {
			return 0, false
		}
		x.fixed = append(x.fixed, s.Scorer)
	}
	x.from, x.moves, x.group = s.layout, s.layout.moves, s.layout.group
	l.kinds = append(l.kinds, x)
	return len(l.kinds) - 1, true
}

// Same reports whether Append appends the same for both as long as no object of a node changes.
func (l *Locals) Same(o *Locals) bool {
	return slices.EqualFunc(l.kinds, o.kinds, func(a, b local) bool { return a.key == b.key && a.from == b.from && a.moves == b.moves })
}

// Append appends what is known of a slot for each kind. It holds until a node changes.
func (l *Locals) Append(dst []byte, slot int) []byte {
	for k := range l.kinds {
		x := &l.kinds[k]
		dst = binary.AppendVarint(dst, int64(x.group[slot]))
		for _, s := range x.fixed {
			dst = binary.AppendVarint(dst, s.Raw(slot))
		}
	}
	return dst
}

func rowsAlone(x any) bool {
	r, ok := x.(RowsAlone)
	return ok && r.RowsAlone()
}

// local reports whether no state of the shape knows a topology key; a state of ports, claims or volumes counts as if it knew one.
func (s *shape) local() bool {
	return !s.static.storage && !slices.ContainsFunc(s.counted, func(c counted) bool { return c.state.Keys() > 0 })
}
