package history_test

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/history"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/score"
)

const foo = "intel.com/foo"

// rowsOf returns a cluster of nodes n0, n1, ... with the capacities given, and of pods on them.
func rowsOf(t *testing.T, capacities []string, pods ...*v1.Pod) *cluster.Snapshot {
	t.Helper()
	var o cluster.Objects
	for i, c := range capacities {
		o.Nodes = append(o.Nodes, testkit.Node(fmt.Sprint("n", i)).Capacity(c).Obj())
	}
	o.Pods = pods
	s, err := cluster.New(o)
	require.NoError(t, err)
	return s
}

func asking(requests string) *v1.Pod { return testkit.Pod("web").Request(requests).Obj() }

// packing is the bin packing example of the documentation: a pod that asks for foo 2, 256MB and 2 cpu, and two nodes.
func packing(t *testing.T) (*v1.Pod, *cluster.Snapshot) {
	return asking(foo + "=2,memory=256M,cpu=2"), rowsOf(t, []string{foo + "=4,memory=1024M,cpu=8", foo + "=8,memory=1024M,cpu=8"},
		testkit.Pod("a").Request(foo+"=1,memory=256M,cpu=1").On("n0").Obj(), testkit.Pod("b").Request(foo+"=2,memory=512M,cpu=6").On("n1").Obj())
}

func ratio(points ...score.Point) score.FitArgs {
	return score.FitArgs{ScoringStrategy: &score.Strategy{Type: score.RequestedToCapacityRatio,
		Resources:                []score.Resource{{Name: foo, Weight: 5}, {Name: "memory", Weight: 1}, {Name: "cpu", Weight: 3}},
		RequestedToCapacityRatio: &score.Ratio{Shape: points}}}
}

func TestAllocation(t *testing.T) {
	type formula = func(*v1.Pod, score.FitArgs, score.Rows) (placement.Scorer, error)
	rising := ratio(score.Point{}, score.Point{Utilization: 100, Score: 10})
	seedPod, seedRows := packing(t)
	standard := rowsOf(t, []string{"cpu=4,memory=10000Mi"})
	most := score.FitArgs{ScoringStrategy: &score.Strategy{Type: score.MostAllocated}}
	type test struct {
		name, why string
		of        formula
		pod       *v1.Pod
		args      score.FitArgs
		rows      score.Rows
		want      []int64
	}
	testkit.Run(t, []test{
		{"over capacity most before 2021", "cpu was 0", history.ZeroToTen, asking("cpu=5,memory=1Gi"), most, standard, []int64{0}},
		{"bin packing of the documents: 5 and 7", "7 5 3 and 5 7 10 on the old scale", history.ZeroToTen, seedPod, rising, seedRows, []int64{5, 7}},
		{"bin packing before v1.33", "cpu 38 instead of 37", history.FreeShare, seedPod, rising, seedRows, []int64{60, 69}},
		{"free share of cpu", "3 of 8 is 38 percent", history.FreeShare, asking("cpu=3"),
			score.FitArgs{ScoringStrategy: &score.Strategy{Type: score.RequestedToCapacityRatio, Resources: []score.Resource{{Name: "cpu"}},
				RequestedToCapacityRatio: &score.Ratio{Shape: []score.Point{{}, {Utilization: 100, Score: 10}}}}},
			rowsOf(t, []string{"cpu=8"}), []int64{38}},
		{"free share of LeastAllocated", "as in v1.36", history.FreeShare, asking(""), score.FitArgs{}, standard, []int64{97}},
		{"old scale: absent device looks full", "a node without foo scores f(100) for it: (10*5+2*1+2*3)/9 = 6.4", history.ZeroToTen, seedPod, rising,
			rowsOf(t, []string{"memory=1024M,cpu=8"}), []int64{6}},
		{"old scale: least allocated", "97.5 and 98 percent are 9 and 9", history.ZeroToTen, asking(""), score.FitArgs{}, standard, []int64{9}},
		{"old scale: zero capacity keeps its weight", "memory 9 and cpu 0", history.ZeroToTen, asking(""), score.FitArgs{}, rowsOf(t, []string{"memory=10000Mi"}), []int64{4}},
	}, func(t *testing.T, tc test) {
		s, err := tc.of(tc.pod, tc.args, tc.rows)
		require.NoError(t, err)
		for i, want := range tc.want {
			require.Equal(t, want, s.Raw(i))
		}
	})
	for _, of := range []formula{history.FreeShare, history.ZeroToTen} {
		_, err := of(seedPod, ratio(), seedRows)
		require.EqualError(t, err, "scoringStrategy.requestedToCapacityRatio.shape: Required value: at least one point must be specified")
	}
}

