package placement

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
)

var soakOperations = flag.Int("soak", 4000, "random operations of TestSoak")

// soak is a scheduler that never ends: one snapshot, one plan with its preempter and one queue, and what they must agree with.
type soak struct {
	world
	t       *testing.T
	now     time.Time
	cluster *cluster.Snapshot
	placer  *Placer
	queue   *queue.Queue
	waiting map[string]*v1.Pod // pods that the queue has
	running []*v1.Pod          // pods that the snapshot has
	binding []*queue.Entry     // of pods that are assumed and in flight
	counts  struct{ placed, failed, preempted, unbound, nodes int }
}

const (
	soakNodes   = 24
	soakWaiting = 40
)

// TestSoak plays random operations, nodes that come, change and leave among them. After every thousand the answers are those of a
// fresh snapshot, plan, preempter and queue. The memory in use does not grow.
//
//	go test ./placement -run '^TestSoak$' -timeout 1h -v -args -soak 10000000
func TestSoak(t *testing.T) {
	s := &soak{world: world{r: rand.New(rand.NewPCG(1, 31))}, t: t, now: time.Unix(1_700_000_000, 0), waiting: map[string]*v1.Pod{}}
	s.cluster = s.snapshot(t, soakNodes, 0)
	for _, i := range s.cluster.Order() {
		require.NoError(t, s.cluster.Set(uniform(s.cluster.Node(int(i)).DeepCopy())))
	}
	profile := DefaultProfile()
	var err error
	s.placer, err = NewPlacer(s.cluster, profile)
	require.NoError(t, err)
	s.queue, err = queue.New(s.queueOptions())
	require.NoError(t, err)
	var peaks [2]uint64 // of the second fifth, when caches are full, and of the rest
	every := max(*soakOperations/200, 1000)
	for n := 1; n <= *soakOperations; n++ {
		s.now = s.now.Add(time.Duration(s.r.IntN(200)) * time.Millisecond)
		s.step()
		if n%1000 == 0 {
			s.check()
		}
		if k := min(n*5 / *soakOperations, 2); n%every == 0 && k > 0 {
			peaks[k-1] = max(peaks[k-1], testkit.Heap())
		}
	}
	t.Logf("%d operations: %+v; at most %d kB in use in the second fifth, %d kB later", *soakOperations, s.counts, peaks[0]>>10, peaks[1]>>10)
	require.Less(t, peaks[1], uint64(64<<20), "bytes in use")
	if *soakOperations >= 2_000_000 { // a fifth fills the memory of keys that were seen
		require.Less(t, peaks[1], peaks[0]+peaks[0]/5+4<<20, "bytes in use")
	}
	for name, n := range map[string]int{"placed": s.counts.placed, "failed": s.counts.failed, "preempted": s.counts.preempted, "unbound": s.counts.unbound, "nodes": s.counts.nodes} {
		require.Greater(t, n, *soakOperations/500, name)
	}
	runtime.KeepAlive(s)
}

func (s *soak) queueOptions() queue.Options {
	events, err := DefaultProfile().Registrations(s.cluster, release.Current)
	require.NoError(s.t, err)
	return queue.Options{Profiles: map[string]queue.Profile{v1.DefaultSchedulerName: {
		Gates: []queue.Gate{queue.SchedulingGates()}, Events: events,
	}}}
}

func (s *soak) step() {
	switch s.r.IntN(40) {
	case 0:
		s.nodeComesOrChanges()
	case 1:
		s.nodeLeaves()
	case 2, 3, 4, 5, 6:
		if len(s.running) > 0 {
			s.podLeaves(s.running[s.r.IntN(len(s.running))])
		}
	case 7, 8, 9, 10:
		s.podIsDeleted()
	case 11:
		s.podChanges()
	case 12, 13:
		s.queue.Advance(s.now)
	case 14, 15, 16, 17, 18:
		s.bindingEnds()
	case 19, 20, 21, 22, 23, 24, 25, 26, 27:
		s.podComes()
	default:
		s.attempt()
	}
}

func (s *soak) podComes() {
	if len(s.waiting) >= soakWaiting {
		return
	}
	p := s.pod(s.r.IntN(30))
	p.Spec.Priority = new(int32)
	*p.Spec.Priority = int32(s.r.IntN(5))
	if s.chance(3) {
		p.Labels["pod"] = p.Name
	}
	_, err := s.queue.Add(p, s.now)
	require.NoError(s.t, err)
	s.waiting[nameOf(p)] = p
}

func nameOf(p *v1.Pod) string { return p.Namespace + "/" + p.Name }

