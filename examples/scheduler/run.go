package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/podberth/podberth/queue"
)

// This file runs the scheduler as time passes, and closes it.

// give is how long Run waits for the scheduling cycle that runs when its context ends, and then for Close.
const give = time.Second

// Run schedules until the context ends, then closes the queue and the plugins. It does not wait for binding cycles.
//
// When the context ends, Run waits at most 1 s for the scheduling cycle that runs and 1 s for the plugins to close. The
// error says which calls of plugins and of the caller's functions have not answered then.
func (s *Scheduler) Run(ctx context.Context) error {
	go s.tick(ctx)
	cycles := make(chan struct{})
	go func() {
		defer close(cycles)
		for s.ScheduleOne(ctx) {
		}
	}()
	var errs []error
	select {
	case <-cycles:
	case <-ctx.Done():
		select {
		case <-cycles:
		case <-s.clock.After(give):
			errs = append(errs, s.calls.hanging())
		}
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		errs = append(errs, err)
	case <-s.clock.After(give):
		if err := s.calls.hanging(); len(errs) == 0 || errs[0] == nil {
			errs = append(errs, err)
		}
		errs = append(errs, errors.New("the queue and the plugins are not closed"))
	}
	return errors.Join(errs...)
}

// tick lets time pass: every second, as kube-scheduler's timers do.
func (s *Scheduler) tick(ctx context.Context) {
	for {
		s.Tick()
		select {
		case <-s.clock.After(time.Second):
		case <-ctx.Done():
			return
		}
	}
}

// Tick does what is due now: backoffs end, pods that waited too long on Permit are rejected, assumed pods expire. Run calls
// it every second; who drives the scheduler step by step calls it at Next.
func (s *Scheduler) Tick() {
	now := s.clock.Now()
	s.queue.Advance()
	s.waiting.expire(now)
	for _, p := range s.cache.expire(now) {
		s.report(fmt.Errorf("pod %s expired: its binding to %s was never seen", podName(p), p.Spec.NodeName))
		s.queue.Move(queue.Change{Event: podGone, Old: p})
	}
}

// Next returns when Tick will have something to do; false when only events can bring it.
func (s *Scheduler) Next() (at time.Time, ok bool) {
	see := func(t time.Time, found bool) {
		if found && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	s.queue.Read(func(q *queue.Queue) { see(q.Next(s.clock.Now())) })
	see(s.waiting.next())
	see(s.cache.next())
	return at, ok
}

// Close closes the queue and the plugins.
func (s *Scheduler) Close() error {
	s.queue.Close()
	var errs []error
	for _, name := range sortedKeys(s.profiles) {
		errs = append(errs, s.profiles[name].close())
	}
	return errors.Join(errs...)
}
