package reuse

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/heap"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/resources"
)

// partly is a predicate whose verdicts have reasons that differ from node to node.
type partly struct{ filter.Predicate }

func (partly) Partial(resources.Verdict) bool { return true }
func (partly) ReasonsAt(int) []string         { return nil }

// Verdicts that no node has do not keep the rejections from being counted.
func TestRejectedByNobody(t *testing.T) {
	rejected := func(size, n int32) bool {
		s := &podKind{
			static: &statics{verdict: []filter.Rejection{{Predicate: 5, Verdict: 1}, {}}}, plugin: []int{3, 5}, predicates: filter.Predicates{nil, partly{}}, rowsAt: 1,
			layout: &layout{groups: groups{list: []group{{class: 0, size: size}, {base: 1, class: 1, size: 1, rejects: []tally{{2, n}}}}}},
		}
		h, ok := s.rejected(nil, s.predicates)
		require.Equal(t, ok, h != nil)
		return ok
	}
	require.True(t, rejected(0, 0))
	require.False(t, rejected(1, 0))
	require.False(t, rejected(0, 1))
}

// keyed is a state that counts by some topology keys.
type keyed struct {
	hooks.State
	keys []string
}

func (x *keyed) Keys() int                   { return len(x.keys) }
func (x *keyed) Reads(dst []string) []string { return append(dst, x.keys...) }

// What a state reads of nodes is known as soon as it counts by one more topology key.
func TestNewKeysAreRead(t *testing.T) {
	e, x := &Engine{reads: map[string]struct{}{}}, &keyed{keys: []string{"label:zone"}}
	s := &podKind{engine: e, counted: []counted{{state: x, keys: 1}}}
	require.False(t, s.newKeys())
	require.Empty(t, e.reads)
	x.keys = append(x.keys, "label:rack")
	require.True(t, s.newKeys())
	require.Contains(t, e.reads, "label:rack")
	require.False(t, s.newKeys())
}

// A slot that stays in its group stays where it is in the heap.
func TestMoveToTheSameGroup(t *testing.T) {
	keys := []int64{5, 4, 3, 2, 1}
	s := &podKind{engine: &Engine{nodes: make([]*v1.Node, len(keys))}, static: &statics{classes: &classes{of: make([]int32, len(keys))}}}
	l := &layout{rows: &rows{keys: keys}, reject: make([]resources.Verdict, len(keys)), groups: groups{of: make([]int32, len(keys)), at: make([]int32, len(keys))}}
	require.Zero(t, l.find(s, 0))
	for i, key := range keys {
		s.engine.nodes[i] = &v1.Node{}
		l.list[0].heap = append(l.list[0].heap, heap.Entry{Key: key, Slot: int32(i)})
		l.list[0].size++
	}
	l.list[0].heap.Order(l.at)
	before := slices.Clone(l.at)
	for i := range keys {
		l.regroup(s, int32(i))
		require.Equal(t, before, l.at)
		require.Equal(t, int32(i), l.list[0].member, "the node that was looked at last")
		l.rank(int32(i))
		require.Equal(t, before, l.at, "nor does it move when its key is the same")
	}
	s.static.classes.of[0] = 1
	l.regroup(s, 0)
	require.EqualValues(t, 1, l.of[0])
	require.EqualValues(t, 4, l.list[0].member, "another slot left")
	s.static.classes.of[4] = 1
	l.regroup(s, 4)
	require.EqualValues(t, 1, l.list[0].member, "the first that is left")
}

// Pods whose requests were asked about before share the answers about rows only with pods of the same requests.
func TestPartKeys(t *testing.T) {
	e := New(nobody{}, nil)
	require.False(t, e.sharedKey(nil, []counted{}, false, false))
	first := string(e.buffers.key)
	require.True(t, e.sharedKey(nil, []counted{}, false, false))
	require.NotEqual(t, first, string(e.buffers.key))
}

// nobody is a log without nodes.
type nobody struct{ Log }

func (nobody) Len() int                  { return 0 }
func (nobody) Schema() *resources.Schema { return &resources.Schema{} }
func (nobody) Version() uint64           { return 0 }

