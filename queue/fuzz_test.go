package queue

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
)

// play plays one string of bytes to its end, closes the queue and takes out what is left.
func play(t *testing.T, data []byte) {
	w := newWorld(t, data)
	for len(w.data) > 0 {
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
	r := rand.New(rand.NewSource(1))
	for range 20 {
		b := make([]byte, 200)
		r.Read(b)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) { play(t, data) })
}

// TestRandomOperations plays many strings of fixed seeds: the queue equals the model after every operation, and the
// invariants hold.
func TestRandomOperations(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 100
	}
	for seed := range rounds {
		r := rand.New(rand.NewSource(int64(seed)))
		b := make([]byte, 100+r.Intn(500))
		r.Read(b)
		play(t, b)
	}
}
