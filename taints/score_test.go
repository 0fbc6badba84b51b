package taints_test

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/taints"
)

func TestScores(t *testing.T) {
	soft := func(ss ...string) *v1.Node {
		for i := range ss {
			ss[i] += ":PreferNoSchedule"
		}
		return node(ss...)
	}
	abcd := []*v1.Node{soft(), soft("x=1"), soft("x=1", "y", "z"), soft("x=1", "x=2")}
	seven := []*v1.Node{soft("a", "b", "c", "d", "e", "f", "g"), soft("a"), soft("a", "b", "c")}
	cases := []struct {
		name        string
		nodes       []*v1.Node
		tolerations []v1.Toleration
		want        []int64
		why         string
	}{
		{"T-30", abcd, nil, []int64{100, 67, 0, 34}, "raw 0, 1, 3, 2: the quotient is truncated before it is subtracted"},
		{"T-31 other effect", abcd, tols(tol("x Equal 1 NoSchedule")), []int64{100, 67, 0, 34}, "tolerations of NoSchedule do not count"},
		{"T-31 any effect", abcd, tols(tol("x Equal 1 _")), []int64{100, 100, 0, 50}, "raw 0, 0, 2, 1"},
		{"T-32", seven, nil, []int64{0, 86, 58}, "raw 7, 1, 3"},
		{"T-33", abcd, tols(tol("_ Exists _ _")), []int64{100, 100, 100, 100}, "all tolerated"},
		{"T-21 score", []*v1.Node{node("x=1:Bogus", "y=1")}, nil, []int64{100}, "unknown effects do not count"},
		{"duplicates", []*v1.Node{soft("a", "a"), soft("a")}, nil, []int64{0, 50}, "equal taints count each"},
		{"hard taints", []*v1.Node{node("a:NoSchedule"), soft("a")}, nil, []int64{100, 0}, "only PreferNoSchedule counts"},
		{"no node", nil, nil, []int64{}, "nothing to score"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, taints.Scores(c.nodes, c.tolerations, taints.Options{}), c.why)
		})
	}
	require.EqualValues(t, 3, taints.DefaultWeight)
}

// TestNormalizeForms holds the scalar form against the slice form, and both within 0 to 100.
func TestNormalizeForms(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	for range 2000 {
		raw := make([]int64, 1+r.Intn(6))
		hi := int64(0)
		for i := range raw {
			raw[i] = int64(r.Intn(9))
			hi = max(hi, raw[i])
		}
		all := append([]int64(nil), raw...)
		state := taints.Compile(nil, taints.Options{}).Count(testkit.NewCluster(nil, nil))
		state.NormalizeAll(all)
		again := append([]int64(nil), raw...)
		taints.NormalizeAll(again)
		require.Equal(t, all, again)
		for i := range raw {
			require.Equal(t, all[i], taints.Normalize(raw[i], 0, hi))
			require.Equal(t, all[i], state.Normalize(raw[i], 0, hi))
			require.True(t, all[i] >= 0 && all[i] <= taints.MaxScore)
		}
	}
}
