package scheduler

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/queue"
)

// This file guards what the queue calls under its lock: PreEnqueue, Less and hints. A plugin that blocks there delays
// the queue by at most Options.PluginTimeout. The delay does not repeat for further pods: the plugin is not called
// again until the call that timed out has ended.

// callTurn is held by the running call of a plugin. A plugin has at most one running call.
type callTurn struct {
	mu     sync.Mutex
	taken  bool
	missed map[types.UID]*v1.Pod // those that came while it was taken
}

// take reports whether the plugin may be called for the pod.
func (t *callTurn) take(pod *v1.Pod) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.taken {
		t.taken = true
		return true
	}
	if t.missed == nil {
		t.missed = map[types.UID]*v1.Pod{}
	}
	t.missed[pod.UID] = pod
	return false
}

// end releases the turn and returns the pods that came while the turn was held, by name.
func (t *callTurn) end() []*v1.Pod {
	t.mu.Lock()
	defer t.mu.Unlock()
	missed := slices.SortedFunc(maps.Values(t.missed), compareNames)
	t.taken, t.missed = false, nil
	return missed
}

func busy(at Point, p Plugin) *Status {
	return AsStatus(fmt.Errorf("plugin %q has not answered an earlier call at %s", p.Name(), at))
}

// gate makes a queue's gate of a PreEnqueue plugin. Pods that come while an earlier call runs stay gated, and are tried
// again after that call has ended.
func (f *Framework) gate(p PreEnqueuePlugin) queue.Gate {
	ask := p.PreEnqueue
	if !isBuiltin(p) {
		ask = f.inTurn(p, new(callTurn))
	}
	return queue.Gate{Name: p.Name(), Check: func(pod *v1.Pod) queue.GateVerdict {
		st := ask(pod)
		v := queue.GateVerdict{Refuse: !st.Success(), Message: st.Message()}
		if v.Refuse && !st.Rejected() {
			v.Err = st.failure()
		}
		return v
	}}
}

func (f *Framework) inTurn(p PreEnqueuePlugin, t *callTurn) func(pod *v1.Pod) *Status {
	return func(pod *v1.Pod) *Status {
		if !t.take(pod) {
			return busy(PreEnqueue, p)
		}
		_, st := guarded(f.s, context.Background(), PreEnqueue, p, func(context.Context) (struct{}, *Status) {
			defer func() { f.s.queue.Activate(t.end()...) }() // none while the lock is held
			return struct{}{}, p.PreEnqueue(pod)
		})
		return st
	}
}

// less returns the queue's order. After a plugin panics or blocks, PrioritySort replaces the plugin, and the queue is
// sorted again.
func (f *Framework) less() func(a, b *queue.Entry) bool {
	p := f.queueSort
	if isBuiltin(p) {
		return p.Less
	}
	broken := false
	return func(a, b *queue.Entry) bool {
		if !broken {
			less, st := guarded(f.s, context.Background(), QueueSort, p, func(context.Context) (bool, *Status) { return p.Less(a, b), nil })
			if st.Success() {
				return less
			}
			broken = true
			f.s.queue.disorder = fmt.Errorf("%w; the queue goes on in the order of PrioritySort", st.AsError())
		}
		return queue.PriorityLess(a, b)
	}
}

// hint guards and measures a hint. If a hint fails in any way, the pod is tried again.
func (f *Framework) hint(p Plugin, t *callTurn, r queue.Registration) queue.Hint {
	s, h := f.s, r.Hint
	if h == nil {
		return nil
	}
	label := r.Event.String()
	return func(pod *v1.Pod, old, new any) (wants bool, err error) {
		began := s.metricsNow()
		defer func() { s.hinted(p.Name(), label, began, wants, err) }()
		if isBuiltin(p) {
			return h(pod, old, new)
		}
		if !t.take(pod) {
			return true, busy(hintPoint, p).AsError()
		}
		wants, st := guarded(s, context.Background(), hintPoint, p, func(context.Context) (bool, *Status) {
			defer t.end()
			wants, err := h(pod, old, new)
			return wants, AsStatus(err)
		})
		return wants, st.AsError()
	}
}