// many is a state that counts by a topology key which nodes share.
type many struct{ hooks.State }

func (many) Single() bool { return false }

// A kind whose states count for whole domains looks for no exceptions.
func TestNoExceptions(t *testing.T) {
	s := &podKind{layout: &layout{groups: groups{of: make([]int32, 3)}}, counted: []counted{{state: many{}}}}
	s.exceptions.build(s)
	require.False(t, s.exceptions.some())
	require.Empty(t, s.exceptions.of)
}

// A question chooses among nodes of equal totals, and is not asked when one node alone has the largest.
func TestTieOfOne(t *testing.T) {
	s := &podKind{engine: &Engine{}}
	groups := []candidate{{count: 1, top: heap.Entry{Key: heap.Key(3, 0), Slot: 7}}, {count: 2, top: heap.Entry{Key: heap.Key(5, 1), Slot: 8}}}
	found := []foundNode{{3, 7, 0}, {5, 8, 1}, {4, 9, 1}}
	out := Answer{Feasible: len(found)}
	require.True(t, s.chooseFound(groups, found, func(int) int { panic("asked") }, &out))
	require.Equal(t, []any{8, int64(5)}, []any{out.Slot, out.Total})
	found[2].score = 5
	for k, want := range map[int]int{-1: 8, 0: 8, 1: 9, 2: 8} {
		require.True(t, s.chooseFound(groups, found, func(n int) int {
			require.Equal(t, 2, n)
			return k
		}, &out))
		require.Equal(t, want, out.Slot, "choice %d", k)
	}
}

// A heap gets its memory in one piece.
func TestRefillAllocatesOnce(t *testing.T) {
	const nodes = 300
	order := make([]int, nodes)
	l := &layout{rows: &rows{keys: make([]int64, nodes)}, reject: make([]resources.Verdict, nodes), groups: groups{of: make([]int32, nodes), at: make([]int32, nodes), list: []group{{size: nodes}}}}
	for i := range order {
		order[i], l.rows.keys[i] = i, int64(i)
	}
	e := &Engine{scan: order}
	require.EqualValues(t, 1, testing.AllocsPerRun(5, func() {
		l.list[0].heap = nil
		l.refill(e)
	}))
	require.Zero(t, testing.AllocsPerRun(5, func() { l.refill(e) }))
	require.Len(t, l.list[0].heap, nodes)
}

// faulty is a predicate over rows that fails on every node, or rejects every node.
type faulty struct {
	filter.Predicate
	code filter.Code
}

func (faulty) Name() string                                                    { return "faulty" }
func (faulty) Check(int) resources.Verdict                                     { return 1 }
func (x faulty) Code(resources.Verdict) filter.Code                            { return x.code }
func (faulty) Reasons(resources.Verdict) []string                              { return nil }
func (faulty) AppendReasons(dst []string, _ resources.Verdict, _ int) []string { return dst }
func (nobody) Allocatable(int) resources.Vector                                { return nil }
func (nobody) Requested(int) resources.Vector                                  { return nil }

// A predicate over rows that fails on an exception ends the search, also when no score of the exception is needed because another
// predicate rejects it.
func TestSearchFailsOnAnException(t *testing.T) {
	for code, fails := range map[filter.Code]bool{filter.Error: true, filter.Unschedulable: false} {
		s := &podKind{
			static: &statics{verdict: make([]filter.Rejection, 1)}, layout: &layout{groups: groups{list: make([]group, 1)}}, predicates: filter.Predicates{faulty{}}, rowsAt: -1,
			exceptions: exceptions{groups: groups{list: []group{{size: 1, heap: heap.Heap{{Key: 1}}}}}},
		}
		x := faulty{code: code}
		f := &boxJudge{rowPlugins: &rowPlugins{log: nobody{}, filter: x, coder: x}}
		s.searchExceptions(f)
		require.Equal(t, fails, f.failed, code)
		require.Zero(t, s.exceptions.list[0].count)
	}
}
