package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/queue"
)

// This file runs the scheduler by the clock, and closes the scheduler.

// shutdownWait is how long Run waits for the last scheduling cycle after the context ended, and then for Close.
const shutdownWait = time.Second

// Run schedules until the context ends, then closes the queue and the plugins. It does not wait for binding cycles.
//
// When the context ends, Run waits at most 1 s for the running scheduling cycle and at most 1 s for the plugins to
// close. The error names the calls of plugins and of the caller's functions that have not returned by then.
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
		case <-s.clock.After(shutdownWait):
			errs = append(errs, s.calls.hanging())
		}
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		errs = append(errs, err)
	case <-s.clock.After(shutdownWait):
		if err := s.calls.hanging(); len(errs) == 0 || errs[0] == nil {
			errs = append(errs, err)
		}
		errs = append(errs, errors.New("the queue and the plugins are not closed"))
	}
	return errors.Join(errs...)
}

// tick calls Tick every second, as kube-scheduler's timers do.
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

// Tick does what is due now: backoffs end, pods that waited too long on [Permit] are rejected, and assumed pods expire.
// Run calls Tick every second. A caller that runs the scheduler step by step calls Tick at the time of Next.
func (s *Scheduler) Tick() {
	now := s.clock.Now()
	s.queue.Advance()
	s.waiting.expire(now)
	for _, p := range s.cache.overdue(now) {
		if s.o.ReadPod == nil {
			s.expire(p)
			continue
		}
		s.o.Go(func() { s.confirm(p) })
	}
}

// expire drops an assumed pod.
func (s *Scheduler) expire(assumed *v1.Pod) {
	if s.cache.assumed(assumed.UID) == nil {
		return // its binding was seen meanwhile
	}
	s.report(fmt.Errorf("pod %s expired: its binding to %s was never seen", podName(assumed), assumed.Spec.NodeName))
	s.report(s.cache.forget(assumed))
	s.queue.Move(queue.Change{Event: podGone, Old: assumed})
}

// confirm reads an assumed pod whose binding was not seen. What the API server does not know of is tried again.
func (s *Scheduler) confirm(assumed *v1.Pod) {
	now, err := s.o.ReadPod(assumed)
	switch {
	case err != nil:
		s.report(fmt.Errorf("reading pod %s, whose binding to %s was not seen: %w", podName(assumed), assumed.Spec.NodeName, err))
	case now == nil:
		s.expire(assumed)
	case now.Spec.NodeName == "" && s.cache.assumed(assumed.UID) != nil:
		s.expire(assumed)
		s.AddPod(now)
	}
}

// Next returns the time at which Tick has something to do next. It returns false if nothing becomes due without an
// event.
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
