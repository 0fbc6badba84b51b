package affinity_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// scoreWorld has n1{zone=a,h=n1} n2{zone=a,h=n2} n3{zone=b,h=n3} n4{}.
func scoreWorld() *world {
	return newWorld(node("n1", "zone=a,h=n1"), node("n2", "zone=a,h=n2"), node("n3", "zone=b,h=n3"), node("n4", "")).namespace("d", "")
}

func raws(s *affinity.Full, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = s.Raw(i)
	}
	return out
}

func weight(w int32) affinity.PodOptions { return affinity.PodOptions{HardPodAffinityWeight: &w} }

func TestPodAffinityScore(t *testing.T) {
	w := scoreWorld
	a95 := func() *world {
		return w().run("n1", pod("d", "", "paff 5 h app=p")).run("n3", pod("d", "", "panti 3 h app=p"))
	}
	ignore := affinity.PodOptions{IgnorePreferredTermsOfExistingPods: true}
	type test struct {
		name, why  string
		world      *world
		pod        *v1.Pod
		options    affinity.PodOptions
		raw, score []int64 // want nil: not scored
	}
	testkit.Run(t, []test{
		{"A-90", "preferred anti-affinity", w().run("n2", pod("d", "sec=S2")), pod("d", "", "panti 100 zone sec=S2"), affinity.PodOptions{},
			[]int64{-100, -100, 0, 0}, []int64{0, 0, 100, 100}},
		{"A-91", "each matching pod counts", w().run("n1", pod("d", "app=x")).run("n2", pod("d", "app=x")).run("n3", pod("d", "app=x")),
			pod("d", "", "paff 10 zone app=x"), affinity.PodOptions{}, []int64{20, 20, 10, 0}, []int64{100, 100, 50, 0}},
		{"A-92", "29/100 is 28: divided before multiplied", w().run("n1", pod("d", "app=x")).run("n3", pod("d", "app=y")),
			pod("d", "", "paff 100 h app=x", "paff 29 h app=y"), affinity.PodOptions{}, []int64{100, 0, 29, 0}, []int64{100, 0, 28, 0}},
		{"A-93", "57/100 and 58/100", w().run("n1", pod("d", "app=x")).run("n3", pod("d", "app=y")).run("n2", pod("d", "app=z")),
			pod("d", "", "paff 100 h app=x", "paff 57 h app=y", "paff 58 h app=z"), affinity.PodOptions{}, []int64{100, 58, 57, 0}, []int64{100, 57, 56, 0}},
		{"A-94", "a running pod's required affinity scores", w().run("n1", pod("d", "", "aff zone app=p")), pod("d", "app=p"), affinity.PodOptions{},
			[]int64{1, 1, 0, 0}, []int64{100, 100, 0, 0}},
		{"A-94 weight 0", "unless the weight is 0", w().run("n1", pod("d", "", "aff zone app=p")), pod("d", "app=p"), weight(0), nil, nil},
		{"A-94 weight 7", "by the weight", w().run("n1", pod("d", "", "aff zone app=p")), pod("d", "app=p"), weight(7), []int64{7, 7, 0, 0}, []int64{100, 100, 0, 0}},
		{"A-95", "running pods' preferred terms", a95(), pod("d", "app=p"), affinity.PodOptions{}, []int64{5, 0, -3, 0}, []int64{100, 37, 0, 37}},
		{"A-96", "ignored for a pod without preferred terms", a95(), pod("d", "app=p"), ignore, nil, nil},
		{"A-96 with a term", "not for a pod that has one", a95(), pod("d", "app=p", "paff 1 h app=nobody"), ignore, []int64{5, 0, -3, 0}, []int64{100, 37, 0, 37}},
		{"A-97", "all kinds add up", w().run("n1", pod("d", "app=x", "aff h app=p", "paff 3 zone app=p")), pod("d", "app=p", "paff 2 zone app=x"), affinity.PodOptions{},
			[]int64{6, 5, 0, 0}, []int64{100, 83, 0, 0}},
		{"A-98", "a sum of 0 is not a skip", w().run("n1", pod("d", "app=x")), pod("d", "", "paff 7 h app=x", "panti 7 h app=x"), affinity.PodOptions{},
			[]int64{0, 0, 0, 0}, []int64{0, 0, 0, 0}},
		{"A-99", "negative scores", w().run("n1", pod("d", "app=x"), pod("d", "app=x")).run("n3", pod("d", "app=x")), pod("d", "", "panti 7 h app=x"), affinity.PodOptions{},
			[]int64{-14, 0, -7, 0}, []int64{0, 100, 50, 100}},
		{"A-101", "required anti-affinity never scores", w().run("n1", pod("d", "", "anti zone app=p")), pod("d", "app=p"), affinity.PodOptions{}, nil, nil},
		{"A9.2 own required", "the pod's own required affinity does not score", w().run("n1", pod("d", "app=x")), pod("d", "", "aff zone app=x"), affinity.PodOptions{}, nil, nil},
		{"A9.4 weight 0", "a contribution of 0 is not a skip", w().run("n1", pod("d", "app=x")), pod("d", "", "paff 0 zone app=x"), affinity.PodOptions{},
			[]int64{0, 0, 0, 0}, []int64{0, 0, 0, 0}},
		{"A9.4 no key", "a pod on a node without the key contributes nothing", w().run("n4", pod("d", "app=x")), pod("d", "", "paff 9 zone app=x"), affinity.PodOptions{}, nil, nil},
	}, func(t *testing.T, tc test) {
		for _, c := range []affinity.Cluster{tc.world, index(tc.world)} {
			s := count(c, tc.pod, tc.options)
			require.Equal(t, tc.raw == nil, s.SkipScore())
			if tc.raw == nil {
				require.Equal(t, make([]int64, 4), raws(s, 4))
				continue
			}
			raw := raws(s, 4)
			require.Equal(t, tc.raw, raw)
			s.NormalizeAll(raw)
			require.Equal(t, tc.score, raw)
		}
	})
	t.Run("A-100", func(t *testing.T) {
		s := count(w().run("n1", pod("d", "app=x")), pod("d", "", "paff 7 zone app=x", "anti h app=x"), affinity.PodOptions{})
		require.Equal(t, resources.Verdict(affinity.PodAntiAffinity), s.Check(0))
		raw := raws(s, 4)[1:]
		require.Equal(t, []int64{7, 0, 0}, raw, "pods on infeasible nodes count")
		s.NormalizeAll(raw)
		require.Equal(t, []int64{100, 0, 0}, raw)
	})
}

func TestNormalizePods(t *testing.T) {
	s := count(scoreWorld(), pod("d", ""), affinity.PodOptions{})
	differs := map[[2]int64]int64{{29, 50}: 57, {29, 100}: 28, {57, 100}: 56, {58, 100}: 57}
	for diff := int64(1); diff <= 100; diff++ {
		for r := range diff + 1 {
			want, ok := differs[[2]int64{r, diff}]
			if !ok {
				want = 100 * r / diff
			}
			require.Equal(t, want, s.Normalize(r-7, -7, diff-7), "%d/%d", r, diff)
		}
	}
	require.Equal(t, int64(0), s.Normalize(5, 5, 5), "equal raw scores give 0")
	s.NormalizeAll(nil)
}

func TestPodOptions(t *testing.T) {
	for _, v := range []int32{-1, 101} {
		errs := weight(v).Validate(nil)
		require.Len(t, errs, 1)
		require.Equal(t, field.ErrorTypeInvalid, errs[0].Type)
	}
	require.EqualError(t, weight(101).Validate(nil).ToAggregate(), "hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]")
	for _, o := range []affinity.PodOptions{{}, weight(0), weight(100)} {
		require.Empty(t, o.Validate(nil))
	}
}
