package score_test

import (
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/score"
)

func TestBest(t *testing.T) {
	last := func(tied []int) int { return len(tied) - 1 }
	type test struct {
		name   string
		totals []int64
		tie    func([]int) int
		want   int
	}
	testkit.Run(t, []test{
		{"none", nil, nil, -1},
		{"one", []int64{-7}, nil, 0},
		{"highest", []int64{1, 5, 3}, nil, 1},
		{"first of the tied", []int64{1, 9, 9}, nil, 1},
		{"first of the tied in the second half", []int64{1, 2, 9, 9}, nil, 2},
		{"a tie function", []int64{1, 9, 2, 9}, last, 3},
		{"a tie function is not asked without a tie", []int64{1, 9, 2}, func([]int) int { panic("no tie") }, 1},
		{"a tie function out of range", []int64{9, 9}, func([]int) int { return 2 }, 0},
		{"a tie function below the range", []int64{9, 9}, func([]int) int { return -1 }, 0},
		{"a tie function is not asked about the first alone", []int64{9, 1, 2}, func([]int) int { panic("no tie") }, 0},
		{"lowest name", []int64{9, 1, 9, 9}, lowestName([]string{"n3", "n0", "n1", "n2"}), 2},
		{"last of the tied", []int64{9, 1, 9}, func(tied []int) int { return len(tied) - 1 }, 2},
	}, func(t *testing.T, tc test) {
		require.Equal(t, tc.want, score.Best(tc.totals, tc.tie))
	})
}

// lowestName is a tie function that chooses the node whose name is first in order.
func lowestName(names []string) func(tied []int) int {
	return func(tied []int) int {
		best := 0
		for k, i := range tied {
			if names[i] < names[tied[best]] {
				best = k
			}
		}
		return best
	}
}

// A tie function can choose at random: each of the tied nodes has the same chance. The numbers are those of a fixed seed.
func TestUniformTies(t *testing.T) {
	totals := []int64{3, 7, 7, 2, 7}
	rng := rand.New(rand.NewSource(1))
	won := map[int]int{}
	for range 3000 {
		won[score.Best(totals, func(tied []int) int { return rng.Intn(len(tied)) })]++
	}
	require.Len(t, won, 3)
	for _, i := range []int{1, 2, 4} {
		require.InDelta(t, 1000, won[i], 120)
	}
}

func TestExplain(t *testing.T) {
	nodes := []string{"n1", "n2", "n3"}
	columns := []score.Column{
		{Plugin: "NodeResourcesFit", Weight: 1, Raw: []int64{75, 81, 10}, Scores: []int64{75, 81, 10}},
		{Plugin: "TaintToleration", Weight: 3, Raw: []int64{0, 1, 1}, Scores: []int64{100, 90, 90}},
	}
	extenders := []score.Column{{Plugin: "ext", Weight: 2, Hosts: []string{"n3"}, Scores: []int64{3}}}
	x, err := score.Explain(nodes, columns, extenders, 0)
	require.NoError(t, err)
	require.Equal(t, "n1", x.Node)
	require.Equal(t, []int64{375, 351, 24}, []int64{x.Total, x.RunnerUpTotal, x.Lead})
	require.Equal(t, "n2", x.RunnerUp)
	require.Equal(t, score.Part{Name: "NodeResourcesFit", Weight: 1, Raw: 75, Score: 75, Weighted: 75, RunnerUp: 81, Share: -0.25,
		Flip: 0, Winner: "n3"}, x.Parts[0])
	require.Equal(t, score.Part{Name: "TaintToleration", Weight: 3, Score: 100, Weighted: 300, RunnerUp: 270, Share: 1.25,
		Flip: 0, Winner: "n2"}, x.Parts[1])
	require.Equal(t, score.Part{Name: "ext", Weight: 2, Flip: 4, Winner: "n3"}, x.Parts[2])
	chosen, err := score.Explain(nodes, columns, extenders, 2)
	require.NoError(t, err)
	ext := chosen.Parts[2]
	require.Equal(t, []int64{3, 30, 60}, []int64{ext.Raw, ext.Score, ext.Weighted}, "an extender gives 0 to 10, of which 1 counts as 10")
	require.Same(t, &x.Parts[0], x.Flip, "the smallest of all")
	require.Equal(t, `n1 375, runner-up n2 351, lead 24
plugin                              raw  score weight weighted runner-up  share
NodeResourcesFit                     75     75      1       75        81   -25%
TaintToleration                       0    100      3      300       270   125%
ext                                   0      0      2        0         0     0%
n3 wins when the weight of NodeResourcesFit goes from 1 to 0
`, x.String())
}

