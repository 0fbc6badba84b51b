package scheduler

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
)

// This file runs Reserve, Permit, PreBind, Bind and PostBind.

const maxPermitTimeout = 15 * time.Minute

func (f *Framework) runReserve(ctx context.Context, state *State, pod *v1.Pod, node string) (out *Status) {
	began := f.s.metricsNow()
	defer func() { f.point(Reserve, began, out.Code()) }()
	for _, p := range f.reserve {
		st := f.status(ctx, Reserve, p, func(ctx context.Context) *Status { return p.Reserve(ctx, state, pod, node) })
		if st.Rejected() {
			return st.by(p.Name())
		}
		if !st.Success() {
			return AsStatus(fmt.Errorf("running Reserve plugin %q: %w", p.Name(), st.failure()))
		}
	}
	return nil
}

// runUnreserve calls Unreserve of all Reserve plugins, from the last to the first.
func (f *Framework) runUnreserve(ctx context.Context, state *State, pod *v1.Pod, node string) {
	began := f.s.metricsNow()
	defer func() { f.point(unreservePoint, began, Success) }()
	for k := len(f.reserve) - 1; k >= 0; k-- {
		p := f.reserve[k]
		f.notify(ctx, unreservePoint, p, func(ctx context.Context) { p.Unreserve(ctx, state, pod, node) })
	}
}

// runPermit asks all Permit plugins. If plugins answer Wait and no plugin rejects, waits holds the longest wait of each
// plugin.
func (f *Framework) runPermit(ctx context.Context, state *State, pod *v1.Pod, node string) (waits map[string]time.Duration, out *Status) {
	began := f.s.metricsNow()
	defer func() {
		code := out.Code()
		if len(waits) > 0 {
			code = Wait
		}
		f.point(Permit, began, code)
	}()
	for _, p := range f.permit {
		limit, st := call(f, ctx, Permit, p, func(ctx context.Context) (time.Duration, *Status) {
			st, limit := p.Permit(ctx, state, pod, node)
			return limit, st
		})
		switch {
		case st.Success():
		case st.Rejected():
			return nil, st.by(p.Name())
		case st.Code() == Wait:
			if waits == nil {
				waits = map[string]time.Duration{}
			}
			waits[p.Name()] = min(limit, maxPermitTimeout)
		default:
			return nil, AsStatus(fmt.Errorf("running Permit plugin %q: %w", p.Name(), st.failure()))
		}
	}
	return waits, nil
}

// runPreFlight asks the PreBind plugins whether they have anything to do, and reports whether any plugin has.
func (f *Framework) runPreFlight(ctx context.Context, state *State, pod *v1.Pod, node string) (some bool, err error) {
	began := f.s.metricsNow()
	defer func() {
		code := AsStatus(err).Code()
		if err == nil && !some {
			code = Skip
		}
		f.point(preFlightPoint, began, code)
	}()
	for _, p := range f.preBind {
		x, ok := p.(PreBindPreFlight)
		if !ok {
			some = true
			continue
		}
		parallel, st := call(f, ctx, preFlightPoint, p, func(ctx context.Context) (bool, *Status) {
			return x.PreBindPreFlight(ctx, state, pod, node)
		})
		state.parallel[p.Name()] = parallel && f.s.o.sideBySide()
		switch {
		case st.Success():
			some = true
		case st.Code() == Skip:
			state.skipPreBind[p.Name()] = true
		case st.Code() == Error:
			return false, fmt.Errorf("running PreBindPreFlight %q: %w", p.Name(), st.AsError())
		default:
			return false, fmt.Errorf("PreBindPreFlight %s returned %q, which is unsupported. It is supposed to return Success, Skip, or Error status", p.Name(), st.Code())
		}
	}
	return some, nil
}

// runPreBind runs the PreBind plugins that do not skip. Neighbours that may run in parallel run together; every other
// plugin runs alone. If plugins fail, the first of them in the profile's order decides.
func (f *Framework) runPreBind(ctx context.Context, state *State, pod *v1.Pod, node string) (out *Status) {
	began := f.s.metricsNow()
	defer func() { f.point(PreBind, began, out.Code()) }()
	var group []PreBindPlugin
	flush := func() *Status {
		if len(group) == 0 {
			return nil
		}
		st := f.runGroup(ctx, state, pod, node, group)
		group = group[:0]
		return st
	}
	for _, p := range f.preBind {
		if !state.parallel[p.Name()] {
			if st := flush(); !st.Success() {
				return st
			}
		}
		if !state.skipPreBind[p.Name()] {
			group = append(group, p)
		}
		if !state.parallel[p.Name()] {
			if st := flush(); !st.Success() {
				return st
			}
		}
	}
	return flush()
}

func (f *Framework) runGroup(ctx context.Context, state *State, pod *v1.Pod, node string, group []PreBindPlugin) *Status {
	run := func(p PreBindPlugin) *Status {
		st := f.status(ctx, PreBind, p, func(ctx context.Context) *Status { return p.PreBind(ctx, state, pod, node) })
		return bindStatus(PreBind, p, st)
	}
	statuses := make([]*Status, len(group))
	if len(group) == 1 {
		return run(group[0])
	}
	var wait sync.WaitGroup
	for k, p := range group {
		wait.Go(func() { statuses[k] = run(p) })
	}
	wait.Wait()
	for _, st := range statuses {
		if !st.Success() {
			return st
		}
	}
	return nil
}

// runBind calls the extender that binds. Without such an extender runBind calls the Bind plugins in order, until a
// plugin does not skip.
func (f *Framework) runBind(ctx context.Context, state *State, pod *v1.Pod, node string) (out *Status) {
	began := f.s.metricsNow()
	defer func() { f.point(Bind, began, out.Code()) }()
	for _, e := range f.s.o.Extenders {
		_, asked, err := consult(f.s, ctx, e, BindVerb, pod, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, e.Bind(ctx, pod, node)
		})
		if err != nil && f.s.ignorable(e) {
			f.s.passOver(e, err)
			continue
		}
		if asked {
			return AsStatus(err)
		}
	}
	for _, p := range f.bind {
		st := f.status(ctx, Bind, p, func(ctx context.Context) *Status { return p.Bind(ctx, state, pod, node) })
		if st.Code() != Skip {
			return bindStatus(Bind, p, st)
		}
	}
	return NewStatus(Skip)
}

// bindStatus is what a status of PreBind or Bind means: success, rejection or error.
func bindStatus(at Point, p Plugin, st *Status) *Status {
	switch {
	case st.Success():
		return nil
	case st.Rejected():
		return st.by(p.Name())
	}
	return AsStatus(fmt.Errorf("running %s plugin %q: %w", at, p.Name(), st.failure()))
}

func (f *Framework) runPostBind(ctx context.Context, state *State, pod *v1.Pod, node string) {
	began := f.s.metricsNow()
	defer func() { f.point(PostBind, began, Success) }()
	for _, p := range f.postBind {
		f.notify(ctx, PostBind, p, func(ctx context.Context) { p.PostBind(ctx, state, pod, node) })
	}
}
