package scheduler

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/queue"
)

// entry returns the queue's entry of a pod.
func (r *rig) entry(pod *v1.Pod) (e *queue.Entry) {
	r.s.queue.Read(func(q *queue.Queue) { e, _ = q.Lookup(pod) })
	return e
}

func TestBadPreEnqueue(t *testing.T) {
	type test struct {
		name   string
		status *Status
		do     func()
		err    bool
	}
	testkit.Run(t, []test{
		{"U gates", u("wait"), nil, false},
		{"Error gates, and is reported", bad, nil, true},
		{"Skip gates", NewStatus(Skip), nil, true},
		{"nonsense gates", NewStatus(42), nil, true},
		{"a panic gates", nil, func() { panic("boom") }, true},
	}, func(t *testing.T, c test) {
		_, list := probes(1)
		list[0].answer[PreEnqueue], list[0].do[PreEnqueue] = c.status, c.do
		r := bare(t, list, PreEnqueue)
		p := pod("p")
		r.add(p)
		require.Equal(t, queue.Gated, r.place(p))
		require.Equal(t, c.err, r.entry(p).GateErr != nil)
		require.False(t, r.step())
	})
}

// lockedRig is a rig with one plugin at a point. All calls of the plugin have a deadline.
func lockedRig(t *testing.T, p *probe, points ...Point) *rig {
	profile, reg := on([]*probe{p}, append([]Point{"-"}, points...)...)
	return newRig(t, Options{Profiles: []Profile{profile}, Plugins: reg, PluginTimeout: time.Second}, three())
}

// A PreEnqueue plugin that blocks times out. It is not called again before the call has ended. Pods that come meanwhile
// stay gated, without a further wait, and are tried after the call has ended.
func TestPreEnqueueBlocks(t *testing.T) {
	s, list := probes(1)
	blocked, release := make(chan struct{}, 1), make(chan struct{})
	list[0].do[PreEnqueue] = func() {
		if len(s.calls) == 1 {
			blocked <- struct{}{}
			<-release
		}
	}
	r := lockedRig(t, list[0], PreEnqueue)
	first, second, third := pod("first"), pod("second"), pod("third")
	r.cutOff(blocked, func() { r.add(first) })
	require.Equal(t, queue.Gated, r.place(first))
	require.EqualError(t, r.entry(first).GateErr, `plugin "A" did not answer at PreEnqueue within 1s`)
	r.add(second, third)
	for _, p := range []*v1.Pod{second, third} {
		require.Equal(t, queue.Gated, r.place(p))
		require.EqualError(t, r.entry(p).GateErr, `plugin "A" has not answered an earlier call at PreEnqueue`)
	}
	require.Equal(t, "A.PreEnqueue", s.take())
	s.note("released")
	close(release)
	for _, want := range []string{"second", "third"} {
		e := r.s.queue.Pop(context.Background())
		require.Equal(t, want, e.Pod.Name)
		r.s.queue.Done(e.Pod)
	}
	require.Equal(t, queue.Gated, r.place(first), "as after any failure")
	r.s.queue.Activate(first)
	require.Equal(t, queue.Active, r.place(first))
}

// sorter orders the queue by name, and can fail.
type sorter struct{ fail func() }

func (s *sorter) Name() string { return "ByName" }
func (s *sorter) Less(a, b *queue.Entry) bool {
	if s.fail != nil {
		s.fail()
	}
	return a.Pod.Name < b.Pod.Name
}

// byName is a profile with the sorter. All calls of the sorter have a deadline.
func byName(t *testing.T, s *sorter) *rig {
	profile := Profile{Plugins: Plugins{QueueSort: {Enabled: []PluginRef{{Name: "ByName"}}, Disabled: []string{"*"}}}}
	plugins := Registry{"ByName": func(any, *Handle) (Plugin, error) { return s, nil }}
	return newRig(t, Options{Profiles: []Profile{profile}, Plugins: plugins, PluginTimeout: time.Second}, three())
}

// After an order fails, the queue has the order of PrioritySort: the pods of the queue are sorted again, and no pod is
// lost.
func TestQueueSort(t *testing.T) {
	for _, how := range ways[:2] {
		t.Run(how, func(t *testing.T) {
			s := &sorter{}
			r := byName(t, s)
			for k := range 9 {
				r.add(testkit.Pod(fmt.Sprintf("default/p%d", k)).Priority(int32(k)).Obj())
			}
			r.step()
			require.Equal(t, "p0", r.last().Pod.Name, "the plugin's order")
			var last *v1.Pod
			add := func() { r.add(testkit.Pod("default/z").Priority(5).Obj()) }
			if how == "panics" {
				s.fail = func() { panic("boom") }
				add()
			} else {
				blocked, release := make(chan struct{}, 1), make(chan struct{})
				t.Cleanup(func() { close(release) })
				s.fail = func() { blocked <- struct{}{}; <-release }
				r.cutOff(blocked, add)
			}
			require.Len(t, r.errs, 1)
			require.ErrorContains(t, r.errs[0], `plugin "ByName" `)
			require.ErrorContains(t, r.errs[0], "the queue goes on in the order of PrioritySort")
			var order []string
			for r.step() {
				if last != nil {
					require.GreaterOrEqual(t, *last.Spec.Priority, *r.last().Pod.Spec.Priority)
				}
				last = r.last().Pod
				order = append(order, last.Name)
			}
			require.Equal(t, "p8 p7 p6 p5 z p4 p3 p2 p1", strings.Join(order, " "))
			require.Len(t, r.errs, 1)
		})
	}
}

// If a hint fails, the pod is tried again. The queue waits for a blocking hint once.
func TestBadHint(t *testing.T) {
	for _, how := range ways[:2] {
		t.Run(how, func(t *testing.T) {
			_, list := probes(1)
			list[0].answer[Filter] = u("no")
			blocked := list[0].spoil(t, hintPoint, how)
			list[0].events = []queue.Registration{{Event: queue.Event{Resource: "Node", Action: queue.Add}, Hint: func(*v1.Pod, any, any) (bool, error) {
				list[0].do[hintPoint]()
				return false, nil
			}}}
			r := lockedRig(t, list[0], Filter)
			p, q := pod("p"), pod("q")
			r.add(p, q)
			r.step()
			r.step()
			require.Equal(t, queue.Unschedulable, r.place(p))
			event := func() { r.s.AddNode(node("n4")) }
			if how == "panics" {
				event()
			} else {
				r.cutOff(blocked, event)
			}
			require.Equal(t, queue.Backoff, r.place(p))
			require.Equal(t, queue.Backoff, r.place(q))
			text := strings.Join(r.moves, "\n")
			if how == "panics" {
				require.Equal(t, 2, strings.Count(text, `plugin "A" panicked at QueueingHint: boom`))
			} else {
				require.Equal(t, 1, strings.Count(text, `plugin "A" did not answer at QueueingHint within 1s`))
				require.Equal(t, 1, strings.Count(text, `plugin "A" has not answered an earlier call at QueueingHint`))
			}
		})
	}
}
