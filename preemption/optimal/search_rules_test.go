package optimal

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/resources"
)

// A search has 2,000,000 steps if the options do not say otherwise, and asks Stop at the first step and every thousand steps.
func TestSteps(t *testing.T) {
	asked, stopAt := []int{}, math.MaxInt
	s := (*Search)(nil)
	s, err := New(Options{Stop: func() bool {
		asked = append(asked, s.proof.Steps)
		return s.proof.Steps >= stopAt
	}})
	require.NoError(t, err)
	require.Equal(t, 2_000_000, s.steps)
	for range 2500 {
		require.True(t, s.step())
	}
	require.Equal(t, []int{1, 1001, 2001}, asked)
	require.Equal(t, 2_000_000-2500, s.steps)
	stopAt = 3001
	for range 500 {
		require.True(t, s.step())
	}
	require.False(t, s.step())
	require.False(t, s.step())
	require.Equal(t, []int{1, 1001, 2001, 3001}, asked)
	require.Equal(t, 3001, s.proof.Steps)
	require.Zero(t, s.steps)
	few, err := New(Options{Steps: 2})
	require.NoError(t, err)
	require.Equal(t, []bool{true, true, false}, []bool{few.step(), few.step(), few.step()})
	snapshot, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	for _, steps := range []int{0, 5} {
		g, err := newGang(Gang{Snapshot: snapshot}, Options{Steps: steps})
		require.NoError(t, err)
		require.Equal(t, map[int]int{0: 2_000_000, 5: 5}[steps], g.steps)
	}
}

// A gang's victims have a lower priority than each of its pods.
func TestLowestOfAGang(t *testing.T) {
	snapshot, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	for _, c := range [][]int32{{math.MaxInt32}, {5, 5}, {3, -2, 7}, {math.MinInt32, 0}} {
		var pods []*v1.Pod
		for k, priority := range c {
			pods = append(pods, testkit.Pod(fmt.Sprint("g", k)).Priority(priority).Obj())
		}
		g, err := newGang(Gang{Snapshot: snapshot, Pods: pods}, Options{})
		require.NoError(t, err)
		require.Equal(t, slices.Min(c), g.lowest)
	}
}

// The victims of a gang are settled if none of them can stay, and not if there are too few steps to ask about each.
func TestSettled(t *testing.T) {
	o := cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Capacity("cpu=4,pods=9").Obj(), testkit.Node("n2").Capacity("cpu=4,pods=9").Obj()}}
	for _, name := range []string{"n1", "n2"} {
		o.Pods = append(o.Pods, testkit.Pod("on-"+name).Request("cpu=4").Priority(1).On(name).Obj())
	}
	snapshot, err := cluster.New(o)
	require.NoError(t, err)
	var victims []preemption.Placed
	for i, pod := range o.Pods {
		victims = append(victims, preemption.Placed{Pod: pod, Slot: i})
	}
	for _, c := range []struct {
		steps int
		gone  []preemption.Placed
		want  bool
	}{{9, victims, false}, {9, victims[:1], true}, {1, victims[:1], true}, {0, victims[:1], false}, {0, nil, true}} {
		g, err := newGang(Gang{Snapshot: snapshot, Pods: []*v1.Pod{testkit.Pod("p").Request("cpu=4").Priority(5).Obj()}}, Options{})
		require.NoError(t, err)
		g.steps = c.steps
		require.Equal(t, c.want, g.settled(c.gone, []string{"n1"}), "%+v", c)
	}
}

// A node is full only if the limit of the best victims is a priority and every pod below it may leave.
func TestFull(t *testing.T) {
	c := &measured{used: []resources.Vector{{4}}, offered: []resources.Vector{{4}}}
	full := func(limit int64, left resources.Vector, certain bool, w preemption.WhatIf) bool {
		s, err := New(Options{})
		require.NoError(t, err)
		s.limit, s.best[Violations] = limit, 1 // only the pods up to the limit count
		out := s.full(&preemption.Problem{Cluster: c, WhatIf: w, Left: func(priority int32) (resources.Vector, bool) {
			require.EqualValues(t, limit+1, priority)
			return left, certain
		}})
		if out {
			require.True(t, s.fresh)
			require.Equal(t, preemption.Cluster(c), s.rows.cluster, "the rows are those of the cluster")
		}
		return out
	}
	w := &judge{c: c, needs: resources.Vector{2}}
	require.True(t, full(5, resources.Vector{3}, true, w))
	require.False(t, full(5, resources.Vector{2}, true, w))
	require.False(t, full(5, resources.Vector{3}, false, w))
	require.False(t, full(5, resources.Vector{3}, true, nil))
	require.False(t, full(math.MaxInt32, resources.Vector{3}, true, w))
	require.True(t, full(math.MaxInt32-1, resources.Vector{3}, true, w))
	require.False(t, full(math.MaxInt64, resources.Vector{3}, true, w))
}