// One resource shows the points of a shape on the old scale.
func TestShape(t *testing.T) {
	shape := []score.Point{{Utilization: 0, Score: 0}, {Utilization: 3, Score: 10}, {Utilization: 50, Score: 10}, {Utilization: 100, Score: 7}}
	args := score.FitArgs{ScoringStrategy: &score.Strategy{Type: score.RequestedToCapacityRatio, Resources: []score.Resource{{Name: "cpu"}},
		RequestedToCapacityRatio: &score.Ratio{Shape: shape}}}
	for percent, want := range map[int]int64{1: 3, 2: 6, 3: 10, 60: 10, 67: 9, 99: 8, 100: 7, 101: 7} {
		s, err := history.ZeroToTen(asking(fmt.Sprintf("cpu=%d", percent)), args, rowsOf(t, []string{"cpu=100"}))
		require.NoError(t, err)
		require.Equal(t, want, s.Raw(0), "utilization %d", percent)
	}
}

// A node that is asked for more than it offers is used to 100 percent. Ephemeral storage counts with the request.
func TestOverCapacity(t *testing.T) {
	ratio := &score.Ratio{Shape: []score.Point{{Utilization: 99, Score: 0}, {Utilization: 100, Score: 10}}}
	for resource, request := range map[string]string{"cpu": "cpu=150", "ephemeral-storage": "ephemeral-storage=101"} {
		args := score.FitArgs{ScoringStrategy: &score.Strategy{Type: score.RequestedToCapacityRatio, Resources: []score.Resource{{Name: resource}}, RequestedToCapacityRatio: ratio}}
		rows := rowsOf(t, []string{"cpu=100,ephemeral-storage=100"})
		share, err := history.FreeShare(asking(request), args, rows)
		require.NoError(t, err)
		require.EqualValues(t, 100, share.Raw(0), resource)
		ten, err := history.ZeroToTen(asking(request), args, rows)
		require.NoError(t, err)
		require.EqualValues(t, 10, ten.Raw(0), resource)
	}
	s, err := history.ZeroToTen(asking("ephemeral-storage=40"), score.FitArgs{ScoringStrategy: &score.Strategy{Type: score.MostAllocated, Resources: []score.Resource{{Name: "ephemeral-storage"}}}}, rowsOf(t, []string{"ephemeral-storage=100"}))
	require.NoError(t, err)
	require.EqualValues(t, 4, s.Raw(0))
}

// The scores for several shares with the pod. The article on scoring has 90, 90, 80 and 70.
func TestBalance(t *testing.T) {
	r := rowsOf(t, []string{"cpu=10,memory=10000"})
	logged := rowsOf(t, []string{"cpu=47800m,memory=66054406144"})
	type test struct {
		name, requests       string
		rows                 score.Rows
		difference, absolute int64
	}
	testkit.Run(t, []test{
		{"10 and 20 percent", "cpu=1,memory=2000", r, 90, 95},
		{"20 and 10 percent", "cpu=2,memory=1000", r, 90, 95},
		{"20 and 40 percent", "cpu=2,memory=4000", r, 80, 90},
		{"20 and 50 percent", "cpu=2,memory=5000", r, 70, 85},
		{"50 and 50 percent", "cpu=5,memory=5000", r, 100, 100},
		{"100 and 0 percent", "cpu=10,memory=0", r, 0, 50},
		{"120 and 10 percent", "cpu=12,memory=1000", r, 0, 55},
		{"90 and 100 percent", "cpu=9,memory=10000", r, 0, 95},
		{"100 and 90 percent", "cpu=10,memory=9000", r, 0, 95},
		{"log line 93", "cpu=7850m,memory=6786383872", logged, 93, 96},
		{"log line 97", "cpu=6950m,memory=7627341824", logged, 97, 98},
	}, func(t *testing.T, tc test) {
		s, err := history.AbsoluteBalance(asking(tc.requests), score.BalanceArgs{}, tc.rows)
		require.NoError(t, err)
		require.Equal(t, []int64{tc.difference, tc.absolute}, []int64{history.Difference(asking(tc.requests), tc.rows, 100).Raw(0), s.Raw(0)})
	})
	_, err := history.AbsoluteBalance(asking("cpu=1"), score.BalanceArgs{Resources: []score.Resource{{Name: "cpu", Weight: 2}}}, r)
	require.Error(t, err)
}

