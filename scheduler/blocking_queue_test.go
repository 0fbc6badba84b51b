package scheduler

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/queue"
)

func newTestQueue(t *testing.T, c Clock) *Queue {
	t.Helper()
	inner, err := queue.New(queue.Options{})
	require.NoError(t, err)
	return NewQueue(inner, c, nil)
}

// With many producers and many consumers, every pod is handed out exactly once, and no consumer waits while a pod is
// active.
func TestQueueManyGoroutines(t *testing.T) {
	const producers, each, consumers = 8, 200, 4
	q := newTestQueue(t, newClock())
	var group, readers sync.WaitGroup
	var mu sync.Mutex
	got := map[string]int{}
	for range consumers {
		readers.Go(func() {
			for e := q.Pop(t.Context()); e != nil; e = q.Pop(t.Context()) {
				mu.Lock()
				got[e.Pod.Name]++
				mu.Unlock()
				q.Done(e.Pod)
			}
		})
	}
	for k := range producers {
		group.Go(func() {
			for n := range each {
				p := pod(fmt.Sprintf("p%d-%d", k, n))
				if err := q.Add(identified(append(identified(nil), p))[0]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	q.Close()
	readers.Wait()
	require.Len(t, got, producers*each)
	for name, n := range got {
		require.Equal(t, 1, n, name)
	}
}

func TestQueuePop(t *testing.T) {
	t.Run("waits for a pod", func(t *testing.T) {
		q := newTestQueue(t, newClock())
		got := make(chan string)
		go func() { got <- q.Pop(context.Background()).Pod.Name }()
		require.NoError(t, q.Add(pod("p")))
		require.Equal(t, "p", <-got)
	})
	t.Run("waits for a backoff to end", func(t *testing.T) {
		c := newClock()
		q := newTestQueue(t, c)
		require.NoError(t, q.Add(pod("p")))
		e := q.TryPop()
		require.NoError(t, q.Return(e, queue.Failure{})) // after an error the pod is not popped early
		got := make(chan string)
		go func() { got <- q.Pop(context.Background()).Pod.Name }()
		c.advance(2 * time.Second)
		q.Advance()
		require.Equal(t, "p", <-got)
	})
	t.Run("ends with the context", func(t *testing.T) {
		q := newTestQueue(t, newClock())
		ctx, cancel := context.WithCancel(context.Background())
		got := make(chan *queue.Entry)
		go func() { got <- q.Pop(ctx) }()
		cancel()
		require.Nil(t, <-got)
	})
	t.Run("ends with the queue, for all", func(t *testing.T) {
		q := newTestQueue(t, newClock())
		got := make(chan *queue.Entry)
		for range 3 {
			go func() { got <- q.Pop(context.Background()) }()
		}
		q.Close()
		for range 3 {
			require.Nil(t, <-got)
		}
	})
	t.Run("queued pods are handed out after Close", func(t *testing.T) {
		q := newTestQueue(t, newClock())
		require.NoError(t, q.Add(pod("p")))
		q.Close()
		require.Equal(t, "p", q.Pop(context.Background()).Pod.Name)
		require.Nil(t, q.Pop(context.Background()))
		require.NoError(t, q.Add(pod("q")))
		require.Equal(t, "q", q.Pop(context.Background()).Pod.Name)
	})
}

// Run schedules until its context ends, by the real clock or by a test clock.
func TestRun(t *testing.T) {
	bound := make(chan string, 10)
	_, list := probes(1)
	p, reg := on(list, PostBind)
	r := newRig(t, Options{Profiles: []Profile{p}, Plugins: reg, Go: func(task func()) { go task() }}, three())
	r.s.o.OnResult = func(x Result) { bound <- x.Pod.Name }
	r.s.o.OnMove = nil
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- r.s.Run(ctx) }()
	r.add(pod("a"))
	require.Equal(t, "a", <-bound)
	r.add(pod("b"))
	require.Equal(t, "b", <-bound)
	cancel()
	require.NoError(t, <-done)
}

// The caller hears of moves, and of nothing else.
func TestQueueWithoutMoves(t *testing.T) {
	inner, err := queue.New(queue.Options{Profiles: map[string]queue.Profile{v1.DefaultSchedulerName: {}}})
	require.NoError(t, err)
	q := NewQueue(inner, newClock(), func(m []queue.Move) { require.NotEmpty(t, m) })
	require.Nil(t, q.TryPop())
	q.Delete(pod("p"))
	q.Move(queue.Change{Event: podGone, Old: pod("p")})
	require.NoError(t, q.Add(identified([]*v1.Pod{pod("p")})[0]))
	require.NotNil(t, q.TryPop())
	require.Nil(t, NewQueue(inner, newClock(), nil).TryPop(), "without a listener")
}
