package placement

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/balance"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
)

// rowBox is a range of rows: the least and the most of each number.
type rowBox struct {
	allocatable, requested [2]resources.Vector
	cpu, memory            [2]int64
}

// corners yields the 64 rows in which each number is the least or the most.
func (b rowBox) corners(yield func(allocatable, requested resources.Vector, cpu, memory int64)) {
	for bits := range 64 {
		at := func(k int) int { return bits >> k & 1 }
		allocatable, requested := append(resources.Vector(nil), b.allocatable[0]...), append(resources.Vector(nil), b.requested[0]...)
		for c := range 2 {
			allocatable[c], requested[c] = b.allocatable[at(c)][c], b.requested[at(2+c)][c]
		}
		yield(allocatable, requested, b.cpu[at(4)], b.memory[at(5)])
	}
}

func randomBox(r *rand.Rand) (b rowBox) {
	two := func(n int64) (int64, int64) {
		lo := 1 + r.Int64N(n)
		if r.IntN(3) == 0 {
			return lo, lo
		}
		return lo, lo + r.Int64N(n)
	}
	for k := range 2 {
		b.allocatable[k], b.requested[k] = make(resources.Vector, resources.Pods+1), make(resources.Vector, resources.Pods+1)
	}
	for c := range 2 {
		b.allocatable[0][c], b.allocatable[1][c] = two(1000)
		b.requested[0][c], b.requested[1][c] = two(600)
	}
	b.allocatable[0][resources.Pods], b.allocatable[1][resources.Pods] = two(20)
	b.requested[0][resources.Pods], b.requested[1][resources.Pods] = two(20)
	b.cpu[0], b.cpu[1] = two(600)
	b.memory[0], b.memory[1] = two(600)
	return b
}

// boundedScore is a score of rows with a bound for many rows.
type boundedScore interface {
	RawRow(i int, allocatable, requested resources.Vector, cpuMilli, memoryBytes int64) int64
	MaxRawRow(allocatable, requested [2]resources.Vector, cpuMilli, memoryBytes [2]int64) int64
}

// The bound of allocation is the best score among the corners of the range. The bound of balance is the change from the worst balance to
// the best balance that the least and the most shares allow, which no corner exceeds.
func TestBoundsOfScores(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(3, 61))
	strategy := func(kind string, list ...score.Resource) *Plugin {
		return fitOver(FitOptions{Args: score.FitArgs{ScoringStrategy: &score.Strategy{Type: kind, Resources: list}}}, nil)
	}
	cpu, memory := score.Resource{Name: "cpu", Weight: 3}, score.Resource{Name: "memory", Weight: 1}
	for name, p := range map[string]*Plugin{
		"least": fitOver(FitOptions{}, nil), "most": strategy(score.MostAllocated, cpu, memory), "weighted": strategy(score.LeastAllocated, cpu, memory),
		"cpu": strategy(score.LeastAllocated, cpu), "balance": balanceOver(score.BalanceArgs{}, nil), "named balance": balanceOver(score.BalanceArgs{Resources: []score.Resource{{Name: "cpu", Weight: 1}, memory}}, nil),
	} {
		for range 400 {
			need := [2]int64{r.Int64N(400), 1 + r.Int64N(400)}
			scorer, err := p.Score(testkit.Pod("p").Request(fmt.Sprintf("cpu=%dm,memory=%d", need[0], need[1])).Obj(), s)
			require.NoError(t, err)
			x, ok := scorer.(boundedScore)
			require.True(t, ok, name)
			b := randomBox(r)
			most := int64(-1)
			b.corners(func(allocatable, requested resources.Vector, cpu, memory int64) {
				most = max(most, x.RawRow(0, allocatable, requested, cpu, memory))
			})
			got := x.MaxRawRow(b.allocatable, b.requested, b.cpu, b.memory)
			if _, ok := x.(pairBalance); !ok {
				require.Equal(t, most, got, "%s %+v", name, b)
				continue
			}
			require.LessOrEqual(t, most, got, "%s %+v", name, b)
			require.Equal(t, balanceBound(b, need), got, "%s %+v", name, b)
		}
	}
}

