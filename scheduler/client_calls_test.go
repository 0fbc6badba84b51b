package scheduler

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/volumes"

	"github.com/podberth/podberth/scheduler/httpextender/rules"
)

// faulty is a client, recorder and extender. One of its methods fails.
type faulty struct {
	*server
	at  string
	how func()
}

func (f *faulty) goes(at string) {
	if f.at == at {
		f.how()
	}
}

func (f *faulty) Pod(ns, name string) *v1.Pod { f.goes("Client.Pod"); return f.server.Pod(ns, name) }
func (f *faulty) Bind(c context.Context, p *v1.Pod, n string) error {
	f.goes("Client.Bind")
	return f.server.Bind(c, p, n)
}
func (f *faulty) PatchStatus(c context.Context, p *v1.Pod, s StatusPatch) error {
	f.goes("Client.PatchStatus")
	return f.server.PatchStatus(c, p, s)
}
func (f *faulty) BindVolumes(context.Context, *v1.Pod, volumes.Decision) error {
	f.goes("Client.BindVolumes")
	return nil
}
func (f *faulty) Delete(c context.Context, p *v1.Pod) error {
	f.goes("Client.Delete")
	return f.server.Delete(c, p)
}
func (f *faulty) Event(*v1.Pod, string, string, string, string) { f.goes("Recorder.Event") }

// faultyExtender is the extender of a faulty. It offers the verb that fails, and no verb if another method fails.
type faultyExtender struct{ *faulty }

func (e faultyExtender) Name() string            { e.goes("Extender.Name"); return "x" }
func (e faultyExtender) Offers(v Verb) bool      { e.goes("Extender.Offers"); return true }
func (e faultyExtender) Interested(*v1.Pod) bool { e.goes("Extender.Interested"); return true }
func (e faultyExtender) Ignorable() bool         { e.goes("Extender.Ignorable"); return false }
func (e faultyExtender) Filter(_ context.Context, _ *v1.Pod, nodes []*v1.Node) (rules.Filtered, error) {
	e.goes("Extender.filter")
	return everyNode(nodes), nil
}
func (e faultyExtender) Prioritize(context.Context, *v1.Pod, []*v1.Node) (score.Column, error) {
	e.goes("Extender.prioritize")
	return score.Column{Weight: 1}, nil
}
func (e faultyExtender) Preempt(_ context.Context, _ *v1.Pod, list []preemption.Candidate) ([]preemption.ExtenderVictims, error) {
	e.goes("Extender.preempt")
	return sameVictims(list), nil
}
func (e faultyExtender) Bind(c context.Context, p *v1.Pod, n string) error {
	e.goes("Extender.bind")
	return e.server.Bind(c, p, n)
}

// running returns the pods on the nodes as the next cycle sees them.
func (r *rig) running(nodes []*v1.Node) (out []string) {
	for _, n := range nodes {
		out = append(out, strings.Fields(r.on(n.Name))...)
	}
	return out
}

// The caller's Client, Extender, Recorder and functions panic or block, each at each of its calls. Afterwards the pod is
// bound, or the pod is in the queue and its room is free. The failure is reported. When the calls succeed again, the pod is
// bound.
func TestBadCallers(t *testing.T) {
	for _, c := range []struct {
		at      string
		outcome Outcome
		full    bool // a pod of lower priority fills the node
		extends bool // the scheduler asks an extender
	}{
		{"Client.Bind", SchedulingError, false, false},
		{"Client.Pod", Rejected, true, false},
		{"Client.PatchStatus", Rejected, true, false},
		{"Client.Delete", Rejected, true, false},
		{"Recorder.Event", Scheduled, false, false},
		{"Extender.Name", Scheduled, false, true},
		{"Extender.Offers", SchedulingError, false, true},
		{"Extender.Interested", SchedulingError, false, true},
		{"Extender.Ignorable", Scheduled, false, true},
		{"Extender.filter", SchedulingError, false, true},
		{"Extender.prioritize", Scheduled, false, true},
		{"Extender.preempt", Rejected, true, true},
		{"Extender.bind", SchedulingError, false, true},
		{"OnAttempt", Scheduled, false, false},
		{"OnMove", Scheduled, false, false},
		{"OnResult", Scheduled, false, false},
		{"Budgets", Rejected, true, false},
		{"Tie", Scheduled, false, false},
	} {
		for _, how := range ways[:2] {
			t.Run(c.at+" "+how, func(t *testing.T) {
				f := &faulty{}
				o := Options{PluginTimeout: time.Second}
				if c.extends {
					o.Extenders = []Extender{faultyExtender{f}}
				}
				o.Budgets = func() *disruption.Budgets { f.goes("Budgets"); return nil }
				o.Tie = func(int) int { f.goes("Tie"); return 0 }
				o.OnAttempt = func(*v1.Pod, *cluster.Snapshot) { f.goes("OnAttempt") }
				nodes, low := three(), []*v1.Pod{}
				if c.full {
					nodes, low = nodes[:1], []*v1.Pod{testkit.Pod("default/low").On("n1").Priority(0).Request("cpu=4").Obj()}
				}
				r := newRig(t, o, nodes, low...)
				f.server = r.server
				r.s.o.Client, r.s.o.Recorder = f, f
				var last Result
				told := map[string]bool{}
				r.s.o.OnResult = func(x Result) { last = x; f.goes("OnResult") }
				r.s.o.OnMove = func(queue.Move, time.Time) { f.goes("OnMove") }
				r.s.o.OnError = func(err error) { told[err.Error()] = true }
				x := testkit.Pod("default/p").Priority(9).Request("cpu=1").Obj()
				f.how = func() { panic("boom") }
				if how == "blocks" {
					release := make(chan struct{})
					t.Cleanup(func() { close(release) })
					f.how = func() { r.clock.advance(time.Second); <-release } // the deadline passes while the call blocks
				}
				f.at = c.at
				r.add(x)
				r.step()
				f.at = ""
				require.Equal(t, c.outcome, last.Outcome, last.Message)
				said := last.Message
				for text := range told {
					said += "\n" + text
				}
				if how == "panics" {
					require.Contains(t, said, c.at+" panicked: boom")
				} else {
					require.Contains(t, said, c.at+" did not answer within 1s")
				}
				if c.outcome != Scheduled {
					require.NotEqual(t, queue.Nowhere, r.place(x), "the pod is in the queue")
					require.NotContains(t, r.running(nodes), "p", "its room is free")
				}
				for range 5 {
					r.clock.advance(time.Minute)
					r.s.Tick()
					r.s.queue.Activate(x)
					r.step()
				}
				require.Equal(t, 1, r.bound["default/p"])
				require.Contains(t, r.running(nodes), "p")
				require.Equal(t, queue.Nowhere, r.place(x))
				_, assumed := r.s.cache.sizes()
				require.Zero(t, assumed)
				require.Empty(t, r.s.preempting)
			})
		}
	}
}

