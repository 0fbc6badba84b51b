package reuse

import (
	"encoding/binary"
	"math"
	"slices"
	"sort"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/resources"
)

// Locals are pods whose answers about a node follow from what Append appends of the node, and from the rows of the node. No pod on
// another node counts, and none of these pods changes an answer about another node. The zero value has no pod.
type Locals struct{ kinds []local }

// local is a kind of pods.
type local struct {
	key         string
	from        *layout
	regroupings int            // of the layout, when the kind was added
	group       []int32        // by slot: nodes about which the plugins with KeepByNode and KeepByAllPods say the same
	fixed       []hooks.Scorer // with KeepByNodeAndPods, which read the object of a node alone
	open        []bool         // by group: the plugins with KeepByNode and KeepByAllPods allow it; nil: a plugin may fail on a node
	row         hooks.RowFilter
	many        hooks.RowsFilter // the same; nil when it answers about one row alone
	mono        bool             // the same is Monotone
}

// Kinds returns how many kinds of pods there are.
func (l *Locals) Kinds() int { return len(l.kinds) }

// Add adds a pod, over the nodes in this scan order, and returns the number of its kind, which is below Kinds. It reports false when the answers about the pod follow from more
// than that, or when the engine does not serve the pod.
func (l *Locals) Add(e *Engine, order []int32, pod *v1.Pod) (kind int, ok bool) {
	if !e.serves(pod, order) {
		return 0, false
	}
	if kind = slices.IndexFunc(l.kinds, func(x local) bool { return x.key == string(e.buffers.key) }); kind >= 0 {
		return kind, true
	}
	x := local{key: string(e.buffers.key)}
	s := e.kindOf(pod, 1)
	counts := func(c counted) bool { return c.state.Keys() > 0 } // a state of ports, claims or volumes counts as if it knew a topology key
	if s == nil || s.static.storage || slices.ContainsFunc(s.counted, counts) {
		return 0, false
	}
	a, ok := e.rowPluginsOf(pod)
	alone := func(x any) bool {
		r, is := x.(hooks.RowsAlone)
		return is && r.RowsAlone()
	}
	if !ok || a.filter != nil && !alone(a.filter) {
		return 0, false
	}
	for _, s := range a.scorers {
		if alone(s.Scorer) {
			continue
		}
		if n, is := s.Scorer.(hooks.NodeAlone); !is || !n.NodeAlone() {
			return 0, false
		}
		x.fixed = append(x.fixed, s.Scorer)
	}
	x.from, x.regroupings, x.group = s.layout, s.layout.regroupings, s.layout.of
	if a.row != nil && a.coder == nil && s.inRange(a.scorers) {
		x.row, x.open = a.row, s.openGroups()
		x.many, _ = a.filter.(hooks.RowsFilter)
		_, x.mono = a.filter.(hooks.Monotone)
	}
	l.kinds = append(l.kinds, x)
	return len(l.kinds) - 1, true
}

// Same reports whether Append appends the same for both as long as no object of a node changes.
func (l *Locals) Same(o *Locals) bool {
	return slices.EqualFunc(l.kinds, o.kinds, func(a, b local) bool {
		return a.from == b.from && a.regroupings == b.regroupings && (a.key == b.key || len(a.fixed) == 0 && len(b.fixed) == 0)
	})
}

// AppendKeys appends the keys of the kinds.
func (l *Locals) AppendKeys(dst []byte) []byte {
	for k := range l.kinds {
		dst = key.Text(dst, l.kinds[k].key)
	}
	return dst
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

// Countable reports whether Open and Room say how many pods of a kind would be placed, one after the other, on some nodes: no plugin can fail.
func (l *Locals) Countable(kind int) bool { return l.kinds[kind].open != nil }

// Open reports whether nothing but the rows of a slot can keep a pod of a countable kind out.
func (l *Locals) Open(kind, slot int) bool { return l.kinds[kind].open[l.kinds[kind].group[slot]] }

// Room returns how many pods of a countable kind find room, one after the other, on an open slot with these rows: at most so many. Each adds
// its requests to what is requested.
func (l *Locals) Room(kind, slot, most int, allocatable, requested, requests resources.Vector) int {
	x := &l.kinds[kind]
	n := 0
	if x.many != nil {
		n = largest(most, func(n int) bool { return x.accepts(allocatable, requested, after(requested, requests, n-1)) })
	}
	for n < most && x.row.CheckRow(slot, allocatable, after(requested, requests, n)) == 0 {
		n++
	}
	return n
}

// RoomAtLeast returns for how many pods of all kinds, in any order, there is room for certain on a slot with these rows that is open to all kinds: at most
// so many. None asks for more than the requests.
func (l *Locals) RoomAtLeast(most int, allocatable, requested, requests resources.Vector) int {
	return largest(most, func(n int) bool {
		end := after(requested, requests, n-1)
		for k := range l.kinds {
			if x := &l.kinds[k]; x.many == nil || !x.accepts(allocatable, requested, end) {
				return false
			}
		}
		return true
	})
}

// RoomAtMost returns a number of pods of all kinds beyond which a slot with these rows has no room for another, whatever their order: at most so many.
// None asks for less than the requests.
func (l *Locals) RoomAtMost(slot, most int, allocatable, requested, requests resources.Vector) int {
	return sort.Search(most, func(n int) bool {
		now := after(requested, requests, n)
		for k := range l.kinds {
			if x := &l.kinds[k]; !x.mono || x.row.CheckRow(slot, allocatable, now) == 0 {
				return false
			}
		}
		return true
	})
}

// accepts reports whether every row between these two has room for one more pod.
func (x *local) accepts(allocatable, from, to resources.Vector) bool {
	v, same := x.many.CheckRows([2]resources.Vector{allocatable, allocatable}, [2]resources.Vector{from, to})
	return v == 0 && same
}

// after returns what is requested after n pods came.
func after(requested, requests resources.Vector, n int) resources.Vector {
	v := slices.Clone(requested).Grow(len(requests))
	for c, each := range requests {
		all := int64(math.MaxInt64)
		if n <= 0 || each <= all/int64(n) {
			all = each * int64(n)
		}
		v[c] = resources.Add(v[c], all)
	}
	return v
}

// largest returns the largest number up to most that holds, if each number below one that holds does too; 0 when none does.
func largest(most int, holds func(n int) bool) (n int) {
	end := 1
	for end <= most && holds(end) {
		n, end = end, 2*end
	}
	return n + sort.Search(min(end-1, most)-n, func(more int) bool { return !holds(n + more + 1) })
}

// openGroups reports of each group whether the plugins that do not read rows allow it; nil when one fails.
func (s *podKind) openGroups() []bool {
	if !s.divide() {
		return nil
	}
	open := make([]bool, len(s.layout.list))
	for g := range open {
		x := &s.layout.list[g]
		if x.size == 0 || s.verdict(x).Verdict != 0 {
			continue
		}
		allowed, failed := s.allows(int(x.member))
		if failed {
			return nil
		}
		open[g] = allowed
	}
	return open
}

// inRange reports whether no score can be out of range. Those with KeepByAllPods are in range.
func (s *podKind) inRange(rows []rowScorer) bool {
	for k := range rows {
		if _, ok := rows[k].Scorer.(hooks.InRange); !ok {
			return false
		}
	}
	for _, x := range s.static.scorers {
		if _, ok := x.(hooks.InRange); x != nil && !ok {
			return false
		}
	}
	return true
}
