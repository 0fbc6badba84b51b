package history

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/placement"
)

// asked has every optional method of a scorer and notes what it is asked.
type asked struct {
	normalized [3]int64
	slots      []int32
	counts     []int32
}

func (*asked) Raw(i int) int64 { return int64(i) }
func (a *asked) Normalize(raw, lo, hi int64) int64 {
	a.normalized = [3]int64{raw, lo, hi}
	return 70
}
func (a *asked) Weigh(slots, counts []int32) { a.slots, a.counts = slots, counts }
func (*asked) Ignored(i int) bool            { return i == 1 }

// A scaled scorer passes every question on, and scales the answer of Normalize. The scorer alone says what is left out.
func TestScaled(t *testing.T) {
	pluginOf := func(s placement.Scorer, err error) *placement.Plugin {
		return scaled(&placement.Plugin{Name: "x", Score: func(*v1.Pod, placement.Cluster) (placement.Scorer, error) { return s, err }}, 10)
	}
	a := &asked{}
	s, err := pluginOf(a, nil).Score(nil, nil)
	require.NoError(t, err)
	x := s.(scaledScore)
	require.EqualValues(t, 5, x.Raw(5))
	require.EqualValues(t, 7, x.Normalize(1, 2, 3))
	require.Equal(t, [3]int64{1, 2, 3}, a.normalized)
	x.Weigh([]int32{4}, []int32{5})
	require.Equal(t, [][]int32{{4}, {5}}, [][]int32{a.slots, a.counts})
	require.True(t, x.Ignored(1))
	require.False(t, x.Ignored(2))

	plain, err := pluginOf(scorer(func(int) int64 { return 0 }), nil).Score(nil, nil)
	require.NoError(t, err)
	require.EqualValues(t, 3, plain.(scaledScore).Normalize(30, 0, 0), "a scorer without normalization")
	require.False(t, plain.(scaledScore).Ignored(1))
	plain.(scaledScore).Weigh(nil, nil)

	none, err := pluginOf(nil, nil).Score(nil, nil)
	require.NoError(t, err)
	require.Nil(t, none)
	none, err = pluginOf(a, errors.New("broken")).Score(nil, nil)
	require.EqualError(t, err, "broken")
	require.Nil(t, none)
}
