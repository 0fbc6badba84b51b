package taints_test

import (
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
			require.Equal(t, c.want, scores(c.nodes, c.tolerations), c.why)
		})
	}
}

// scores returns the normalized scores of nodes that are all feasible.
func scores(nodes []*v1.Node, tolerations []v1.Toleration) []int64 {
	s := taints.Compile(tolerations, taints.Options{}).On(testkit.NewCluster(nodes, nil))
	out, hi := make([]int64, len(nodes)), int64(0)
	for i := range nodes {
		out[i] = s.Raw(i)
		hi = max(hi, out[i])
	}
	for i := range out {
		out[i] = s.Normalize(out[i], 0, hi)
	}
	return out
}

// Normalize stays within 0 to 100 and never prefers the larger raw score.
func TestNormalize(t *testing.T) {
	s := taints.Compile(nil, taints.Options{}).On(one(nil))
	for hi := range int64(40) {
		last := int64(100)
		for raw := range hi + 1 {
			got := s.Normalize(raw, 0, hi)
			require.True(t, got >= 0 && got <= last, "raw %d of %d: %d after %d", raw, hi, got, last)
			last = got
		}
	}
}
