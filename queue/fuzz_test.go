package queue

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// play plays one string of bytes to its end, closes the queue and takes out what is left.
func play(t *testing.T, data []byte) {
	w := newWorld(t, data)
	for w.bytes.More() {
		w.step()
	}
	w.note("close")
	w.m.close()
	got := w.q.Close()
	w.compare(got)
	require.Empty(t, w.q.Close(), "closing again does nothing")
	for range len(w.q.entries) + 1 { // queued pods are handed out after Close
		e, moves := w.q.Pop(w.now)
		me := w.m.pop()
		w.compare(moves)
		require.Equal(t, me == nil, e == nil)
	}
}

// FuzzQueue plays any string of bytes.
func FuzzQueue(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(testkit.RandomBytes(seed, 200))
	}
	f.Fuzz(func(t *testing.T, data []byte) { play(t, data) })
}

// TestRandomOperations plays many strings of fixed seeds: the queue equals the model after every operation, and the
// invariants hold.
func TestRandomOperations(t *testing.T) {
	for seed := range testkit.Rounds(100) {
		play(t, testkit.RandomBytes(uint64(seed), 100+seed*37%500))
	}
}
