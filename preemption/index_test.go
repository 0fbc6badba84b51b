package preemption

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// list is a cluster over slices. The requests of a pod are in its annotations' place: a map.
type list struct {
	nodes    []*v1.Node
	pods     [][]*v1.Pod
	requests map[*v1.Pod]resources.Vector
}

func (l *list) Len() int                     { return len(l.nodes) }
func (l *list) Node(i int) *v1.Node          { return l.nodes[i] }
func (l *list) Pods(i int) iter.Seq[*v1.Pod] { return slices.Values(l.pods[i]) }
func (l *list) PodRequests(p *v1.Pod) (resources.Vector, bool) {
	v, ok := l.requests[p]
	return v, ok
}

// The index has what its cluster has, after every report.
func TestIndex(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 5))
		l := &list{requests: map[*v1.Pod]resources.Vector{}}
		x := newIndex(l)
		x.Touch(0) // unknown
		x.Touch(-1)
		require.Zero(t, x.changedAt(7))
		name := 0
		for range 200 {
			report := []func(){x.TouchNodes, x.Forget}[r.IntN(2)] // of a change of nodes
			switch n := r.IntN(10); {
			case n == 0 || len(l.nodes) == 0:
				name++
				l.nodes, l.pods = append(l.nodes, testkit.Node(fmt.Sprintf("n%02d", (name*37)%100)).Obj()), append(l.pods, nil)
				report()
			case n == 1:
				l.nodes[r.IntN(len(l.nodes))] = nil
				report()
			case n == 2:
				name++
				l.nodes[r.IntN(len(l.nodes))] = testkit.Node(fmt.Sprintf("n%02d", (name*37)%100)).Obj()
				report()
			case n == 3:
				i := r.IntN(len(l.nodes))
				l.pods[i] = nil
				before := x.forgotten
				x.Forget()
				require.Equal(t, before+1, x.forgotten)
			default:
				i := r.IntN(len(l.nodes))
				if k := len(l.pods[i]); k > 0 && r.IntN(3) == 0 {
					l.pods[i] = slices.Delete(slices.Clone(l.pods[i]), r.IntN(k), k)
				} else {
					p := testkit.Pod("p").Priority(int32(r.IntN(5) - 1)).Obj()
					if r.IntN(2) == 0 {
						at := metav1.NewTime(time.Unix(int64(r.IntN(9)), 0))
						p.Status.StartTime = &at
					}
					v := resources.Vector{int64(r.IntN(5)), int64(r.IntN(5)), 0, 1}
					l.requests[p] = v[:2+r.IntN(3)]
					if r.IntN(30) == 0 {
						l.requests[p] = resources.Vector{math.MaxInt64, 1}
					}
					if r.IntN(30) == 0 {
						delete(l.requests, p)
					}
					l.pods[i] = append(slices.Clone(l.pods[i]), p)
				}
				before, known := x.changes, i < len(x.rows)
				x.Touch(i)
				if known {
					require.Equal(t, before+1, x.changedAt(i))
				}
			}
			checkIndex(t, x, l, r)
		}
	}
}

func checkIndex(t *testing.T, x *index, l *list, r *rand.Rand) {
	t.Helper()
	var names []string
	sorts, order := x.sorts, x.order
	for _, i := range x.byName() {
		names = append(names, l.nodes[i].Name)
	}
	require.True(t, slices.IsSorted(names))
	nodes := 0
	for _, n := range l.nodes {
		if n != nil {
			nodes++
		}
	}
	require.Len(t, names, nodes)
	if slices.Equal(order, x.order) && x.sorts != sorts {
		require.NotEmpty(t, x.order, "the order is kept while the names are")
	}
	i := r.IntN(len(l.nodes))
	level := x.level(i)
	lowest := int32(math.MaxInt32)
	for k, p := range l.pods[i] {
		lowest = min(lowest, Priority(p))
		require.Same(t, p, level.pods[k].pod)
		require.Equal(t, Priority(p), level.pods[k].priority)
		require.Equal(t, p.Status.StartTime != nil, level.pods[k].started)
	}
	require.Len(t, level.pods, len(l.pods[i]))
	require.Equal(t, lowest, level.lowest)
	again := level.again
	_, ok := x.left(i, 0)
	require.True(t, again || !ok, "the first question costs more than it saves")
	for priority := int32(-2); priority < 5; priority++ {
		exact := true
		var want, all resources.Vector
		for _, p := range l.pods[i] {
			v, ok := l.requests[p]
			exact = exact && ok
			all = all.Grow(len(v))
			exact = !all.Add(v) && exact
			if Priority(p) >= priority {
				want = want.Grow(len(v))
				want.Add(v)
			}
		}
		got, ok := x.left(i, priority)
		require.Equal(t, exact, ok, "slot %d, priority %d", i, priority)
		if ok {
			require.Equal(t, [4]int64{want.At(0), want.At(1), want.At(2), want.At(3)}, [4]int64{got.At(0), got.At(1), got.At(2), got.At(3)})
		}
	}
}

