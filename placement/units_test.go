package placement

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/score"
)

// The engine gets each plugin once, with its places in the lists, -1 for none.
func TestPlacesOfUnits(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(t, err)
	both, filters, scores := tenant(), &Plugin{Name: "Filter", Filter: filterTenant}, &Plugin{Name: "Score", Score: scoreTenant}
	p := Profile{Filters: []*Plugin{filters, both}, Scores: []Weighted{{scores, 0}, {both, 7}}}
	type places struct {
		name          string
		filter, score int
		weight        int64
	}
	var got []places
	for _, u := range p.units(s) {
		got = append(got, places{u.Name, u.Filter, u.Score, u.Weight})
	}
	require.Equal(t, []places{{"Filter", 0, -1, 0}, {"Tenant", 1, 1, 7}, {"Score", -1, 0, 1}}, got)
}

// A pod that is not like others has a key too, which begins no key of pods that are, and the engine does not ask about the pod.
func TestUnitOfPodsThatAreAlike(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(t, err)
	p := &Plugin{
		Name: "Alike", Filter: func(*v1.Pod, Cluster) PreFiltered { return PreFiltered{Predicate: shy{}} }, KeyName: "shared",
		AppendSharedKey: func(dst []byte, pod *v1.Pod) ([]byte, bool) { return append(dst, pod.Name...), pod.Name != "odd" },
	}
	u := p.unit(s)
	require.Empty(t, u.KeyName)
	for name, want := range map[string]string{"odd": "k\x00", "even": "k\x01even"} {
		pod := testkit.Pod(name).Obj()
		require.Equal(t, want, string(u.AppendKey([]byte("k"), pod)))
		predicate, ok := u.Predicate(pod)
		require.Equal(t, name == "even", ok)
		require.Equal(t, name == "even", predicate != nil)
	}
}

// steep gives two nodes the ends of the integers and normalizes them by the least and the most.
type steep struct{ lo, hi int64 }

func (s steep) Raw(i int) int64 { return []int64{s.lo, s.hi}[i] }
func (s steep) Normalize(raw, lo, hi int64) int64 {
	if lo == s.lo && hi == s.hi && raw == hi {
		return 100
	}
	return 0
}

// Arguments that a score does not take are an error for each pod.
func TestScoresWithWrongArguments(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(t, err)
	wrong := []score.Resource{{Name: "cpu", Weight: -1}}
	for _, p := range []*Plugin{balanceOver(score.BalanceArgs{Resources: wrong}, nil), fitOver(FitOptions{Args: score.FitArgs{ScoringStrategy: &score.Strategy{Type: score.LeastAllocated, Resources: wrong}}}, nil)} {
		scorer, err := p.Score(testkit.Pod("p").Request("cpu=1").Obj(), s)
		require.Error(t, err, p.Name)
		require.Nil(t, scorer, p.Name)
	}
}

// The least and the most raw score may be any numbers.
func TestRawScoresAtTheEnds(t *testing.T) {
	for _, s := range []steep{{math.MinInt64, math.MaxInt64}, {math.MaxInt64, math.MaxInt64}, {math.MinInt64, math.MinInt64}, {-1, 1}} {
		x := hooks.NewRanking(s, "Steep", 1)
		require.Equal(t, int64(100), column(&x, []int{0, 1}).Scores[1], "%v", s)
	}
}