// The answer is the first set, and then each better set, of at least one victim; budgets may be binding.
func TestTake(t *testing.T) {
	for k, c := range []struct {
		best, v  Values
		never    bool
		accepted bool
	}{
		{noBound, Values{Victims: 1}, false, true},
		{noBound, Values{Victims: 0}, false, false},
		{noBound, Values{Victims: 1, Violations: 1}, false, true},
		{noBound, Values{Victims: 1, Violations: 1}, true, false},
		{noBound, Values{Victims: 1}, true, true},
		{Values{Victims: 1}, Values{Victims: 1}, false, false},
		{Values{Victims: 2}, Values{Victims: 1}, false, true},
		{Values{Victims: 1}, Values{Victims: 2}, false, false},
	} {
		s, err := New(Options{NeverViolate: c.never})
		require.NoError(t, err)
		s.best = c.best
		n, leave := &node{s: s}, []bool{true, false}
		n.take(leave, &c.v)
		if !c.accepted {
			require.Nil(t, n.answer, "%d", k)
			require.Equal(t, c.best, s.best, "%d", k)
			continue
		}
		require.Equal(t, leave, n.answer, "%d", k)
		require.Equal(t, c.v, s.best, "%d", k)
		leave[0] = false
		require.True(t, n.answer[0], "the branch goes on")
	}
}

// kinds is a cluster that knows the kind of a pod from its labels.
type kinds struct{ preemption.Cluster }

func (kinds) PodKind(pod *v1.Pod) (any, int32) {
	if kind := pod.Labels["kind"]; kind != "" {
		return kind, 0
	}
	return nil, 0
}

// Groups of one class are single plain pods of one kind and slot. Twins are of one class, priority and cost, in the order of
// their starts, and no budget or quorum counts them.
func TestPrepare(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 17))
	for range 4000 {
		n := &node{s: &Search{order: DefaultOrder()}, p: &preemption.Problem{Cluster: kinds{}, Matches: func(*v1.Pod) []int32 { return nil }, Take: func([]int32, string) bool { return false }}}
		if r.IntN(8) == 0 {
			n.p.Cluster = nil
		}
		var like []string // equal for groups of one class
		for k := range r.IntN(6) {
			kind := []string{"", "a", "b"}[r.IntN(3)]
			pod := testkit.Pod("p").Labels("kind=" + kind).Obj()
			g := group{barred: r.IntN(5) == 0, values: Values{HighestPriority: int64(r.IntN(2)), Cost: int64(r.IntN(2)), Start: int64(r.IntN(3))}}
			slot := r.IntN(5) / 4
			same := fmt.Sprint(kind, " ", slot)
			if kind == "" || n.p.Cluster == nil {
				same = fmt.Sprint("own ", k)
			}
			if r.IntN(5) == 0 {
				pod.Spec.ResourceClaims, same = []v1.PodResourceClaim{{Name: "c"}}, fmt.Sprint("own ", k)
			}
			g.pods = []preemption.Placed{{Pod: pod, Slot: slot}}
			if r.IntN(6) == 0 {
				g.pods, same = append(g.pods, g.pods[0]), fmt.Sprint("own ", k)
			}
			if r.IntN(5) == 0 {
				g.quorums = []int32{0}
			}
			if g.barred {
				same = fmt.Sprint("own ", k)
			}
			n.groups, like = append(n.groups, g), append(like, same)
		}
		n.prepare()
		classes := n.classes
		n.prepare()
		require.Equal(t, classes, n.classes, "nothing is left of the classes before")
		if len(n.groups) > 0 {
			require.Zero(t, n.groups[0].class, "classes have numbers from 0 on")
		}
		open := make([]int, n.classes)
		type alike struct {
			class          int
			priority, cost int64
		}
		last, twins := map[alike]int{}, map[int]bool{}
		for k, g := range n.groups {
			open[g.class]++
			for m := range k {
				require.Equal(t, like[m] == like[k], n.groups[m].class == g.class)
			}
			if g.barred || len(g.quorums) > 0 {
				require.Equal(t, -1, g.twins)
				continue
			}
			id := alike{g.class, g.values[HighestPriority], g.values[Cost]}
			before, ok := last[id]
			if ok && n.groups[before].values[Start] >= g.values[Start] {
				require.Equal(t, n.groups[before].twins, g.twins)
			} else {
				require.False(t, twins[g.twins], "a new set of twins")
			}
			last[id], twins[g.twins] = k, true
		}
		require.Equal(t, open, n.open)
		require.Len(t, n.forced, len(twins))
		require.Len(t, n.stays, n.classes)
		require.Len(t, n.leave, len(n.groups))
	}
}

