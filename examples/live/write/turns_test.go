package write

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// At most so many jobs run at a time; a job whose context ends does not wait; the goroutines end with the context.
func TestTurns(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	turns := newTurns(2)
	running, release, ended := make(chan bool), make(chan bool), make(chan error)
	for range 3 {
		go func() {
			ended <- turns.do(ctx, func() { running <- true; <-release })
		}()
	}
	<-running
	<-running
	over, stop := context.WithCancel(t.Context())
	stop()
	require.ErrorIs(t, turns.do(over, func() { t.Error("a third job runs") }), context.Canceled)
	release <- true
	require.NoError(t, <-ended)
	<-running // the goroutine of the first takes it
	release <- true
	release <- true
	require.NoError(t, <-ended)
	require.NoError(t, <-ended)
	require.False(t, turns.grow())
	cancel()
	for left := 2; left > 0; runtime.Gosched() {
		if turns.grow() {
			left--
		}
	}
}
