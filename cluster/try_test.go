package cluster_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// Changes stay when they are kept, and go with false, with an error and with a panic; also within another Try.
func TestTry(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Capacity("cpu=4,pods=9").Obj()}})
	require.NoError(t, err)
	place := func(name string) { require.NoError(t, s.Set(testkit.Pod(name).On("n").Obj())) }
	names := func() (out []string) {
		for p := range s.Pods(0) {
			out = append(out, p.Name)
		}
		return out
	}
	failed := errors.New("failed")
	require.NoError(t, s.Try(func() (bool, error) { place("a"); return true, nil }))
	require.NoError(t, s.Try(func() (bool, error) { place("b"); return false, nil }))
	require.ErrorIs(t, s.Try(func() (bool, error) { place("c"); return true, failed }), failed)
	require.Panics(t, func() { _ = s.Try(func() (bool, error) { place("d"); panic("stop") }) })
	require.Equal(t, []string{"a"}, names())
	require.NoError(t, s.Try(func() (bool, error) {
		place("e")
		require.NoError(t, s.Try(func() (bool, error) { place("f"); return true, nil }))
		require.NoError(t, s.Try(func() (bool, error) { place("g"); return false, nil }))
		require.Equal(t, []string{"a", "e", "f"}, names())
		return false, nil
	}))
	require.Equal(t, []string{"a"}, names())
}