// balanceBound finds the least and the most share of each resource among the corners.
func balanceBound(b rowBox, need [2]int64) int64 {
	var before, after [2][2]float64
	first := true
	b.corners(func(allocatable, requested resources.Vector, _, _ int64) {
		for c := range 2 {
			all := float64(allocatable[c])
			x, y := balance.Share(requested[c], all), balance.Share(requested[c]+need[c], all)
			if first {
				before[c], after[c] = [2]float64{x, x}, [2]float64{y, y}
			}
			before[c] = [2]float64{min(before[c][0], x), max(before[c][1], x)}
			after[c] = [2]float64{min(after[c][0], y), max(after[c][1], y)}
		}
		first = false
	})
	best, worst := int64(0), int64(100)
	if after[0][0] <= after[1][1] && after[1][0] <= after[0][1] {
		best = 100 // some share is that of both
	}
	for k := range 4 {
		best = max(best, balance.Of(after[0][k&1], after[1][k>>1]))
		worst = min(worst, balance.Of(before[0][k&1], before[1][k>>1]))
	}
	return balance.Change(best, worst)
}

// The answers about a range of rows are those about its best and its worst row.
func FuzzRowBounds(f *testing.F) {
	f.Add(testkit.RandomBytes(1, 4000))
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(f, err)
	need := [2]int64{100, 150}
	pod := testkit.Pod("p").Request(fmt.Sprintf("cpu=%dm,memory=%d", need[0], need[1])).Obj()
	fits := fitOver(FitOptions{}, nil).Filter(pod, s).Predicate.(fitPredicate)
	least, err := fitOver(FitOptions{}, nil).Score(pod, s)
	require.NoError(f, err)
	balanced, err := balanceOver(score.BalanceArgs{}, nil).Score(pod, s)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		for bytes := testkit.NewBytes(data); bytes.More(); {
			b := randomBox(rand.New(bytes))
			best := least.(boundedScore).RawRow(0, b.allocatable[1], b.requested[0], b.cpu[0], b.memory[0])
			require.Equal(t, best, least.(boundedScore).MaxRawRow(b.allocatable, b.requested, b.cpu, b.memory))
			require.Equal(t, balanceBound(b, need), balanced.(boundedScore).MaxRawRow(b.allocatable, b.requested, b.cpu, b.memory))
			worst, most := fits.CheckRow(0, b.allocatable[0], b.requested[1]), fits.CheckRow(0, b.allocatable[1], b.requested[0])
			v, same := fits.CheckRows(b.allocatable, b.requested)
			require.Equal(t, worst == most, same)
			require.Equal(t, worst, v)
		}
	})
}

// Where a node offers none of a resource the bound of balance is the most of all scores.
func TestBoundOfBalanceWithoutAResource(t *testing.T) {
	x := pairBalance{cpu: 1, memory: 1}
	for _, offer := range []resources.Vector{{0, 100}, {100, 0}, {-1, 100}} {
		require.Equal(t, int64(score.MaxScore), x.MaxRawRow([2]resources.Vector{offer, offer}, [2]resources.Vector{{50, 1}, {50, 1}}, [2]int64{}, [2]int64{}))
	}
	for _, c := range [][2]resources.Vector{{{100, 100}, {50, 50}}, {{100, 1}, {50, 0}}, {{1, 100}, {0, 50}}} {
		require.Less(t, x.MaxRawRow([2]resources.Vector{c[0], c[0]}, [2]resources.Vector{c[1], c[1]}, [2]int64{}, [2]int64{}), int64(score.MaxScore), "%v", c)
	}
}

