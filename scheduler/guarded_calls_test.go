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

// ways are the ways in which a plugin fails.
var ways = []string{"panics", "blocks", "answers nonsense"}

// spoil makes the plugin fail at a point. The channel reports that the plugin blocks. It blocks until the test ends.
func (p *probe) spoil(t *testing.T, at Point, how string) (blocked chan struct{}) {
	blocked = make(chan struct{}, 1)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	switch how {
	case "panics":
		p.do[at] = func() { panic("boom") }
	case "blocks":
		p.do[at] = func() { blocked <- struct{}{}; <-release }
	default:
		p.answer[at] = NewStatus(42)
		if at == "PreFlight" {
			p.preflight = NewStatus(42)
		}
	}
	return blocked
}

// cutOff runs a function in which a plugin blocks, and lets the plugin's deadline pass.
func (r *rig) cutOff(blocked chan struct{}, do func()) {
	done := make(chan struct{})
	go func() { do(); close(done) }()
	<-blocked
	r.clock.advance(r.s.o.PluginTimeout)
	<-done
}

// stepBadly runs one attempt in which a plugin fails in one of the ways.
func (r *rig) stepBadly(how string, blocked chan struct{}) {
	if how == "blocks" {
		r.cutOff(blocked, func() { r.step() })
		return
	}
	r.step()
}

// A plugin panics, blocks or answers with an unknown code, at any point. Afterwards the cache and the queue are as before:
// no pod is on a node, nothing is reserved, and the queue has the pod once. When the plugin works again, the next attempt
// succeeds.
func TestBadPlugins(t *testing.T) {
	for _, c := range []struct {
		at      Point
		place   queue.Place
		outcome Outcome
		set     func(p *probe) // makes the scheduler call the point
	}{
		{PreFilter, queue.ErrorBackoff, SchedulingError, nil},
		{Filter, queue.ErrorBackoff, SchedulingError, nil},
		{"AddPod", queue.ErrorBackoff, SchedulingError, nil},
		{PostFilter, queue.Unschedulable, Rejected, func(p *probe) { p.answer[Filter] = u("no") }},
		{PreScore, queue.ErrorBackoff, SchedulingError, nil},
		{Score, queue.ErrorBackoff, SchedulingError, nil},
		{"Normalize", queue.ErrorBackoff, SchedulingError, nil},
		{Reserve, queue.ErrorBackoff, SchedulingError, nil},
		{"Unreserve", queue.Unschedulable, Rejected, func(p *probe) { p.answer[Reserve] = u("no") }},
		{Permit, queue.ErrorBackoff, SchedulingError, nil},
		{"PreFlight", queue.ErrorBackoff, SchedulingError, nil},
		{PreBind, queue.ErrorBackoff, SchedulingError, nil},
		{Bind, queue.ErrorBackoff, SchedulingError, nil},
	} {
		for _, how := range ways {
			if c.at == "Unreserve" && how == "answers nonsense" {
				continue // the point has no answer
			}
			t.Run(fmt.Sprintf("%s %s", c.at, how), func(t *testing.T) {
				_, list := probes(1)
				if c.set != nil {
					c.set(list[0])
				}
				blocked := list[0].spoil(t, c.at, how)
				p, reg := on(list, append([]Point{"-"}, every...)...)
				r := newRig(t, Options{Profiles: []Profile{p}, Plugins: reg, PluginTimeout: time.Second}, three())
				if c.at == "AddPod" { // the plugin is called for nominated pods
					other := identified([]*v1.Pod{pod("other")})[0]
					r.pods["default/other"] = other
					r.s.queue.Nominate(other, queue.Nomination{Override: true, Node: "n1"})
				}
				x := pod("p")
				r.add(x)
				r.stepBadly(how, blocked)
				require.Equal(t, c.outcome, r.last().Outcome, r.last().Message)
				said := r.last().Message
				if c.at == "Unreserve" {
					require.Len(t, r.errs, 1)
					said = r.errs[0].Error()
				}
				switch how {
				case "panics":
					require.Contains(t, said, `plugin "A" panicked at`)
				case "blocks":
					require.Contains(t, said, `plugin "A" did not answer at`)
				default:
					require.Regexp(t, `unexpected status Code\(42\)|"Code\(42\)", which is unsupported`, said)
				}
				require.Equal(t, c.place, r.place(x))
				for _, n := range []string{"n1", "n2", "n3"} {
					require.Empty(t, r.on(n))
				}
				pods, _ := r.s.cache.sizes()
				require.Zero(t, pods)
				require.Zero(t, r.s.Waiting())
				require.Empty(t, r.s.binding)
				var counts queue.Counts
				r.s.queue.Read(func(q *queue.Queue) { counts = q.Counts() })
				require.Equal(t, 1, counts.Active+counts.Backoff+counts.Unschedulable+counts.Gated)

				list[0].answer, list[0].do, list[0].preflight = map[Point]*Status{}, map[Point]func(){}, nil
				r.s.queue.Activate(x)
				r.step()
				require.Equal(t, Scheduled, r.last().Outcome, r.last().Message)
				require.Equal(t, "p", r.on("n1")+r.on("n2")+r.on("n3"))
			})
		}
	}
}