type attached struct {
	*cluster.Snapshot
	requested, allocatable int64
}

func (a attached) Volumes(int) (requested, allocatable int64) { return a.requested, a.allocatable }

// The formula before v1.22 and its variant with volumes.
func TestBalanceOld(t *testing.T) {
	r := rowsOf(t, []string{"cpu=10,memory=10000Mi"})
	web := asking("cpu=2,memory=5000Mi")
	type test struct {
		name, why string
		s         placement.Scorer
		want      int64
	}
	testkit.Run(t, []test{
		{"defaults count", "100m of 10 and 200Mi of 10000Mi: 1 and 2 percent", history.Difference(asking(""), r, 100), 99},
		{"no cpu on the node", "its share is 1", history.Difference(asking(""), rowsOf(t, []string{"memory=10000Mi"}), 100), 0},
		{"before the scale of 100", "times 10", history.Difference(web, r, 10), 7},
		{"volume limit unknown", "difference", history.VolumeVariance(web, attached{r, 3, 0}, 100), 70},
		{"variance of three", "shares .2 .5 .8: variance .06", history.VolumeVariance(web, attached{r, 8, 10}, 100), 94},
		{"variance of other three", "shares .1 .9 .2: variance .1267", history.VolumeVariance(asking("cpu=1,memory=9000Mi"), attached{r, 2, 10}, 100), 87},
		{"one volume", "a limit of one is a limit", history.VolumeVariance(web, attached{r, 0, 1}, 100), 95},
		{"nothing asked of no cpu", "a node without cpu is never preferred", history.Difference(asking("cpu=0,memory=1"), rowsOf(t, []string{"memory=10000Mi"}), 100), 0},
		{"nothing asked of one", "both shares are 0", history.Difference(asking("cpu=0,memory=0"), rowsOf(t, []string{"cpu=1m,memory=1"}), 100), 100},
		{"variance before the scale of 100", "times 10", history.VolumeVariance(web, attached{r, 8, 10}, 10), 9},
		{"volumes used up", "never preferred", history.VolumeVariance(web, attached{r, 10, 10}, 100), 0},
		{"cpu used up", "never preferred", history.VolumeVariance(asking("cpu=10,memory=5000Mi"), attached{r, 1, 10}, 100), 0},
	}, func(t *testing.T, tc test) { require.Equal(t, tc.want, tc.s.Raw(0)) })
}

// Amounts below zero, which the API server refuses, have the answers of signed division; one that is too large is the largest number.
func TestZeroToTenBelowZero(t *testing.T) {
	type test struct {
		name, asks, node string
		least, most      int64
	}
	testkit.Run(t, []test{
		{"as much as there is", "memory=-4", "memory=-4", 0, 10},
		{"half of a node", "memory=-8", "memory=-4", -10, 20},
		{"less than nothing of a node", "memory=-4", "memory=4", 20, -10},
		{"a quotient that no number holds", "memory=-9223372036854775807", "memory=-1", -math.MaxInt64, math.MaxInt64},
	}, func(t *testing.T, c test) {
		for kind, want := range map[string]int64{score.LeastAllocated: c.least, score.MostAllocated: c.most} {
			args := score.FitArgs{ScoringStrategy: &score.Strategy{Type: kind, Resources: []score.Resource{{Name: "memory"}}}}
			s, err := history.ZeroToTen(asking(c.asks), args, rowsOf(t, []string{c.node}))
			require.NoError(t, err)
			require.Equal(t, want, s.Raw(0), kind)
		}
	})
}

