package scheduler

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/queue"
)

// A plugin that panics, blocks or answers with an unknown code, at any point, leaves cache and queue as before: nothing on
// the nodes, nothing reserved, and the pod in the queue once.
func TestBadPlugins(t *testing.T) {
	points := []Point{PreFilter, Filter, PreScore, Score, "Normalize", Reserve, Permit, "PreFlight", PreBind, Bind}
	for _, at := range points {
		for _, how := range []string{"panics", "blocks", "answers nonsense"} {
			t.Run(fmt.Sprintf("%s %s", at, how), func(t *testing.T) {
				_, list := probes(1)
				release, blocked := make(chan struct{}), make(chan struct{}, 1)
				t.Cleanup(func() { close(release) })
				switch how {
				case "panics":
					list[0].do[at] = func() { panic("boom") }
				case "blocks":
					list[0].do[at] = func() { blocked <- struct{}{}; <-release }
				default:
					list[0].answer[at] = NewStatus(42)
					if at == "PreFlight" {
						list[0].preflight = NewStatus(42)
					}
				}
				p, reg := on(list, append([]Point{"-"}, every...)...)
				r := newRig(t, Options{Profiles: []Profile{p}, Plugins: reg, PluginTimeout: time.Second}, three())
				x := pod("p")
				r.add(x)
				if how == "blocks" {
					done := make(chan struct{})
					go func() { r.step(); close(done) }()
					<-blocked
					r.clock.advance(time.Second)
					<-done
				} else {
					r.step()
				}
				require.Equal(t, SchedulingError, r.last().Outcome, r.last().Message)
				switch how {
				case "panics":
					require.Contains(t, r.last().Message, `plugin "A" panicked at`)
				case "blocks":
					require.Contains(t, r.last().Message, `plugin "A" did not answer at`)
				}
				require.Equal(t, queue.ErrorBackoff, r.place(x))
				for _, n := range []string{"n1", "n2", "n3"} {
					require.Empty(t, r.on(n))
				}
				pods, _ := r.s.cache.sizes()
				require.Zero(t, pods)
				require.Zero(t, r.s.Waiting())
				require.Empty(t, r.s.binding)
				var counts queue.Counts
				r.s.queue.Read(func(q *queue.Queue) { counts = q.Counts() })
				require.Equal(t, queue.Counts{Backoff: 1}, counts)
			})
		}
	}
}

func TestBadPreEnqueue(t *testing.T) {
	for _, c := range []struct {
		name   string
		status *Status
		do     func()
		err    bool
	}{
		{"U gates", u("wait"), nil, false},
		{"Error gates, and is reported", bad, nil, true},
		{"Skip gates", NewStatus(Skip), nil, true},
		{"nonsense gates", NewStatus(42), nil, true},
		{"a panic gates", nil, func() { panic("boom") }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, list := probes(1)
			list[0].answer[PreEnqueue], list[0].do[PreEnqueue] = c.status, c.do
			r := bare(t, list, PreEnqueue)
			p := pod("p")
			r.add(p)
			require.Equal(t, queue.Gated, r.place(p))
			var e *queue.Entry
			r.s.queue.Read(func(q *queue.Queue) { e, _ = q.Lookup(p) })
			require.Equal(t, c.err, e.GateErr != nil)
			require.False(t, r.step())
		})
	}
}

// sorter orders the queue by name, and can go wrong.
type sorter struct{ panics bool }

func (s *sorter) Name() string { return "ByName" }
func (s *sorter) Less(a, b *queue.Entry) bool {
	if s.panics {
		panic("boom")
	}
	return a.Pod.Name < b.Pod.Name
}

func TestQueueSort(t *testing.T) {
	s := &sorter{}
	profile := Profile{Plugins: Plugins{QueueSort: {Enabled: []PluginRef{{Name: "ByName"}}, Disabled: []string{"*"}}}}
	r := newRig(t, Options{Profiles: []Profile{profile}, Plugins: Registry{"ByName": func(any, *Handle) (Plugin, error) { return s, nil }}}, three())
	r.add(pod("b"), pod("a"), pod("c"))
	r.step()
	require.Equal(t, "a", r.last().Pod.Name)
	s.panics = true
	high := testkit.Pod("default/z").Priority(5).Obj()
	r.add(high)
	r.step()
	require.Equal(t, "z", r.last().Pod.Name, "PrioritySort takes over")
	require.Len(t, r.errs, 1)
	require.ErrorContains(t, r.errs[0], `plugin "ByName" panicked at QueueSort: boom`)
}

// A hint that panics counts as a wish.
func TestBadHint(t *testing.T) {
	_, list := probes(1)
	list[0].answer[Filter] = u("no")
	list[0].events = []queue.Registration{{Event: queue.NodeAdd, Hint: func(*v1.Pod, any, any) (bool, error) { panic("boom") }}}
	r := bare(t, list, Filter)
	p := pod("p")
	r.add(p).step()
	require.Equal(t, queue.Unschedulable, r.place(p))
	r.s.AddNode(node("n4"))
	require.Equal(t, queue.Backoff, r.place(p))
}