// A plugin that is only called after a success cannot undo the success.
func TestBadPostBind(t *testing.T) {
	for _, how := range ways[:2] {
		t.Run(how, func(t *testing.T) {
			_, list := probes(1)
			blocked := list[0].spoil(t, PostBind, how)
			p, reg := on(list, "-", PostBind)
			r := newRig(t, Options{Profiles: []Profile{p}, Plugins: reg, PluginTimeout: time.Second}, three())
			x := pod("p")
			r.add(x)
			r.stepBadly(how, blocked)
			require.Equal(t, Scheduled, r.last().Outcome)
			require.Equal(t, "p", r.on("n1"))
			require.Equal(t, queue.Nowhere, r.place(x))
			require.Len(t, r.errs, 1)
		})
	}
}

// A plugin that fails in the what-ifs of preemption costs no victim its place.
func TestBadWhatIf(t *testing.T) {
	for _, how := range ways {
		t.Run(how, func(t *testing.T) {
			_, list := probes(1)
			blocked := list[0].spoil(t, "RemovePod", how)
			p, reg := on(list, PreFilter)
			low := testkit.Pod("default/low").On("n1").Priority(0).Request("cpu=4").Obj()
			r := newRig(t, Options{Profiles: []Profile{p}, Plugins: reg, PluginTimeout: time.Second}, []*v1.Node{node("n1")}, low)
			x := testkit.Pod("default/high").Priority(9).Request("cpu=4").Obj()
			r.add(x)
			r.stepBadly(how, blocked)
			require.Equal(t, Rejected, r.last().Outcome)
			require.Contains(t, r.last().Message, `running RemovePod on PreFilter plugin "A": `)
			require.Empty(t, r.deleted)
			require.Equal(t, "low", r.on("n1"))
			require.Equal(t, queue.Unschedulable, r.place(x))
		})
	}
}

// A thousand binding cycles run side by side. Some succeed, some are denied, some fail, some panic. Some wait and are then
// allowed, time out or are deleted. No pod is lost or bound twice, and no node is over its capacity.
func TestThousandBindings(t *testing.T) {
	const pods, nodes = 1000, 50
	var list []*v1.Node
	for k := range nodes {
		list = append(list, testkit.Node(fmt.Sprintf("n%02d", k)).Capacity("cpu=16,memory=64Gi,pods=30").Obj())
	}
	_, ps := probes(1)
	chaos := &chaotic{probe: ps[0], seen: map[string]int{}}
	p, reg := on(ps, Reserve, Permit, PreBind, Bind, PostBind)
	p.Plugins[Bind] = PluginSet{Enabled: []PluginRef{{Name: "A"}, {Name: nameDefaultBinder}}, Disabled: []string{"*"}}
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
	for range pods { // all pods are in their binding cycles before any pod goes on
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
		if c.Active+c.Backoff+c.Unschedulable+c.Gated+c.InFlight+r.s.Waiting() == 0 {
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
	require.Equal(t, pods, chaos.told)
	require.Equal(t, chaos.reserved, chaos.told+chaos.unreserved, "each Reserve ends with PostBind or Unreserve")
	require.Equal(t, pods*6/8, chaos.unreserved, "the first attempts of six in eight fail")
}

// chaotic gives the first attempt of each pod one of the outcomes in turn. Later attempts succeed.
type chaotic struct {
	*probe
	h     *Handle
	mu    sync.Mutex
	seen  map[string]int
	gate  chan struct{}
	enter func(int)

	reserved, unreserved, told int
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
	return []queue.Registration{{Event: queue.Event{Resource: "Pod", Action: queue.All}}}, nil
}

func (c *chaotic) Reserve(_ context.Context, _ *State, pod *v1.Pod, _ string) *Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[pod.Name]++
	c.reserved++
	return nil
}

func (c *chaotic) Unreserve(context.Context, *State, *v1.Pod, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unreserved++
}

func (c *chaotic) PostBind(context.Context, *State, *v1.Pod, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told++
}

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
