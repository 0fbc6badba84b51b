package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The backoff doubles exactly up to the largest one, also where the largest one is no doubled initial one.
func TestBackoffDoubles(t *testing.T) {
	for count, want := range map[int]time.Duration{0: 0, -1: 0, 1: 5, 2: 10, 3: 11, 64: 11, 1000: 11} {
		require.Equal(t, want, backoffDuration(5, 11, count), "count %d", count)
	}
	require.Zero(t, backoffDuration(5, 0, 3))
	require.EqualValues(t, 3, backoffDuration(5, 3, 1))
	require.False(t, backoffExpiry(time.Unix(7, 0), 1).IsZero())
	require.True(t, backoffExpiry(time.Unix(7, 0), 0).IsZero())
}

// Without an expiry no pod rests, at the zero time neither. An expiry counts by whole seconds.
func TestBackingOff(t *testing.T) {
	require.False(t, backingOff(time.Time{}, time.Time{}))
	at := time.Unix(100, 0)
	for after, want := range map[time.Duration]bool{-time.Second: true, 0: true, 999 * time.Millisecond: true, time.Second: false} {
		require.Equal(t, want, backingOff(at, at.Add(after)), after)
	}
}
