package daemon

import (
	"context"
	"sync"
)

// tasks are goroutines that somebody waits for. A task may start further tasks.
type tasks struct {
	mu      sync.Mutex
	running int
	ended   chan struct{} // is closed when a task ends; nil: nobody waits
}

func (t *tasks) start(task func()) {
	t.mu.Lock()
	t.running++
	t.mu.Unlock()
	go func() {
		defer t.end()
		task()
	}()
}

func (t *tasks) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	if t.ended != nil {
		close(t.ended)
		t.ended = nil
	}
}

// wait returns when no task runs, or when the context ends. It returns the number of tasks that still run.
func (t *tasks) wait(ctx context.Context) int {
	for {
		t.mu.Lock()
		n := t.running
		if t.ended == nil {
			t.ended = make(chan struct{})
		}
		ended := t.ended
		t.mu.Unlock()
		if n == 0 || ctx.Err() != nil {
			return n
		}
		select {
		case <-ended:
		case <-ctx.Done():
		}
	}
}