// The binding of volumes panics or blocks. Then the ledger promises the volumes to no pod, and the pod is in the queue.
func TestBadBindVolumes(t *testing.T) {
	r, c := stormRig(t, 0, map[string]int{})
	for n := 0; ; n++ {
		c.arrive(r, n)
		if len(c.volumes.claims) > 0 {
			break
		}
	}
	f := &faulty{server: r.server, at: "Client.BindVolumes", how: func() { panic("boom") }}
	r.s.o.Client = f
	for r.step() {
	}
	pending := 0
	for _, p := range r.pods {
		_, promised := r.s.volumes.Reserved(p)
		require.False(t, promised)
		if p.Spec.NodeName == "" {
			pending++
			require.Equal(t, queue.ErrorBackoff, r.place(p))
		}
	}
	require.Equal(t, 1, pending)
	_, assumed := r.s.cache.sizes()
	require.Zero(t, assumed)
}

// No task is lost when Options.Go panics.
func TestBadGo(t *testing.T) {
	bound := make(chan Outcome, 1)
	r := newRig(t, Options{Go: func(func()) { panic("boom") }}, three())
	r.s.o.OnResult = func(x Result) { bound <- x.Outcome }
	r.s.o.OnMove = nil
	var said []string
	r.s.o.OnError = func(err error) { said = append(said, err.Error()) }
	r.add(pod("p"))
	require.True(t, r.s.TryScheduleOne(ctx))
	require.Equal(t, Scheduled, <-bound)
	require.Equal(t, []string{"Options.Go panicked: boom"}, said)
}

// badMetrics panic at every call.
type badMetrics struct{ calls *int }

func (m badMetrics) Add(string, float64, ...string)     { *m.calls++; panic("boom") }
func (m badMetrics) Set(string, float64, ...string)     { *m.calls++; panic("boom") }
func (m badMetrics) Observe(string, float64, ...string) { *m.calls++; panic("boom") }

// The scheduler stops calling Metrics that panic, and reports the panic once.
func TestBadMetrics(t *testing.T) {
	calls := 0
	r := newRig(t, Options{Metrics: badMetrics{&calls}}, three())
	r.add(pod("p"), pod("q"))
	for r.step() {
	}
	r.s.Gauges()
	require.Equal(t, 1, calls)
	require.Len(t, r.errs, 1)
	require.EqualError(t, r.errs[0], "Metrics panicked and is not called any more: boom")
	require.Equal(t, 2, r.bound["default/p"]+r.bound["default/q"])
}

// impatient is a clock on which nothing that is waited for comes until it is over. Then it comes at once.
type impatient struct {
	WallClock
	over atomic.Bool
}

func (c *impatient) After(time.Duration) <-chan time.Time {
	if !c.over.Load() {
		return nil
	}
	now := make(chan time.Time, 1)
	now <- time.Time{}
	return now
}

// Run ends within 3 s after its context ends, even if a call blocks for ever and there is no time-out. Run's error names
// the call.
func TestRunEndsThoughCallBlocks(t *testing.T) {
	require.LessOrEqual(t, 2*shutdownWait, 3*time.Second, "Run waits twice")
	for _, at := range []Point{Filter, PreEnqueue, Reserve} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			_, list := probes(1)
			blocked := list[0].spoil(t, at, "blocks")
			p, reg := on(list, at)
			clock := new(impatient)
			r := newRig(t, Options{Profiles: []Profile{p}, Plugins: reg, Clock: clock, Go: func(task func()) { go task() }}, three())
			r.s.o.OnResult, r.s.o.OnMove = nil, nil
			running, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- r.s.Run(running) }()
			go r.add(pod("p"))
			<-blocked
			clock.over.Store(true)
			cancel()
			err := <-ended
			require.ErrorContains(t, err, fmt.Sprintf(`plugin "A" has not answered at %s`, at))
		})
	}
}
