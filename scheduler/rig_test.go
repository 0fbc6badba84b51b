package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/volumes"
)

// clock is a Clock that moves only when advance is called.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	timers []timer
}

type timer struct {
	at time.Time
	c  chan time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := timer{c.now.Add(d), make(chan time.Time, 1)}
	c.timers = append(c.timers, t)
	return t.c
}

// advance adds to the time and fires the timers that are due.
func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.timers = slices.DeleteFunc(c.timers, func(t timer) bool {
		if t.at.After(c.now) {
			return false
		}
		t.c <- c.now
		return true
	})
}

// server is an API server in memory that reports each change to the scheduler, as informers do.
type server struct {
	mu       sync.Mutex
	s        *Scheduler
	pods     map[string]*v1.Pod
	bound    map[string]int
	events   []string
	patches  []string
	deleted  []string
	bindErr  func(pod *v1.Pod) error
	bindsTo  string                             // the node to which every binding really goes; "": the binding's
	deleting func(pod *v1.Pod)                  // is called before Delete; nil: nothing
	claims   map[string]metav1.Object           // by name
	extended *v1.PodExtendedResourceClaimStatus // written last
	failing  map[string]error                   // of Delete and PatchStatus, by pod name
	writes   int                                // calls of WriteClaims
	waited   []string                           // claims whose devices a pod waited for

	meanwhile func(claim string) *resourcev1.ResourceClaim // the claim as another has changed it before it is written; nil: nobody has
}

func (a *server) Pod(namespace, name string) *v1.Pod {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pods[namespace+"/"+name]
}

func (a *server) change(pod *v1.Pod, f func(*v1.Pod) *v1.Pod) error {
	a.mu.Lock()
	old := a.pods[podinfo.Name(pod)]
	if old == nil || old.UID != pod.UID {
		a.mu.Unlock()
		return ErrGone
	}
	next := f(old)
	a.pods[podinfo.Name(pod)] = next
	a.mu.Unlock()
	a.s.UpdatePod(old, next)
	return nil
}

func (a *server) Bind(_ context.Context, pod *v1.Pod, node string) error {
	if a.bindErr != nil {
		if err := a.bindErr(pod); err != nil {
			return err
		}
	}
	return a.change(pod, func(old *v1.Pod) *v1.Pod {
		a.bound[podinfo.Name(pod)]++
		c := *old
		c.Spec.NodeName, c.Status.NominatedNodeName = cmp.Or(a.bindsTo, node), ""
		return &c
	})
}

func (a *server) PatchStatus(_ context.Context, pod *v1.Pod, patch StatusPatch) error {
	if err := a.failing[pod.Name]; err != nil {
		return err
	}
	return a.change(pod, func(old *v1.Pod) *v1.Pod {
		text := pod.Name + ":"
		if c := patch.Condition; c != nil {
			text += fmt.Sprintf(" %s=%s %s %q", c.Type, c.Status, c.Reason, c.Message)
		}
		if n := patch.NominatedNode; n != nil {
			text += fmt.Sprintf(" nominated=%q", *n)
		}
		a.patches = append(a.patches, text)
		return patch.Apply(old)
	})
}

func (a *server) WriteClaims(_ context.Context, pod *v1.Pod, w ClaimWrites) error {
	a.writes++
	if err := a.failing["claims"]; err != nil && len(w.Set)+len(w.Unreserve) > 0 {
		return err
	}
	for k, c := range w.Set {
		if a.meanwhile != nil {
			var err error
			if c, err = w.Again(c, a.meanwhile(c.Name)); err != nil {
				return err
			}
			w.Set[k] = c
		}
		if c.UID == "" && c.Name == "" {
			c.Name = c.GenerateName + "made"
		}
		if c.UID == "" {
			c.UID = types.UID("uid of " + c.Name)
		}
		var old metav1.Object
		if a.claims[c.Name] != nil {
			old = a.claims[c.Name]
		}
		a.s.Set(old, c)
		a.claims[c.Name] = c
	}
	if w.Mappings != nil {
		a.extended = &v1.PodExtendedResourceClaimStatus{ResourceClaimName: w.Set[len(w.Set)-1].Name, RequestMappings: w.Mappings}
	}
	for _, old := range w.Unreserve {
		c := devices.Unreserved(old, pod.UID)
		a.s.Set(old, c)
		a.claims[c.Name] = c
	}
	for _, c := range w.Ready {
		a.waited = append(a.waited, c.Name)
	}
	if err := a.failing["devices"]; err != nil && len(w.Ready) > 0 {
		return err
	}
	for _, c := range w.Delete {
		a.s.Remove(c)
		delete(a.claims, c.Name)
	}
	return nil
}

func (a *server) BindVolumes(_ context.Context, _ *v1.Pod, d volumes.Decision) error { return nil }

