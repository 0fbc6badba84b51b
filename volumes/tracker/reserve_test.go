package tracker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/volumes"
)

// An Assume ends with its pod and leaves nothing behind. A Reserve lasts until Unreserve.
func TestReservationsOfPodsThatLeave(t *testing.T) {
	s := localVolumes(t)
	k := New(s, Of(s))
	first, second := mounting(testkit.Pod("first").Obj(), "x"), mounting(testkit.Pod("second").Obj(), "y")
	slot := s.Slot("b1")
	d1, d2 := decide(t, k, s, first, slot), decide(t, k, s, second, slot)
	assume(t, k, s, first, "b1")
	require.NoError(t, s.Remove(first))
	require.NoError(t, k.Reserve(second, slot, d2), "the volume is free again")
	require.Empty(t, k.assumed)
	require.True(t, k.Unreserve(second))
	require.False(t, k.Unreserve(second))
	require.False(t, k.Unreserve(nil))

	assume(t, k, s, first, "b1")
	require.True(t, k.Unreserve(first))
	require.Empty(t, k.assumed)
	require.NoError(t, k.Reserve(first, slot, d1))
	require.NoError(t, s.Remove(first))
	_, reserved := k.Reserved(first)
	require.True(t, reserved, "a caller's own reservation does not end with the pod")
}

// A reservation that is in the way is ErrReserved with the ledger's text, and changes nothing. A pod without a UID is known by its name.
func TestReserveRefuses(t *testing.T) {
	for _, nameless := range []bool{false, true} {
		s := localVolumes(t)
		k := New(s, Of(s))
		slot := s.Slot("b1")
		first, second := mounting(testkit.Pod("first").Obj(), "x"), mounting(testkit.Pod("second").Obj(), "y")
		if nameless {
			first.UID, second.UID = "", ""
		}
		d1, d2 := decide(t, k, s, first, slot), decide(t, k, s, second, slot)
		require.NoError(t, k.Reserve(nil, slot, volumes.Decision{}), "nothing to reserve")
		require.NoError(t, k.Reserve(first, slot, d1))
		again := k.Reserve(first, slot, d1)
		require.ErrorIs(t, again, ErrReserved)
		taken := k.Assume(second, slot, d2)
		require.ErrorIs(t, taken, ErrReserved)
		require.NotEqual(t, ErrReserved.Error(), taken.Error())
		require.Empty(t, k.assumed)
		_, reserved := k.Reserved(second)
		require.False(t, reserved)
		got, reserved := k.Reserved(first)
		require.True(t, reserved)
		require.Equal(t, d1, got)
		require.Equal(t, nameless, first.UID == "", "the pod is not written to")
	}
}
