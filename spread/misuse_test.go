package spread

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Nil, zero and extreme arguments give an error or the zero answer, but for pods and clusters that must not be nil.
func TestMisuse(t *testing.T) {
	const object, noSlot = "pods and clusters must not be nil", "slots run from 0 to Len()-1"
	world := func() Cluster { return &fake{nodes: []*v1.Node{{}, nil}, pods: [][]*v1.Pod{{{}}, nil}} }
	pod := constrained("foo=bar", by("zone", 1, hard), by("zone", 1, soft))
	testkit.Misuse(t, map[string]any{
		"Check":            Check,
		"CheckGroup":       CheckGroup,
		"CompileHard":      CompileHard,
		"CompileSoft":      CompileSoft,
		"Hint":             Hint,
		"Normalize":        new(softState).Normalize,
		"OwnerSelector":    OwnerSelector,
		"Scores":           Scores,
		"ValidateDefaults": ValidateDefaults,
		"hint":             Hint(Options{}),
		"Hard":             func() *hardState { return mustHard(t, pod, Options{}).count(world()) },
		"Soft": func() *softState {
			e, err := compileSoft(pod, &Options{})
			require.NoError(t, err)
			return e.count(world())
		},
	}, map[string]string{
		"Check":               object,
		"CheckGroup":          object,
		"CompileHard":         object,
		"CompileSoft":         object,
		"Scores":              object,
		"Hard.Add":            object,
		"Hard.OfLabels":       object,
		"Hard.Remove":         object,
		"Hard.ScaleDownOrder": object,
		"Soft.Add":            object,
		"Soft.OfLabels":       object,
		"Soft.Remove":         object,
		"Soft.Ignored":        noSlot,
		"Soft.Raw":            noSlot,
		"Soft.Weigh":          "counts are nil or as many as the slots",
	}, world(), &v1.Pod{})
}

// Nil lists, nil owners and empty objects give the zero answer, as the comments say.
func TestNil(t *testing.T) {
	empty := &fake{}
	require.Nil(t, OwnerSelector(&v1.Pod{}, nil))
	require.Nil(t, CheckGroup(nil, nil))
	require.Empty(t, CheckGroup([]*v1.Pod{{}}, nil))
	require.Len(t, ValidateDefaults(Defaults{}, nil), 1, "the type is absent")
	v, err := Check(&v1.Pod{}, empty, 0, Options{})
	require.NoError(t, err)
	require.Equal(t, missingLabel, v, "no such slot")
	scores, err := Scores(&v1.Pod{}, empty, nil, Options{PlannedNodes: []*v1.Node{nil}})
	require.NoError(t, err)
	require.Empty(t, scores)
	require.Empty(t, new(hardState).Report())
	require.Empty(t, new(hardState).ScaleDownOrder(nil, 3))
	_, err = Hint(Options{})(&v1.Pod{}, nil, nil)
	require.Error(t, err, "neither pods nor nodes")
}

// Numbers at the ends of their ranges neither panic nor change a verdict.
func TestExtremes(t *testing.T) {
	c := threePods()
	for _, skew := range []int32{math.MinInt32, 0, math.MaxInt32} {
		s := mustHard(t, constrained("foo=bar", by("zone", skew, hard, minDomains(math.MaxInt32))), Options{}).count(c)
		require.Equal(t, skew == math.MaxInt32, s.Check(0) == 0)
		require.Equal(t, missingLabel, s.Check(math.MinInt))
		require.Equal(t, missingLabel, s.Check(math.MaxInt))
		slots, proven := s.Place(-1, PlaceOptions{Steps: math.MinInt})
		require.Empty(t, slots)
		require.True(t, proven)
		slots, proven = s.Place(math.MaxInt, PlaceOptions{Steps: math.MinInt})
		require.Equal(t, skew == math.MaxInt32, len(slots) == maxPlaced)
		require.Equal(t, skew != math.MaxInt32, proven, "room for more than the bound says nothing about n")
	}
	require.EqualValues(t, 100, new(softState).Normalize(5, math.MinInt64, math.MinInt64))
}

// The program of the package comment compiles and runs: it stands in the examples.
func TestComment(t *testing.T) {
	testkit.CommentRuns(t, "doc.go", "example_comment_test.go")
}
