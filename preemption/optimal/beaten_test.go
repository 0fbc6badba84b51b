package optimal

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// priorities are those of the pods of rows. A pod of the lowest adds nothing to the sum of the priorities.
var priorities = []int32{0, -1, math.MinInt32, 1}

// randomRow returns a row of up to seven pods with small amounts.
func randomRow(r *rand.Rand) *row {
	x := &row{width: 2}
	for range r.IntN(8) {
		x.pods = append(x.pods, rowPod{priority: priorities[r.IntN(4)], start: int64(r.IntN(4))})
	}
	slices.SortFunc(x.pods, func(a, b rowPod) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(b.start, a.start))
	})
	for range x.pods {
		x.amounts = append(x.amounts, int64(r.IntN(5)), int64(r.IntN(5)))
	}
	return x
}

// What the pods of the node still ask for, without the largest amounts of some of the first pods, is that of a sorted list.
func checkLeast(t *testing.T, r *rand.Rand, s *Search) {
	x := randomRow(r)
	s.may = s.may[:0]
	for k := range x.pods {
		if r.IntN(4) > 0 {
			s.may = append(s.may, int32(k))
		}
	}
	n := r.IntN(len(s.may) + 1)
	count := r.IntN(n + 2)
	used := resources.Vector{int64(r.IntN(12)), int64(r.IntN(12)), 7}[:1+r.IntN(3)]
	want := slices.Clone(used)
	for c := range min(2, len(used)) {
		var all []int64
		for _, k := range s.may[:n] {
			all = append(all, x.amounts[int(k)*2+c])
		}
		slices.Sort(all)
		slices.Reverse(all)
		sum := total(all[:min(count, n)])
		want[c] = max(0, used[c]-sum)
		if got := s.largest(x, c, n, min(count, n)); got != sum {
			t.Fatalf("%d, want %d", got, sum)
		}
	}
	s.top = nil
	require.Equal(t, []int64(want), s.least(x, used, n, count))
	if count >= n && s.top != nil {
		t.Fatal("to add up all amounts takes no list of the largest")
	}
}

func TestLeast(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	s := &Search{}
	for range 5000 {
		checkLeast(t, r, s)
	}
}

func FuzzLeast(f *testing.F) {
	f.Add(testkit.RandomBytes(5, 40))
	f.Fuzz(func(t *testing.T, data []byte) { checkLeast(t, rand.New(testkit.NewBytes(data)), &Search{}) })
}

// The questions about all nodes use the same memory.
func TestLeastKeepsItsMemory(t *testing.T) {
	x := &row{width: 1, amounts: []int64{3, 1, 2}}
	s := &Search{may: []int32{0, 1, 2}}
	used := resources.Vector{9}
	require.Zero(t, testing.AllocsPerRun(10, func() { s.least(x, used, 3, 2) }))
	require.Equal(t, resources.Vector{4}, s.left)
}

// A node is beaten if its pods free too little for each way to be better: with the best priority and a smaller sum or number, with
// lower priorities only, and with a later start. The questions are as strict as the best victims allow.
func TestShort(t *testing.T) {
	type question struct{ n, count int }
	r := rand.New(rand.NewPCG(6, 6))
	beaten, asked := 0, [4]int{}
	for range 30000 {
		x := randomRow(r)
		s := &Search{}
		var pods []rowPod
		for k, q := range x.pods {
			if q.priority <= 0 && r.IntN(5) > 0 {
				s.may = append(s.may, int32(k))
				pods = append(pods, q)
			}
		}
		// The best victims: some pods, of which the highest priority is 0.
		best := noVictims
		for range 1 + r.IntN(4) {
			priority := int64(priorities[r.IntN(3)])
			best.add(&Values{HighestPriority: priority, PrioritySum: priority + math.MaxInt32 + 1, Victims: 1, Start: -int64(r.IntN(4))})
		}
		best.add(&Values{HighestPriority: 0, PrioritySum: math.MaxInt32 + 1, Victims: 1, Start: -int64(r.IntN(4))})
		s.best = best
		sum := func(n int) int64 { // of the pods of lowest priority and one of priority 0
			total := int64(math.MaxInt32 + 1)
			for _, q := range pods[:n-1] {
				total += int64(q.priority) + math.MaxInt32 + 1
			}
			return total
		}
		count, tie, below, later := 0, false, 0, 0
		for n := 1; n <= len(pods); n++ {
			if sum(n) < best[PrioritySum] || sum(n) == best[PrioritySum] && int64(n) < best[Victims] {
				count = n
			}
			tie = tie || sum(n) == best[PrioritySum] && int64(n) == best[Victims]
		}
		for _, q := range pods {
			if q.priority < 0 {
				below++
			}
			if q.priority < 0 || q.start > -best[Start] {
				later++
			}
		}
		var want []question
		if count > 0 {
			want = append(want, question{len(pods), count})
		}
		if below > count {
			want = append(want, question{below, below})
		}
		if tie {
			want = append(want, question{later, int(best[Victims])})
		}
		enough := r.IntN(5) // the question that the pods are enough for
		var got []question
		ok := s.short(x, func(n, count int) bool {
			got = append(got, question{n, count})
			return len(got) != enough
		})
		want = want[:min(len(want), len(got))]
		require.Equal(t, want, got, "%v %v", pods, best)
		require.Equal(t, len(got) != enough || enough == 0, ok)
		if ok {
			beaten++
			asked[len(got)]++
		}
	}
	require.Greater(t, beaten, 5000)
	require.NotContains(t, asked[:3], 0)
}