// attempt is one scheduling attempt.
func (s *soak) attempt() {
	if len(s.binding) > 5 {
		s.bindingEnds()
	}
	e, _ := s.queue.Pop(s.now)
	if e == nil {
		return
	}
	o := Options{Nominated: func(i int) []*v1.Pod { return s.queue.NominatedFor(s.cluster.Node(i).Name) }}
	d := s.placer.Decide(e.Pod, o)
	if d.Placed() {
		require.NoError(s.t, s.placer.Assume(e.Pod, d))
		s.queue.Nominate(e.Pod, queue.Nomination{Override: true})
		delete(s.waiting, nameOf(e.Pod))
		s.counts.placed++
		s.running = append(s.running, e.Pod)
		s.binding = append(s.binding, e)
		return
	}
	s.counts.failed++
	require.NoError(s.t, d.Failure.Err)
	failure := queue.Failure{Rejecters: d.Failure.Rejecters}
	if s.chance(2) {
		found := s.placer.Preempt(e.Pod, d.Failure, o, PreemptOptions{Budgets: disruption.NewBudgets(nil, disruption.BudgetOptions{}), Now: s.now})
		if found.Node != "" {
			s.counts.preempted++
			failure.Nomination = queue.Nomination{Override: true, Node: found.Node}
			for _, v := range found.Victims {
				s.podLeaves(v.Pod)
			}
		}
	}
	_, err := s.queue.Return(e, failure, s.now)
	require.NoError(s.t, err)
}

// bindingEnds ends the binding of a pod, at times with an error.
func (s *soak) bindingEnds() {
	if len(s.binding) == 0 {
		return
	}
	e := s.binding[0]
	s.binding = s.binding[1:]
	at := slices.IndexFunc(s.running, func(p *v1.Pod) bool { return p == e.Pod })
	if at < 0 { // it has left meanwhile
		s.queue.Done(e.Pod)
		return
	}
	if !s.chance(6) {
		bound := e.Pod.DeepCopy()
		bound.Spec.NodeName = s.nodeOf(e.Pod)
		start := metav1.NewTime(s.now)
		bound.Status.StartTime = &start
		require.NoError(s.t, s.cluster.Set(bound))
		s.running[at] = bound
		s.queue.Done(e.Pod)
		s.event(queue.Event{Resource: "AssignedPod", Action: queue.Add}, nil, bound)
		return
	}
	s.counts.unbound++
	require.NoError(s.t, s.placer.Forget(e.Pod))
	s.running = slices.Delete(s.running, at, at+1)
	s.event(queue.Event{Resource: "AssignedPod", Action: queue.Delete}, e.Pod, nil)
	_, err := s.queue.Return(e, queue.Failure{}, s.now)
	require.NoError(s.t, err)
	s.waiting[nameOf(e.Pod)] = e.Pod
}

// nodeOf returns the node of a pod of the snapshot.
func (s *soak) nodeOf(p *v1.Pod) string {
	for i := range s.cluster.Len() {
		for q := range s.cluster.Pods(i) {
			if nameOf(q) == nameOf(p) {
				return s.cluster.Node(i).Name
			}
		}
	}
	s.t.Fatalf("pod %s is on no node", nameOf(p))
	return ""
}

func (s *soak) podLeaves(p *v1.Pod) {
	require.NoError(s.t, s.cluster.Remove(p))
	s.running = slices.DeleteFunc(s.running, func(q *v1.Pod) bool { return nameOf(q) == nameOf(p) })
	s.event(queue.Event{Resource: "AssignedPod", Action: queue.Delete}, p, nil)
}

func (s *soak) podIsDeleted() {
	if len(s.waiting) < soakWaiting/2 {
		return
	}
	name := slices.Min(slices.Collect(func(yield func(string) bool) {
		for name := range s.waiting {
			if !yield(name) {
				return
			}
		}
	}))
	s.queue.Delete(s.waiting[name])
	delete(s.waiting, name)
}

// podChanges gives a running pod another label.
func (s *soak) podChanges() {
	if len(s.running) == 0 {
		return
	}
	at := s.r.IntN(len(s.running))
	old := s.running[at]
	if old.Spec.NodeName == "" {
		return
	}
	p := old.DeepCopy()
	p.Labels["app"] = s.pick("x", "y", "z")
	require.NoError(s.t, s.cluster.Set(p))
	s.running[at] = p
	s.event(queue.Event{Resource: "AssignedPod", Action: queue.UpdatePodLabel}, old, p)
}

// uniform gives the images of a node one size: where sizes differ, that of the node that came first counts.
func uniform(n *v1.Node) *v1.Node {
	for k := range n.Status.Images {
		n.Status.Images[k].SizeBytes = 500 << 20
	}
	return n
}

func (s *soak) nodeComesOrChanges() {
	name := fmt.Sprintf("n%d", s.r.IntN(soakNodes))
	if len(s.cluster.Order()) < soakNodes && s.chance(2) {
		s.next++
		name = fmt.Sprintf("m%d", s.next)
	}
	n := uniform(s.node(name))
	e := queue.Event{Resource: "Node", Action: queue.Add}
	var old any
	if i := s.cluster.Slot(name); i >= 0 {
		e.Action = queue.Update
		old = s.cluster.Node(i)
		delete(n.Labels, v1.LabelTopologyZone) // the scan order of a snapshot shows another zone late, as v1.36's does (F17.4)
		if zone, ok := s.cluster.Node(i).Labels[v1.LabelTopologyZone]; ok {
			n.Labels[v1.LabelTopologyZone] = zone
		}
	} else if len(s.cluster.Order()) >= soakNodes {
		return
	}
	require.NoError(s.t, s.cluster.Set(n))
	s.counts.nodes++
	s.event(e, old, n)
}