func (a *server) Delete(_ context.Context, pod *v1.Pod) error {
	if a.deleting != nil {
		a.deleting(pod)
	}
	if err := a.failing[pod.Name]; err != nil {
		return err
	}
	a.mu.Lock()
	old := a.pods[podinfo.Name(pod)]
	if old == nil || old.UID != pod.UID {
		a.mu.Unlock()
		return ErrGone
	}
	delete(a.pods, podinfo.Name(pod))
	a.deleted = append(a.deleted, pod.Name)
	a.mu.Unlock()
	a.s.DeletePod(old)
	return nil
}

func (a *server) Event(pod *v1.Pod, kind, reason, action, note string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events = append(a.events, fmt.Sprintf("%s: %s %s/%s %s", pod.Name, kind, reason, action, note))
}

// rig is a scheduler with its server. The tests run it step by step.
type rig struct {
	*server
	t       *testing.T
	clock   *clock
	tasks   []func()
	results []Result
	moves   []string
	errs    []error
}

// script is the behaviour of a recording plugin. It adds every call to calls.
type script struct {
	mu    sync.Mutex
	calls []string
}

func (s *script) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
}

// take returns the calls so far, joined by spaces, and empties the list.
func (s *script) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := strings.Join(s.calls, " ")
	s.calls = nil
	return out
}

// probe is a plugin at every point. answer holds its answers by point; at other points it succeeds.
type probe struct {
	name      string
	script    *script
	answer    map[Point]*Status
	do        map[Point]func()
	only      []string // of PreFilter
	score     map[string]int64
	normal    func([]NodeScore)
	timeout   time.Duration // of Permit
	parallel  bool
	preflight *Status
	nominate  *Nomination
	perPod    map[string]map[Point]*Status
	events    []queue.Registration
}

func (p *probe) at(point Point, pod *v1.Pod, more ...string) *Status {
	p.script.note("%s", strings.Join(append([]string{p.name + "." + string(point)}, more...), ":"))
	if p.do[point] != nil {
		p.do[point]()
	}
	if pod != nil {
		if st, ok := p.perPod[pod.Name][point]; ok {
			return st
		}
	}
	return p.answer[point]
}

func (p *probe) Name() string { return p.name }
func (p *probe) PreEnqueue(pod *v1.Pod) *Status {
	return p.at(PreEnqueue, pod)
}
func (p *probe) EventsToRegister() ([]queue.Registration, error) { return p.events, nil }
func (p *probe) PreFilter(_ context.Context, _ *State, pod *v1.Pod, _ []*NodeInfo) ([]string, *Status) {
	return p.only, p.at(PreFilter, pod)
}
func (p *probe) AddPod(_ context.Context, _ *State, _, other *v1.Pod, n *NodeInfo) *Status {
	return p.at("AddPod", nil, other.Name)
}
func (p *probe) RemovePod(_ context.Context, _ *State, _, other *v1.Pod, n *NodeInfo) *Status {
	return p.at("RemovePod", nil, other.Name)
}
func (p *probe) Filter(_ context.Context, _ *State, pod *v1.Pod, n *NodeInfo) *Status {
	return p.at(Filter, pod, n.Node.Name, fmt.Sprint(len(slices.Collect(n.Pods()))))
}
func (p *probe) PostFilter(_ context.Context, _ *State, pod *v1.Pod, st *NodeStatuses) (*Nomination, *Status) {
	return p.nominate, p.at(PostFilter, pod)
}
func (p *probe) PreScore(_ context.Context, _ *State, pod *v1.Pod, _ []*NodeInfo) *Status {
	return p.at(PreScore, pod)
}
func (p *probe) Score(_ context.Context, _ *State, pod *v1.Pod, n *NodeInfo) (int64, *Status) {
	return p.score[n.Node.Name], p.at(Score, pod, n.Node.Name)
}
func (p *probe) NormalizeScores(_ context.Context, _ *State, pod *v1.Pod, list []NodeScore) *Status {
	st := p.at("Normalize", pod)
	if p.normal != nil {
		p.normal(list)
	}
	return st
}
func (p *probe) Reserve(_ context.Context, _ *State, pod *v1.Pod, _ string) *Status {
	return p.at(Reserve, pod)
}
func (p *probe) Unreserve(_ context.Context, _ *State, pod *v1.Pod, _ string) {
	p.at("Unreserve", nil)
}
func (p *probe) Permit(_ context.Context, _ *State, pod *v1.Pod, _ string) (*Status, time.Duration) {
	return p.at(Permit, pod), p.timeout
}
func (p *probe) PreBindPreFlight(context.Context, *State, *v1.Pod, string) (bool, *Status) {
	p.script.note("%s.PreFlight", p.name)
	if p.do["PreFlight"] != nil {
		p.do["PreFlight"]()
	}
	return p.parallel, p.preflight
}
func (p *probe) PreBind(_ context.Context, _ *State, pod *v1.Pod, _ string) *Status {
	return p.at(PreBind, pod)
}
func (p *probe) Bind(_ context.Context, _ *State, pod *v1.Pod, node string) *Status {
	return p.at(Bind, pod)
}
func (p *probe) PostBind(_ context.Context, _ *State, pod *v1.Pod, _ string) { p.at(PostBind, nil) }

