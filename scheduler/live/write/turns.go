package write

import (
	"context"
	"sync"
	"time"
)

// A connection to a kube-apiserver takes 100 requests at a time, and every request beyond that opens a connection of its own, with a
// TLS handshake. So bindings and events take turns. With the status patches and 18 watches they fit in one connection.
const bindingTurns, eventTurns = 48, 16

// slowJob is how long a job holds its turn. A job that takes longer goes on without one, so that requests which hang do not hold up the
// rest.
const slowJob = 500 * time.Millisecond

// turns bounds how many requests are under way. Its goroutines stay: a request needs a large stack, which a new goroutine would
// have to grow.
type turns struct {
	jobs chan func()
	slow time.Duration

	mu   sync.Mutex
	more int // goroutines that may still start
}

func newTurns(n int) *turns { return &turns{jobs: make(chan func()), slow: slowJob, more: n} }

// do runs a job when it is its turn, and returns the job's error when the job has ended. It panics if the job does. If the context ends
// before the job's turn, do returns the context's error. A goroutine of the turns ends when the context of the job that it was started for ends.
func (t *turns) do(ctx context.Context, job func() error) (err error) {
	ended := make(chan any) // takes what the job panics with
	run := func() {
		defer func() { ended <- recover() }()
		err = job()
	}
	select {
	case t.jobs <- run:
	default:
		if t.grow() {
			go t.work(ctx, run)
			break
		}
		select {
		case t.jobs <- run:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if r := <-ended; r != nil {
		panic(r)
	}
	return err
}

// grow reports whether another goroutine may start.
func (t *turns) grow() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.more == 0 {
		return false
	}
	t.more--
	return true
}

func (t *turns) work(ctx context.Context, job func()) {
	for {
		if job != nil {
			another := time.AfterFunc(t.slow, func() { t.work(ctx, nil) })
			job()
			if !another.Stop() {
				return
			}
		}
		select {
		case job = <-t.jobs:
		case <-ctx.Done():
			t.mu.Lock()
			t.more++
			t.mu.Unlock()
			return
		}
	}
}