// Renamed and moved nodes are sorted again, others are not.
func TestIndexKeepsItsOrder(t *testing.T) {
	a, b, c := testkit.Node("a").Obj(), testkit.Node("b").Obj(), testkit.Node("c").Obj()
	l := &list{nodes: []*v1.Node{b, nil, a}, pods: make([][]*v1.Pod, 3)}
	x := newIndex(l)
	require.Equal(t, []int32{2, 0}, x.byName())
	require.Equal(t, uint64(1), x.sorts)
	l.nodes[0] = b.DeepCopy()
	x.TouchNodes()
	require.Equal(t, []int32{2, 0}, x.byName())
	require.Equal(t, uint64(1), x.sorts, "the names are those of before")
	for k, change := range []func(){func() { l.nodes[1] = c }, func() { l.nodes[0] = nil }, func() { l.nodes[2], l.nodes[1] = l.nodes[1], l.nodes[2] }, func() { l.nodes[1] = testkit.Node("z").Obj() }} {
		change()
		x.byName()
		require.Equal(t, uint64(k+1), x.sorts, "nobody has reported the change")
		x.TouchNodes()
		x.byName()
		require.Equal(t, uint64(k+2), x.sorts, "change %d", k)
	}
	require.Equal(t, []int32{2, 1}, x.byName())
	l.nodes[0], l.nodes[1] = l.nodes[1], nil // as many nodes as before
	x.TouchNodes()
	require.Equal(t, []int32{2, 0}, x.byName())
}

// The sums of a slot are computed once, as far as the requests of its pods are known.
func TestSumsAreKept(t *testing.T) {
	for unknown, want := range map[int]int{-1: 3, 0: 1, 1: 2} {
		l := &list{nodes: []*v1.Node{testkit.Node("n").Obj()}, pods: [][]*v1.Pod{{testkit.Pod("a").Obj(), testkit.Pod("b").Obj(), testkit.Pod("c").Obj()}}}
		x, asked := newIndex(l), 0
		x.requests = func(p *v1.Pod) (resources.Vector, bool) {
			asked++
			return resources.Vector{1}, unknown < 0 || p != l.pods[0][unknown]
		}
		for k := range 4 {
			sum, ok := x.left(0, 0)
			require.Equal(t, k > 0 && unknown < 0, ok)
			if ok {
				require.Equal(t, resources.Vector{3}, sum)
			}
		}
		require.Equal(t, want, asked)
	}
}

func TestTrueFirst(t *testing.T) {
	require.Equal(t, -1, trueFirst(true, false))
	require.Equal(t, 1, trueFirst(false, true))
	require.Zero(t, trueFirst(true, true))
	require.Zero(t, trueFirst(false, false))
}

// Of victims of one priority the earliest start counts, in whatever order they come.
func TestStartOfCandidates(t *testing.T) {
	victim := func(priority int32, second int64) Victim {
		p := testkit.Pod("p").Priority(priority).Obj()
		if second > 0 {
			at := metav1.NewTime(time.Unix(second, 0))
			p.Status.StartTime = &at
		}
		return Victim{Placed: Placed{Pod: p}}
	}
	for _, c := range []struct {
		victims []Victim
		want    int64
	}{
		{[]Victim{victim(5, 3), victim(5, 7)}, 3}, {[]Victim{victim(5, 7), victim(5, 3)}, 3}, {[]Victim{victim(5, 7), victim(5, 7)}, 7},
		{[]Victim{victim(5, 7), victim(4, 3)}, 7}, {[]Victim{victim(4, 3), victim(5, 7)}, 7}, {[]Victim{victim(5, 0), victim(5, 99)}, 99}, {[]Victim{victim(5, 0)}, 1000},
	} {
		candidate := Candidate{Victims: c.victims}
		require.Equal(t, time.Unix(c.want, 0), candidate.values(time.Unix(1000, 0)).start)
	}
	none := Candidate{}
	require.Equal(t, criteria{highest: math.MinInt32}, none.values(time.Unix(1000, 0)))
}

// What the nodes say is counted by reason. Only an answer that has the same words on every slot may be kept.
func TestHistogram(t *testing.T) {
	w := &words{general: map[Answer]bool{{Verdict: 1}: true}}
	h := &histogram{}
	require.True(t, h.add(w, 0, outcome{reason: noVictims}))
	require.True(t, h.add(w, 1, outcome{reason: noVictims}))
	require.True(t, h.add(w, 2, outcome{answer: Answer{Verdict: 1}}))
	require.True(t, h.add(w, 3, outcome{answer: Answer{Verdict: 1}}))
	require.Equal(t, 1, w.asked, "equal answers have the same words")
	require.False(t, h.add(w, 4, outcome{answer: Answer{Predicate: 1, Verdict: 1}}), "another filter")
	require.False(t, h.add(w, 5, outcome{answer: Answer{Verdict: 2}}))
	require.False(t, h.add(w, 6, outcome{answer: Answer{Verdict: 2}}))
	require.False(t, h.add(w, 7, outcome{err: errors.New("broken"), answer: Answer{Verdict: 1}}))
	require.False(t, h.add(w, 8, outcome{err: errors.New("broken")}))
	require.Equal(t, 9, h.nodes)
	require.Equal(t, []string{"1 0/1 on 4", "1 0/2 on 5", "1 0/2 on 6", "2 0/1 on 2", "2 " + noVictims, "2 broken", "5 " + notHelpful}, h.counts(5))
	require.NotContains(t, h.counts(0), "0 "+notHelpful)
	require.NotContains(t, h.counts(-1), "-1 "+notHelpful)
}

// words is a WhatIf with a text for each answer and slot.
type words struct {
	WhatIf
	general map[Answer]bool
	asked   int
}

func (w *words) Reasons(i int, a Answer) ([]string, bool) {
	w.asked++
	return []string{fmt.Sprintf("0/%d on %d", a.Verdict, i)}, w.general[a]
}
