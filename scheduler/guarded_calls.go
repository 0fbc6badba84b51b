package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// This file guards every call of code that is not the library's: plugins, and the objects and functions of Options. A
// panic becomes an error. A call that does not return within Options.PluginTimeout becomes an error too: its context is
// cancelled, its late answer is dropped, and its goroutine goes on alone.

// builtin marks the library's own plugins, which neither panic nor block and are called directly. builtin returns false for
// plugins of FromPlacement.
type builtin interface{ builtin() bool }

func isBuiltin(p Plugin) bool {
	b, ok := p.(builtin)
	return ok && b.builtin()
}

// callee names the called code: a plugin at a point, or a method or function of Options (plugin is nil).
type callee struct {
	at     Point
	plugin Plugin
}

// said returns a sentence about the callee.
func (c callee) said(verb string) string {
	if c.plugin == nil {
		return fmt.Sprintf("%s %s", c.at, verb)
	}
	return fmt.Sprintf("plugin %q %s at %s", c.plugin.Name(), verb, c.at)
}

// call runs one plugin at one point and measures it.
func call[T any](f *Framework, ctx context.Context, at Point, p Plugin, run func(context.Context) (T, *Status)) (T, *Status) {
	began := f.s.metricsNow()
	value, st := guarded(f.s, ctx, at, p, run)
	f.pluginDone(at, p, st, began)
	return value, st
}

// guarded is call without the metrics.
func guarded[T any](s *Scheduler, ctx context.Context, at Point, p Plugin, run func(context.Context) (T, *Status)) (T, *Status) {
	if isBuiltin(p) {
		return run(ctx)
	}
	return bounded(s, ctx, callee{at, p}, run)
}

// status does what call does, for a plugin that returns only a status.
func (f *Framework) status(ctx context.Context, at Point, p Plugin, run func(context.Context) *Status) *Status {
	_, st := call(f, ctx, at, p, func(ctx context.Context) (struct{}, *Status) { return struct{}{}, run(ctx) })
	return st
}

// notify does what call does, for a plugin that returns nothing. A failure is only reported.
func (f *Framework) notify(ctx context.Context, at Point, p Plugin, run func(context.Context)) {
	st := f.status(ctx, at, p, func(ctx context.Context) *Status { run(ctx); return nil })
	if !st.Success() {
		f.s.report(st.AsError())
	}
}

// ask calls a function of Options that returns a value and an error.
func ask[T any](s *Scheduler, ctx context.Context, what Point, run func(context.Context) (T, error)) (T, error) {
	value, st := bounded(s, ctx, callee{at: what}, func(ctx context.Context) (T, *Status) {
		value, err := run(ctx)
		return value, AsStatus(err)
	})
	return value, st.AsError()
}

// notify calls a function of Options that returns nothing.
func notify(s *Scheduler, what Point, run func()) error {
	_, err := ask(s, context.Background(), what, func(context.Context) (struct{}, error) { run(); return struct{}{}, nil })
	return err
}

// bounded runs a call within Options.PluginTimeout. Without a time-out the call runs on the same goroutine.
func bounded[T any](s *Scheduler, ctx context.Context, c callee, run func(context.Context) (T, *Status)) (T, *Status) {
	if s.o.PluginTimeout > 0 {
		return race(s, ctx, c, run)
	}
	return protect(s, ctx, c, run)
}

// protect turns a panic into an error. While the call runs, hanging lists the call.
func protect[T any](s *Scheduler, ctx context.Context, c callee, run func(context.Context) (T, *Status)) (value T, st *Status) {
	id := s.calls.enter(c)
	defer s.calls.leave(id)
	defer func() {
		if r := recover(); r != nil {
			st = AsStatus(fmt.Errorf("%s: %v", c.said("panicked"), r))
		}
	}()
	return run(ctx)
}

func race[T any](s *Scheduler, ctx context.Context, c callee, run func(context.Context) (T, *Status)) (T, *Status) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		value T
		st    *Status
	}
	limit := s.o.PluginTimeout
	done, late := make(chan answer, 1), s.clock.After(limit)
	go func() {
		a := answer{st: AsStatus(errors.New(c.said("ended its goroutine")))} // unless run returns
		defer func() { done <- a }()
		a.value, a.st = protect(s, ctx, c, run)
	}()
	select {
	case a := <-done:
		return a.value, a.st
	case <-late:
		var none T
		return none, AsStatus(fmt.Errorf("%s within %v", c.said("did not answer"), limit))
	}
}

// calls are the guarded calls that are running.
type calls struct {
	mu   sync.Mutex
	next uint64
	list map[uint64]callee
}

func (r *calls) enter(c callee) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil {
		r.list = map[uint64]callee{}
	}
	r.next++
	r.list[r.next] = c
	return r.next
}

func (r *calls) leave(id uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.list, id)
}

// hanging returns an error for each call that is running, the oldest first.
func (r *calls) hanging() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, id := range sortedKeys(r.list) {
		errs = append(errs, errors.New(r.list[id].said("has not answered")))
	}
	return errors.Join(errs...)
}