// A thousand binding cycles side by side: some succeed, some are denied, some wait and are let go, run out of time or are
// deleted, some fail, some panic. No pod is lost or bound twice, and no node is over its capacity.
func TestThousandBindings(t *testing.T) {
	const pods, nodes = 1000, 50
	var list []*v1.Node
	for k := range nodes {
		list = append(list, testkit.Node(fmt.Sprintf("n%02d", k)).Capacity("cpu=16,memory=64Gi,pods=30").Obj())
	}
	_, ps := probes(1)
	chaos := &chaotic{probe: ps[0], seen: map[string]int{}}
	p, reg := on(ps, Reserve, Permit, PreBind, Bind)
	p.Plugins[Bind] = PluginSet{Enabled: []PluginRef{{Name: "A"}}}
	reg["A"] = func(_ any, h *Handle) (Plugin, error) { chaos.h = h; return chaos, nil }
	var tasks sync.WaitGroup
	r := newRig(t, Options{Profiles: []Profile{p}, Plugins: reg, Go: func(task func()) { tasks.Go(task) }}, list)
	var mu sync.Mutex
	r.s.o.OnResult = func(Result) {}
	r.s.o.OnError = func(error) {}
	r.s.o.OnMove = nil
	running := 0
	some := sync.NewCond(&mu)
	chaos.enter = func(n int) {
		mu.Lock()
		defer mu.Unlock()
		running += n
		some.Broadcast()
	}
	for k := range pods {
		x := testkit.Pod(fmt.Sprintf("default/p%04d", k)).Request("cpu=500m,memory=1Gi").Obj()
		r.add(x)
	}
	chaos.gate = make(chan struct{})
	for range pods { // all in their binding cycles before any goes on
		require.True(t, r.s.TryScheduleOne(context.Background()))
	}
	mu.Lock()
	for running < pods*6/8 { // the others wait on Permit
		some.Wait()
	}
	mu.Unlock()
	require.Equal(t, pods/4, r.s.Waiting())
	close(chaos.gate)
	for round := 0; ; round++ {
		require.Less(t, round, 100, "it comes to an end")
		for _, w := range r.s.waiting.list() {
			if chaos.kind(w) == 3 {
				r.s.waiting.allow(w.UID, "A")
			}
		}
		r.clock.advance(11 * time.Second)
		r.s.Tick()
		tasks.Wait()
		for r.s.TryScheduleOne(context.Background()) {
		}
		tasks.Wait()
		var c queue.Counts
		r.s.queue.Read(func(q *queue.Queue) { c = q.Counts() })
		if c.Queued()+c.InFlight+r.s.Waiting() == 0 {
			break
		}
	}
	bound := map[string]int{}
	for name, x := range r.pods {
		require.NotEmpty(t, x.Spec.NodeName, "%s is lost", name)
		require.Equal(t, 1, r.bound[name], "%s is bound once", name)
		bound[x.Spec.NodeName]++
	}
	require.Len(t, r.pods, pods)
	for n, count := range bound {
		require.LessOrEqual(t, count, 30, n)
	}
	_, assumed := r.s.cache.sizes()
	require.Zero(t, assumed)
	require.Empty(t, r.s.binding)
}

// chaotic makes each pod's first attempt go its own way; later ones succeed.
type chaotic struct {
	*probe
	h     *Handle
	mu    sync.Mutex
	seen  map[string]int
	gate  chan struct{}
	enter func(int)
}

func (c *chaotic) kind(pod *v1.Pod) int {
	var k int
	_, _ = fmt.Sscanf(pod.Name, "p%d", &k)
	return k % 8
}

func (c *chaotic) first(pod *v1.Pod) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[pod.Name] == 1
}

func (c *chaotic) EventsToRegister() ([]queue.Registration, error) {
	return []queue.Registration{{Event: queue.Event{Resource: queue.Pod, Action: queue.All}}}, nil
}

func (c *chaotic) Reserve(_ context.Context, _ *State, pod *v1.Pod, _ string) *Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[pod.Name]++
	return nil
}
func (c *chaotic) Unreserve(context.Context, *State, *v1.Pod, string) {}

func (c *chaotic) Permit(_ context.Context, _ *State, pod *v1.Pod, _ string) (*Status, time.Duration) {
	switch k := c.kind(pod); {
	case k == 3 || k == 4 && c.first(pod):
		return NewStatus(Wait), 5 * time.Second
	}
	return nil, 0
}

func (c *chaotic) PreBindPreFlight(context.Context, *State, *v1.Pod, string) (bool, *Status) {
	return true, nil
}

func (c *chaotic) PreBind(_ context.Context, _ *State, pod *v1.Pod, _ string) *Status {
	c.enter(1)
	defer c.enter(-1)
	<-c.gate
	if !c.first(pod) {
		return nil
	}
	switch c.kind(pod) {
	case 1:
		return u("no")
	case 2:
		return bad
	case 5:
		panic("boom")
	}
	return nil
}

func (c *chaotic) Bind(_ context.Context, _ *State, pod *v1.Pod, _ string) *Status {
	switch k := c.kind(pod); {
	case k == 6 && c.first(pod):
		return bad
	case k == 7 && c.first(pod):
		panic("boom")
	}
	return NewStatus(Skip)
}
