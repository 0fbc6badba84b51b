package scheduler

import (
	"context"
	"fmt"
	"time"
)

// builtin marks the library's own plugins, which neither panic nor block and are called directly.
type builtin interface{ builtin() }

// call runs one plugin at one point. A panic becomes an error; so does a plugin that has not answered by
// Options.PluginTimeout: its context is cancelled, its answer will be dropped, and the goroutine is left to it.
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
	if limit := s.o.PluginTimeout; limit > 0 {
		return race(s.clock, ctx, limit, at, p, run)
	}
	return protect(ctx, at, p, run)
}

func isBuiltin(p Plugin) bool {
	_, ok := p.(builtin)
	return ok
}

func protect[T any](ctx context.Context, at Point, p Plugin, run func(context.Context) (T, *Status)) (value T, st *Status) {
	defer func() {
		if r := recover(); r != nil {
			st = AsStatus(fmt.Errorf("plugin %q panicked at %s: %v", p.Name(), at, r))
		}
	}()
	return run(ctx)
}

func race[T any](clock Clock, ctx context.Context, limit time.Duration, at Point, p Plugin, run func(context.Context) (T, *Status)) (T, *Status) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		value T
		st    *Status
	}
	done, late := make(chan answer, 1), clock.After(limit)
	go func() {
		value, st := protect(ctx, at, p, run)
		done <- answer{value, st}
	}()
	select {
	case a := <-done:
		return a.value, a.st
	case <-late:
		var none T
		return none, AsStatus(fmt.Errorf("plugin %q did not answer at %s within %v", p.Name(), at, limit))
	}
}

// status is call for a plugin that answers with a status alone.
func (f *Framework) status(ctx context.Context, at Point, p Plugin, run func(context.Context) *Status) *Status {
	_, st := call(f, ctx, at, p, func(ctx context.Context) (struct{}, *Status) { return struct{}{}, run(ctx) })
	return st
}

// notify is call for a plugin that answers nothing; what goes wrong is only reported.
func (f *Framework) notify(ctx context.Context, at Point, p Plugin, run func(context.Context)) {
	st := f.status(ctx, at, p, func(ctx context.Context) *Status { run(ctx); return nil })
	if !st.Success() {
		f.s.report(st.AsError())
	}
}