// trial is a WhatIf over the pods of one node. The preemptor fits without the pods that accepts names, and settles likewise.
type trial struct {
	preemption.WhatIf
	out              map[*v1.Pod]bool
	accepts, settles func(out map[*v1.Pod]bool) bool
}

func (w *trial) Reset()                  { clear(w.out) }
func (w *trial) Remove(p *v1.Pod, _ int) { w.out[p] = true }
func (w *trial) Add(p *v1.Pod, _ int)    { delete(w.out, p) }
func (w *trial) Check(int) preemption.Answer {
	if w.accepts(w.out) {
		return preemption.Answer{}
	}
	return preemption.Answer{Verdict: 1}
}

func (w *trial) Settles(_ int, leave []preemption.Placed) bool {
	out := map[*v1.Pod]bool{}
	for _, q := range leave {
		out[q.Pod] = true
	}
	return w.settles(out)
}

// The victims of v1.36's rule are the pods that cannot come back, in the trial; if the cluster without them rejects the preemptor, in
// the trial and in that cluster.
func TestGreedy(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 18))
	found, again := 0, 0
	for range 5000 {
		w := &trial{out: map[*v1.Pod]bool{}}
		s, err := New(Options{})
		require.NoError(t, err)
		n := &node{s: s, pinned: -1, p: &preemption.Problem{WhatIf: w, Now: testkit.Epoch, Matches: func(*v1.Pod) []int32 { return nil }, Take: func([]int32, string) bool { return false }}}
		var pods []*v1.Pod
		for range 1 + r.IntN(5) {
			pods = append(pods, testkit.Pod("p").Obj())
			n.groups = append(n.groups, group{pods: []preemption.Placed{{Pod: pods[len(pods)-1]}}})
		}
		some := func() func(map[*v1.Pod]bool) bool { // one of some pairs of pods must be out as a whole
			var pairs [][2]int
			for range 1 + r.IntN(3) {
				pairs = append(pairs, [2]int{r.IntN(len(pods)), r.IntN(len(pods))})
			}
			return func(out map[*v1.Pod]bool) bool {
				return slices.ContainsFunc(pairs, func(x [2]int) bool { return out[pods[x[0]]] && out[pods[x[1]]] })
			}
		}
		w.accepts, w.settles = some(), some()
		if r.IntN(10) == 0 {
			w.settles = func(map[*v1.Pod]bool) bool { return false }
		}
		rule := func(fits func(map[*v1.Pod]bool) bool) map[*v1.Pod]bool {
			out := map[*v1.Pod]bool{}
			for _, p := range pods {
				out[p] = true
			}
			for _, p := range pods {
				if delete(out, p); !fits(out) {
					out[p] = true
				}
			}
			return out
		}
		want := rule(w.accepts)
		if !w.settles(want) {
			again++
			want = rule(func(out map[*v1.Pod]bool) bool { return w.accepts(out) && w.settles(out) })
			if !w.settles(want) {
				want = nil
			}
		}
		n.fits(func(int) bool { return true })
		n.greedy()
		require.Equal(t, want == nil, n.answer == nil)
		for k, p := range pods {
			if want != nil {
				found++
				require.Equal(t, want[p], n.answer[k])
			}
		}
	}
	require.Greater(t, found, 2000)
	require.Greater(t, again, 500)
}
