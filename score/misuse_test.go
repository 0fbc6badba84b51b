package score_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/score"
)

// Nil, zero and extreme arguments give an error or the zero answer, but for clusters that must not be nil.
func TestMisuse(t *testing.T) {
	rows := func() score.Rows { return newRows(node("n1", "cpu=4,memory=4Gi"), nil) }
	testkit.Misuse(t, map[string]any{
		"Best":                score.Best,
		"CompileAllocation":   score.CompileAllocation,
		"CompileBalance":      score.CompileBalance,
		"CompileImages":       score.CompileImages,
		"Explain":             score.Explain,
		"NormalizeImage":      score.NormalizeImage,
		"ShapeAt":             score.ShapeAt,
		"Totals":              score.Totals,
		"ValidateBalanceArgs": score.ValidateBalanceArgs,
		"ValidateFitArgs":     score.ValidateFitArgs,
		"ValidateShape":       score.ValidateShape,
		"Allocation": func() score.Evaluator[score.Rows, score.AllocationState] {
			a, err := score.CompileAllocation(&v1.Pod{}, score.FitArgs{})
			require.NoError(t, err)
			return a
		},
		"Balance": func() score.Evaluator[score.Rows, score.BalanceState] {
			b, err := score.CompileBalance(&v1.Pod{}, score.BalanceArgs{})
			require.NoError(t, err)
			return b
		},
	}, map[string]string{
		"Allocation.On": "the cluster must not be nil",
		"Balance.On":    "the cluster must not be nil",
	}, rows())
}

// Nil and zero arguments give the zero answer, as the comments say.
func TestNil(t *testing.T) {
	r := newRows(node("n1", "cpu=4,memory=4Gi"), nil)
	for _, p := range []*v1.Pod{nil, {}} {
		a, err := score.CompileAllocation(p, score.FitArgs{})
		require.NoError(t, err)
		require.Zero(t, a.On(r).Raw(1), "a free slot")
		b, err := score.CompileBalance(p, score.BalanceArgs{})
		require.NoError(t, err)
		require.True(t, b.Skip(), "the pod requests nothing")
		require.Zero(t, score.CompileImages(p, release.Current).On(testkit.NewCluster(nil, nil)).Raw(0))
	}
	totals, err := score.Totals(nil, nil, nil)
	require.NoError(t, err)
	require.Empty(t, totals)
	require.Equal(t, -1, score.Best(nil, nil))
	x, err := score.Explain(nil, nil, nil, 0)
	require.NoError(t, err)
	require.Equal(t, score.Explanation{}, x)
	require.NotEmpty(t, score.ValidateFitArgs(score.FitArgs{}, nil), "arguments without defaults")
	require.Empty(t, score.ValidateBalanceArgs(score.BalanceArgs{}, nil))
}

// Extreme weights and scores saturate. Of lists with different lengths only the common part is read.
func TestExtremeColumns(t *testing.T) {
	totals, err := score.Totals([]string{"a"}, []score.Column{{Weight: math.MinInt64, Scores: []int64{100, 100}}},
		[]score.Column{{Weight: math.MinInt64, Scores: []int64{math.MinInt64, 1}, Hosts: []string{"b"}}, {Hosts: []string{"a"}}})
	require.NoError(t, err)
	require.Equal(t, []int64{math.MinInt64}, totals)
}

// The program of the package comment compiles and runs: it stands in the examples.
func TestComment(t *testing.T) {
	testkit.CommentRuns(t, "doc.go", "example_shape_test.go")
}