// A verdict of many rows is that of each row, and different verdicts are told apart.
func TestVerdictOfManyRows(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(4, 61))
	seen := map[string]int{}
	for range 2000 {
		pod := testkit.Pod("p").Request(fmt.Sprintf("cpu=%dm,memory=%d", r.Int64N(400), r.Int64N(400))).Obj()
		x := fitOver(FitOptions{}, nil).Filter(pod, s).Predicate.(fitPredicate)
		b := randomBox(r)
		verdicts := map[resources.Verdict]bool{}
		b.corners(func(allocatable, requested resources.Vector, _, _ int64) {
			for k := range 2 {
				allocatable[resources.Pods] = b.allocatable[k][resources.Pods]
				for m := range 2 {
					requested[resources.Pods] = b.requested[m][resources.Pods]
					verdicts[x.CheckRow(0, allocatable, requested)] = true
				}
			}
		})
		v, same := x.CheckRows(b.allocatable, b.requested)
		require.Equal(t, len(verdicts) == 1, same, "%+v", b)
		if same {
			require.True(t, verdicts[v])
		}
		seen[fmt.Sprint(same, v != 0)]++
	}
	for _, kind := range []string{"true true", "true false", "false true"} {
		require.Greater(t, seen[kind], 20, kind)
	}
}

// Which scores have bounds.
func TestScoresWithBounds(t *testing.T) {
	of := func(names ...string) (out []score.Resource) {
		for _, n := range names {
			out = append(out, score.Resource{Name: n, Weight: 1})
		}
		return out
	}
	for _, c := range []struct {
		strategy *score.Strategy
		best     int
		ok       bool
	}{
		{nil, 0, true}, {&score.Strategy{Type: score.LeastAllocated}, 0, true}, {&score.Strategy{Type: score.MostAllocated}, 1, true},
		{&score.Strategy{Type: score.RequestedToCapacityRatio}, 0, false}, {&score.Strategy{Type: score.LeastAllocated, Resources: of("cpu")}, 0, true}, {&score.Strategy{Type: score.LeastAllocated, Resources: of("memory")}, 0, true},
		{&score.Strategy{Type: score.MostAllocated, Resources: of("memory", "cpu")}, 1, true}, {&score.Strategy{Type: score.LeastAllocated, Resources: of("cpu", "pods")}, 0, false},
		{&score.Strategy{Type: score.LeastAllocated, Resources: of("example.com/gpu", "cpu")}, 0, false},
	} {
		best, ok := orderOf(score.FitArgs{ScoringStrategy: c.strategy})
		require.Equal(t, c.ok, ok, "%+v", c.strategy)
		require.Equal(t, c.best, best, "%+v", c.strategy)
	}
	for names, want := range map[string]bool{"": true, "cpu memory": true, "memory cpu": false, "cpu": false, "cpu pods": false, "pods memory": false, "cpu memory pods": false} {
		list := strings.Fields(names)
		require.Equal(t, want, changesOfPairs(score.BalanceArgs{Resources: of(list...)}), names)
		require.False(t, changesOfPairs(score.BalanceArgs{Resources: of(list...), Release: release.V1_35}), names)
	}
}

// Pods whose images some node has share rows with pods of the same images. Images that no node has make no difference.
func TestRowKeyOfImages(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Image(500<<20, "a:v1").Image(600<<20, "b:v1").Obj()}})
	require.NoError(t, err)
	key := func(images ...string) string {
		p := testkit.Pod("p")
		for _, i := range images {
			p = p.Image(i + ":v1")
		}
		return string(newImageLocality(release.Current).AppendRowKey([]byte("x"), p.Obj(), s))
	}
	require.Equal(t, key("a"), key("a"))
	require.NotEqual(t, key("a"), key("b"))
	require.Equal(t, key("c"), key("d"))
	require.Equal(t, key(), key("d"))
	require.NotEqual(t, key("a"), key("c"))
	require.Equal(t, byte('x'), key("a")[0])
	require.False(t, strings.HasPrefix(key("a"), key()), "keys are appended to each other")
}