// probes makes scripts of plugins named A, B, C … that share one list of calls.
func probes(n int) (*script, []*probe) {
	s := &script{}
	var out []*probe
	for k := range n {
		out = append(out, &probe{name: string(rune('A' + k)), script: s, answer: map[Point]*Status{}, do: map[Point]func(){}, perPod: map[string]map[Point]*Status{}})
	}
	return s, out
}

// on makes a profile in which the probes run at the given points after the default plugins. If the first point begins with
// "-", the profile has no default plugins except the order of the queue and the binder.
func on(list []*probe, points ...Point) (Profile, Registry) {
	r := Registry{}
	p := Profile{Plugins: Plugins{}}
	var refs []PluginRef
	for _, x := range list {
		r[x.name] = func(any, *Handle) (Plugin, error) { return x, nil }
		refs = append(refs, PluginRef{Name: x.name})
	}
	if len(points) > 0 && points[0] == "-" {
		points = points[1:]
		p.Plugins[MultiPoint] = PluginSet{Enabled: []PluginRef{{Name: namePrioritySort}, {Name: nameDefaultBinder}}, Disabled: []string{"*"}}
	}
	for _, at := range points {
		set := PluginSet{Enabled: refs}
		if at == Bind {
			set.Disabled = []string{"*"}
		}
		p.Plugins[at] = set
	}
	return p, r
}

// newRig makes a scheduler over nodes and pods that run there.
func newRig(t *testing.T, o Options, nodes []*v1.Node, pods ...*v1.Pod) *rig {
	t.Helper()
	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes, Pods: identified(pods)})
	require.NoError(t, err)
	r := &rig{t: t, clock: newClock(), server: &server{pods: map[string]*v1.Pod{}, bound: map[string]int{}, failing: map[string]error{}, claims: map[string]metav1.Object{}}}
	for _, p := range pods {
		r.pods[podinfo.Name(p)] = p
	}
	o.Client, o.Recorder = r.server, r.server
	if o.Clock == nil {
		o.Clock = r.clock
	}
	if o.Go == nil {
		o.Go = func(task func()) { r.tasks = append(r.tasks, task) }
	}
	o.OnResult = func(x Result) { r.results = append(r.results, x) }
	o.OnMove = func(m queue.Move, _ time.Time) { r.moves = append(r.moves, m.String()) }
	o.OnError = func(err error) { r.errs = append(r.errs, err) }
	r.s, err = New(snapshot, o)
	require.NoError(t, err)
	return r
}

func identified(pods []*v1.Pod) []*v1.Pod {
	for _, p := range pods {
		if p.UID == "" {
			p.UID = types.UID("uid-" + p.Name)
		}
	}
	return pods
}

// add adds pods to the scheduler.
func (r *rig) add(pods ...*v1.Pod) *rig {
	for _, p := range identified(pods) {
		r.mu.Lock()
		r.pods[podinfo.Name(p)] = p
		r.mu.Unlock()
		r.s.AddPod(p)
	}
	return r
}

// step runs one attempt and the tasks that the attempt starts.
func (r *rig) step() bool {
	did := r.s.TryScheduleOne(context.Background())
	r.work()
	return did
}

func (r *rig) work() {
	for len(r.tasks) > 0 {
		task := r.tasks[0]
		r.tasks = r.tasks[1:]
		task()
	}
}

// last returns the last result.
func (r *rig) last() Result {
	r.t.Helper()
	require.NotEmpty(r.t, r.results)
	return r.results[len(r.results)-1]
}

// place returns the part of the queue that holds a pod.
func (r *rig) place(pod *v1.Pod) queue.Place {
	var p queue.Place
	r.s.queue.Read(func(q *queue.Queue) { p = q.Explain(pod, r.clock.Now()).Place })
	return p
}

// on returns the pods of a node in the next cycle.
func (r *rig) on(node string) string {
	var out []string
	r.s.View(func(c *cluster.Snapshot) {
		for p := range c.Pods(c.Slot(node)) {
			out = append(out, p.Name)
		}
	})
	return strings.Join(out, " ")
}

func node(name string) *v1.Node {
	return testkit.Node(name).Capacity("cpu=4,memory=8Gi,pods=10").Obj()
}

func three() []*v1.Node { return []*v1.Node{node("n1"), node("n2"), node("n3")} }

func pod(name string) *v1.Pod { return testkit.Pod("default/" + name).Request("cpu=1").Obj() }
