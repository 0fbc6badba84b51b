package write

import (
	"context"
	"io"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// At most so many jobs run at a time; a job whose context ends does not wait; the goroutines end with the context.
func TestTurns(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	turns := newTurns(2)
	running, release, ended := make(chan bool), make(chan bool), make(chan error)
	for range 3 {
		go func() {
			ended <- turns.do(ctx, func() error { running <- true; <-release; return nil })
		}()
	}
	<-running
	<-running
	over, stop := context.WithCancel(t.Context())
	stop()
	require.ErrorIs(t, turns.do(over, func() error { t.Error("a third job runs"); return nil }), context.Canceled)
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

// A job that hangs holds its turn for a while only.
func TestJobsHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		turns, release := newTurns(2), make(chan bool)
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { assert.NoError(t, turns.do(ctx, func() error { <-release; return nil })) })
		}
		synctest.Wait()
		began := time.Now()
		require.NoError(t, turns.do(ctx, func() error { return nil }))
		require.GreaterOrEqual(t, time.Since(began), slowJob, "the jobs that hang have all turns")
		require.LessOrEqual(t, time.Since(began), 3*slowJob)
		close(release)
		all.Wait()
		cancel()
		synctest.Wait()
		require.Equal(t, 2, turns.more, "no more goroutines stay than there are turns")
	})
}

// A panic of a job is a panic of the caller.
func TestJobPanics(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	turns := newTurns(1)
	require.PanicsWithValue(t, "no", func() { _ = turns.do(ctx, func() error { panic("no") }) })
	require.ErrorIs(t, turns.do(ctx, func() error { return io.EOF }), io.EOF, "the turn is free again")
}