func (s *soak) nodeLeaves() {
	order := s.cluster.Order()
	if len(order) < soakNodes/2 {
		return
	}
	i := int(order[s.r.IntN(len(order))])
	var pods []*v1.Pod
	for p := range s.cluster.Pods(i) {
		pods = append(pods, p)
	}
	for _, p := range pods {
		s.podLeaves(p)
	}
	n := s.cluster.Node(i)
	require.NoError(s.t, s.cluster.Remove(n))
	s.counts.nodes++
	s.event(queue.Event{Resource: "Node", Action: queue.Delete}, n, nil)
}

func (s *soak) event(e queue.Event, old, new any) {
	s.queue.Move(queue.Change{Event: e, Old: old, New: new}, s.now)
}

// check compares with a fresh snapshot, plan, preempter and queue.
func (s *soak) check() {
	rebuilt := s.rebuilt()
	require.Equal(s.t, scanned(rebuilt), scanned(s.cluster), "scan order")
	fresh, err := NewPlacer(rebuilt, DefaultProfile())
	require.NoError(s.t, err)
	for range 4 {
		p := s.pod(s.r.IntN(30))
		p.Spec.Priority = new(int32)
		*p.Spec.Priority = 4
		kept, want := s.placer.Decide(p, Options{}), fresh.Decide(p, Options{})
		plan, err := New(s.cluster, DefaultProfile())
		require.NoError(s.t, err)
		require.Equal(s.t, text(plan.Decide(p, Options{})), text(kept), "a new plan of the same snapshot")
		kept.Slot, want.Slot = 0, 0
		require.Equal(s.t, text(want), text(kept))
		if want.Failure == nil {
			continue
		}
		o := PreemptOptions{Budgets: disruption.NewBudgets(nil, disruption.BudgetOptions{}), Now: s.now}
		require.Equal(s.t, victims(fresh.Preempt(p, want.Failure, Options{}, o)), victims(s.placer.Preempt(p, kept.Failure, Options{}, o)))
	}
	s.checkQueue()
}

// scanned returns the names of the nodes in scan order.
func scanned(c *cluster.Snapshot) (names []string) {
	for _, i := range c.Order() {
		names = append(names, c.Node(int(i)).Name)
	}
	return names
}

func victims(r preemption.Result) string {
	var names []string
	for _, v := range r.Victims {
		names = append(names, nameOf(v.Pod))
	}
	return fmt.Sprint(r.Node, names, r.Message)
}

// rebuilt returns a new snapshot of the objects of the soak's.
func (s *soak) rebuilt() *cluster.Snapshot {
	var o cluster.Objects
	for _, i := range s.cluster.Order() {
		o.Nodes = append(o.Nodes, s.cluster.Node(int(i)))
		for p := range s.cluster.Pods(int(i)) {
			q := p.DeepCopy()
			q.Spec.NodeName = s.cluster.Node(int(i)).Name
			o.Pods = append(o.Pods, q)
		}
	}
	for name, labels := range s.cluster.Namespaces() {
		o.Namespaces = append(o.Namespaces, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	o.Services = services()
	require.Len(s.t, o.Pods, len(s.running))
	c, err := cluster.New(o)
	require.NoError(s.t, err)
	return c
}

// checkQueue compares the queue with what the soak knows, and its active pods with a new queue of the same pods.
func (s *soak) checkQueue() {
	all := s.queue.All(s.now)
	var active []queue.Status
	have := map[string]bool{}
	for _, x := range all {
		if x.Place != queue.InFlight {
			have[nameOf(x.Pod)] = true
		}
		if x.Place == queue.Active {
			active = append(active, x)
		}
	}
	require.Len(s.t, have, len(s.waiting))
	for name := range s.waiting {
		require.True(s.t, have[name], name)
	}
	counts := s.queue.Counts()
	require.Equal(s.t, len(s.waiting), counts.Active+counts.Backoff+counts.Unschedulable+counts.Gated)
	require.Equal(s.t, len(s.binding), counts.InFlight)
	fresh, err := queue.New(s.queueOptions())
	require.NoError(s.t, err)
	added := slices.Clone(active)
	slices.SortStableFunc(added, func(a, b queue.Status) int {
		return cmp.Or(a.Timestamp.Compare(b.Timestamp))
	})
	for _, x := range added {
		_, err := fresh.Add(x.Pod, x.Timestamp)
		require.NoError(s.t, err)
	}
	for _, x := range active {
		e, _ := fresh.Pop(s.now)
		require.NotNil(s.t, e)
		require.Equal(s.t, nameOf(x.Pod), nameOf(e.Pod))
	}
}
