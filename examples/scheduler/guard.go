package scheduler

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/queue"
)

// builtin marks the library's own plugins, which neither panic nor block and are called directly.
type builtin interface{ builtin() }

// call runs one plugin at one point. A panic becomes an error; so does a plugin that has not answered by
// Options.PluginTimeout: its context is cancelled, its answer will be dropped, and the goroutine is left to it.
func call[T any](f *Framework, ctx context.Context, at Point, p Plugin, run func(context.Context) (T, *Status)) (T, *Status) {
	began := f.s.metricsNow()
	var value T
	var st *Status
	if _, ok := p.(builtin); ok {
		value, st = run(ctx)
	} else if limit := f.s.o.PluginTimeout; limit > 0 {
		value, st = race(f.s.clock, ctx, limit, at, p, run)
	} else {
		value, st = protect(ctx, at, p, run)
	}
	f.pluginDone(at, p, st, began)
	return value, st
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

// gate makes a queue's gate of a PreEnqueue plugin.
func (f *Framework) gate(p PreEnqueuePlugin) queue.Gate {
	return queue.Gate{Name: p.Name(), Check: func(pod *v1.Pod) queue.GateVerdict {
		st := f.status(context.Background(), PreEnqueue, p, func(context.Context) *Status { return p.PreEnqueue(pod) })
		v := queue.GateVerdict{Refuse: !st.Success(), Message: st.Message()}
		if v.Refuse && !st.Rejected() {
			v.Err = st.failure()
		}
		return v
	}}
}

// less returns the queue's order. A plugin that panics or blocks is replaced by PrioritySort from then on.
func (f *Framework) less() func(a, b *queue.Entry) bool {
	p := f.queueSort
	if _, ok := p.(builtin); ok {
		return p.Less
	}
	broken := false
	return func(a, b *queue.Entry) bool {
		if broken {
			return queue.PriorityLess(a, b)
		}
		less, st := call(f, context.Background(), QueueSort, p, func(context.Context) (bool, *Status) { return p.Less(a, b), nil })
		if !st.Success() {
			broken = true
			f.s.report(fmt.Errorf("%w; the queue goes on in the order of PrioritySort", st.AsError()))
			return queue.PriorityLess(a, b)
		}
		return less
	}
}

// safeHint turns the panic of a hint into an error, which counts as a wish to try again.
func (s *Scheduler) safeHint(r queue.Registration) queue.Hint {
	plugin, h := r.Plugin, r.Hint
	if h == nil {
		return nil
	}
	label := r.Event.String()
	return func(pod *v1.Pod, old, new any) (wants bool, err error) {
		began := s.metricsNow()
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("plugin %q panicked in a hint: %v", plugin, r)
			}
			s.hinted(plugin, label, began, wants, err)
		}()
		return h(pod, old, new)
	}
}