func TestExplainEdges(t *testing.T) {
	one := []score.Column{{Plugin: "P", Weight: 1, Scores: []int64{7}}}
	x, err := score.Explain([]string{"a"}, one, nil, 0)
	require.NoError(t, err)
	require.Equal(t, score.Explanation{Node: "a", Total: 7, Parts: []score.Part{{Name: "P", Weight: 1, Score: 7, Weighted: 7}}}, x)
	require.True(t, strings.HasPrefix(x.String(), "a 7\n"), "no runner-up")

	tie := []score.Column{{Plugin: "P", Weight: 1, Scores: []int64{7, 8}}, {Plugin: "Q", Weight: 1, Scores: []int64{8, 7}}, {Plugin: "R", Weight: 1, Scores: []int64{1, 1}}}
	x, err = score.Explain([]string{"a", "b"}, tie, nil, 0)
	require.NoError(t, err)
	require.Zero(t, x.Lead)
	require.Zero(t, x.Parts[0].Share)
	require.Equal(t, score.Part{Name: "P", Weight: 1, Score: 7, Weighted: 7, RunnerUp: 8, Winner: "b", Flip: 2}, x.Parts[0])
	require.Equal(t, score.Part{Name: "Q", Weight: 1, Score: 8, Weighted: 8, RunnerUp: 7, Winner: "b"}, x.Parts[1], "the weight 0")
	require.Empty(t, x.Parts[2].Winner, "the nodes have equal scores")

	sure := []score.Column{{Plugin: "P", Weight: 1, Scores: []int64{9, 8}}, {Plugin: "Q", Weight: 1, Scores: []int64{9, 8}}}
	x, err = score.Explain([]string{"a", "b"}, sure, nil, 0)
	require.NoError(t, err)
	require.Nil(t, x.Flip, "a leads in every plugin")
	require.Contains(t, x.String(), "no change of a single weight makes another node win")

	three := []score.Column{{Plugin: "P", Weight: 1, Scores: []int64{9, 8, 8}}}
	x, err = score.Explain([]string{"a", "b", "c"}, three, nil, 0)
	require.NoError(t, err)
	require.Equal(t, "b", x.RunnerUp, "the first of several equal parts")

	four := []score.Column{{Plugin: "P", Weight: 1, Scores: []int64{8, 9, 7, 7}}}
	x, err = score.Explain([]string{"a", "b", "c", "d"}, four, nil, 1)
	require.NoError(t, err)
	require.Equal(t, "a", x.RunnerUp, "also when it is the first of all")

	// c and d win over b at the same weight, a never does. P's weight changes by as much whether it grows or shrinks.
	near := []score.Column{{Plugin: "P", Weight: 2, Scores: []int64{5, 5, 6, 6}}, {Plugin: "Q", Weight: 1, Scores: []int64{0, 9, 5, 5}}}
	x, err = score.Explain([]string{"a", "b", "c", "d"}, near, nil, 1)
	require.NoError(t, err)
	require.Equal(t, score.Part{Name: "P", Weight: 2, Score: 5, Weighted: 10, RunnerUp: 12, Share: -1, Winner: "c", Flip: 5}, x.Parts[0], "the first of two")
	require.Same(t, &x.Parts[1], x.Flip, "a change of Q by 1 is smaller")

	// b was chosen though a leads: no weight gives it a lead to lose.
	behind := []score.Column{{Plugin: "P", Weight: 1, Scores: []int64{7, 8}}, {Plugin: "Q", Weight: 1, Scores: []int64{50, 0}}}
	x, err = score.Explain([]string{"a", "b"}, behind, nil, 1)
	require.NoError(t, err)
	require.Equal(t, score.Part{Name: "P", Weight: 1, Score: 8, Weighted: 8, RunnerUp: 7, Share: float64(1) / -49, Winner: "a"}, x.Parts[0])

	full := []score.Column{{Plugin: "ext", Weight: 1, Hosts: []string{"a"}, Scores: []int64{10}}}
	x, err = score.Explain([]string{"a", "b"}, []score.Column{}, full, 0)
	require.NoError(t, err)
	require.Equal(t, []int64{10, 100}, []int64{x.Parts[0].Raw, x.Parts[0].Score}, "an extender's largest score")

	x, err = score.Explain([]string{"a", "b"}, sure, nil, 2)
	require.NoError(t, err)
	require.Equal(t, score.Explanation{}, x)
	_, err = score.Explain([]string{"a"}, []score.Column{{Plugin: "P", Scores: []int64{101}}}, nil, 0)
	require.Error(t, err)
}