// What the old scale says of nodes that are exactly full, of which nothing is asked, and that lack a resource.
func TestZeroToTenEdges(t *testing.T) {
	of := func(kind string, names ...string) score.FitArgs {
		args := score.FitArgs{ScoringStrategy: &score.Strategy{Type: kind}}
		if kind == score.RequestedToCapacityRatio {
			args.ScoringStrategy.RequestedToCapacityRatio = &score.Ratio{Shape: []score.Point{{}, {Utilization: 100, Score: 10}}}
		}
		for _, name := range names {
			args.ScoringStrategy.Resources = append(args.ScoringStrategy.Resources, score.Resource{Name: name})
		}
		return args
	}
	type test struct {
		name, asks, node   string
		resource           string
		least, most, ratio int64
	}
	testkit.Run(t, []test{
		{"exactly full", "cpu=4", "cpu=4", "cpu", 0, 10, 10},
		{"one more than full", "cpu=4001m", "cpu=4", "cpu", 0, 0, 10},
		{"one less than full", "cpu=3999m", "cpu=4", "cpu", 0, 9, 10},
		{"one of one", foo + "=1", foo + "=1", foo, 0, 10, 10},
		{"nothing of one", "cpu=1", foo + "=1", foo, 10, 0, 0},
		{"nothing of nothing", "cpu=0", "memory=1Gi", "cpu", 0, 0, 10},
		{"nothing of an unknown device", "cpu=1", "cpu=4", "example.com/other", 0, 0, 10},
		{"pods are no resource", "cpu=1", "cpu=4,pods=10", "pods", 0, 0, 10},
	}, func(t *testing.T, c test) {
		for kind, want := range map[string]int64{score.LeastAllocated: c.least, score.MostAllocated: c.most, score.RequestedToCapacityRatio: c.ratio} {
			s, err := history.ZeroToTen(asking(c.asks), of(kind, c.resource), rowsOf(t, []string{c.node}))
			require.NoError(t, err)
			require.Equal(t, want, s.Raw(0), kind)
		}
	})
	for _, kind := range []string{score.LeastAllocated, score.MostAllocated} {
		s, err := history.FreeShare(asking("cpu=1"), of(kind, "cpu"), rowsOf(t, []string{"cpu=4"}))
		require.NoError(t, err)
		require.EqualValues(t, map[string]int64{score.LeastAllocated: 75, score.MostAllocated: 25}[kind], s.Raw(0))
	}
	small := of(score.RequestedToCapacityRatio, "cpu", "memory")
	small.ScoringStrategy.RequestedToCapacityRatio.Shape[1].Score = 1
	s, err := history.FreeShare(asking("cpu=1,memory=9"), small, rowsOf(t, []string{"cpu=10,memory=10"}))
	require.NoError(t, err)
	require.EqualValues(t, 5, s.Raw(0), "the mean of 1 and 9")
	least := history.Profile118(100).Scores[3]
	require.Equal(t, "NodeResourcesLeastAllocated", least.Name)
	for node, want := range map[string]int64{"memory=1": 50, "cpu=1m,memory=1": 100, "cpu=1m": 50} {
		s, err := least.Plugin.Score(asking("cpu=0,memory=0"), rowsOf(t, []string{node}))
		require.NoError(t, err)
		require.Equal(t, want, s.Raw(0), node)
	}
}

func TestReservoir(t *testing.T) {
	asked := []int{}
	never := func(n int) int { asked = append(asked, n); return 1 }
	require.Equal(t, 0, history.Reservoir([]int64{9, 9, 9}, never))
	require.Equal(t, []int{2, 3}, asked, "the second of the tied replaces with 1/2, the third with 1/3")
	asked = asked[:0]
	require.Equal(t, 3, history.Reservoir([]int64{1, 1, 1, 2}, never))
	require.Equal(t, []int{2, 3}, asked, "a higher total starts the count again")
	require.Equal(t, -1, history.Reservoir(nil, never))
	require.Equal(t, 0, history.Reservoir([]int64{-4}, never))
	always := func(int) int { return 0 }
	require.Equal(t, 2, history.Reservoir([]int64{9, 9, 9}, always), "what the article's loop does without the counting line")

	rng := rand.New(rand.NewSource(1))
	won := map[int]int{}
	for range 3000 {
		won[history.Reservoir([]int64{3, 7, 7, 2, 7}, rng.Intn)]++
	}
	require.Len(t, won, 3)
	for _, i := range []int{1, 2, 4} {
		require.InDelta(t, 1000, won[i], 120, "each of the tied nodes has the same chance")
	}
}
