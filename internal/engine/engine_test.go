package engine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/engine"
)

// Two moves as one count in both; without one the other is the move, and without both there is none.
func TestBoth(t *testing.T) {
	var made []string
	move := func(name string) engine.Move {
		return func(i int, n int32) { made = append(made, fmt.Sprint(name, i, n)) }
	}
	engine.Both(move("a"), move("b")).By(1, -2)
	engine.Both(nil, move("c")).By(3, 4)
	engine.Both(move("d"), nil).By(5, 6)
	engine.Both(nil, nil).By(7, 8)
	require.Equal(t, []string{"a1 -2", "b1 -2", "c3 4", "d5 6"}, made)
	require.Nil(t, engine.Both(nil, nil))
}

// An event has the objects before and after; objects of another type, and none, are no event of the type.
func TestEventOf(t *testing.T) {
	old, now := &v1.Pod{}, &v1.Pod{}
	for _, c := range []struct {
		old, new      any
		before, after *v1.Pod
		ok            bool
	}{
		{old, now, old, now, true}, {nil, now, nil, now, true}, {old, nil, old, nil, true}, {nil, nil, nil, nil, false},
		{&v1.Node{}, now, nil, nil, false}, {old, &v1.Node{}, nil, nil, false},
	} {
		before, after, ok := engine.EventOf[v1.Pod](c.old, c.new)
		require.Equal(t, c.ok, ok)
		require.Same(t, c.before, before)
		require.Same(t, c.after, after)
	}
}
