package cluster

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/view"
)

// world is a snapshot and a plain model of what the snapshot must hold.
type world struct {
	s       *Snapshot
	rnd     *rand.Rand
	nodes   map[string]*v1.Node
	on      map[string]placed // by "namespace/name"; node "" never
	orphans map[string]*v1.Pod
	order   []string // node names in scan order, as of the last node that came or went
	zones   []zoneList
	marks   []saved
}

type placed struct {
	pod  *v1.Pod
	node string
}

type zoneList struct {
	key   string
	names []string
}

type saved struct {
	mark    Mark
	text    string
	nodes   map[string]*v1.Node
	on      map[string]placed
	orphans map[string]*v1.Pod
	zones   []zoneList
	order   []string
}

func cloneZones(z []zoneList) []zoneList {
	c := slices.Clone(z)
	for i := range c {
		c[i].names = slices.Clone(c[i].names)
	}
	return c
}

func newWorld(t *testing.T, r *rand.Rand) *world {
	s, err := New(Objects{})
	require.NoError(t, err)
	return &world{s: s, rnd: r, nodes: map[string]*v1.Node{}, on: map[string]placed{}, orphans: map[string]*v1.Pod{}}
}

func (w *world) fork() *world {
	return &world{
		s: w.s.Fork(), rnd: rand.New(rand.NewSource(w.rnd.Int63())), nodes: maps.Clone(w.nodes), on: maps.Clone(w.on),
		orphans: maps.Clone(w.orphans), zones: cloneZones(w.zones), order: w.order,
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.Intn(len(from))] }

func (w *world) node(name string) *v1.Node {
	r := w.rnd
	b := testkit.Node(name).Capacity(pick(r, "cpu=4,memory=8Gi", "cpu=4,memory=8Gi,example.com/gpu=2", "cpu=1,foo=3,hugepages-2Mi=4Mi", "cpu=9223372036854775807"))
	if r.Intn(4) > 0 {
		b = b.Zone(pick(r, "za", "zb", "zc"))
	}
	if r.Intn(3) == 0 {
		b = b.Label("disk", pick(r, "ssd", "hdd", ""))
	}
	if r.Intn(3) == 0 {
		b = b.Taint(pick(r, "k=v:NoSchedule", "k=w:NoSchedule", "k=v:NoExecute"))
	}
	if r.Intn(5) == 0 {
		b = b.Unschedulable()
	}
	if r.Intn(2) == 0 {
		b = b.Image(int64(10+r.Intn(2)), pick(r, "a:1", "b:1"), "c:1")
	}
	n := b.Obj()
	if r.Intn(4) == 0 {
		n.Status.DeclaredFeatures = pick(r, []string{"x", "y"}, []string{"y", "x"}, []string{"x"})
	}
	return n
}

func (w *world) pod(name string) *v1.Pod {
	r := w.rnd
	b := testkit.Pod(name)
	if r.Intn(4) == 0 {
		group := pick(r, "g", "h")
		b.Obj().Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
	}
	if r.Intn(3) > 0 {
		b = b.Labels(pick(r, "app=a", "app=b", "app=a,tier=", "tier=x"))
	}
	switch r.Intn(6) {
	case 0:
		b = b.Request("cpu=100m,memory=1Gi")
	case 1:
		b = b.Request(fmt.Sprintf("cpu=%dm,example.com/x%d=1", r.Intn(3), r.Intn(5)))
	case 2:
		b = b.Request("memory=9223372036854775807,cpu=9223372036854775807")
	case 3:
		b = b.Request("cpu=0,ephemeral-storage=5,pods=7,foo=1")
	case 4:
		b = b.Request(pick(r, "memory=0", "cpu=0"))
	}
	switch r.Intn(6) {
	case 0:
		b = b.RequireApart(v1.LabelHostname, "app=a")
	case 1:
		b = b.PreferWith(5, v1.LabelTopologyZone, "app=b").RequireApart(v1.LabelTopologyZone, "app=c")
	case 2:
		b = b.RequireWith(v1.LabelTopologyZone, "app=b")
	}
	if r.Intn(4) == 0 {
		b = b.HostPort("", v1.ProtocolTCP, pick(r, int32(80), 81, 81, 0))
	}
	if r.Intn(5) == 0 {
		b = b.Terminating()
	}
	return b.Obj()
}

func key(p *v1.Pod) string { return p.Namespace + "/" + p.Name }

func (w *world) anyNode() string {
	if len(w.nodes) == 0 {
		return ""
	}
	return pick(w.rnd, slices.Sorted(maps.Keys(w.nodes))...)
}

// event is an expected or an actual entry of the change log, with names instead of slots and ids.
type event struct {
	node, set, terms string
	n                int32
}

func (w *world) eventOf(node string, p *v1.Pod, n int32) event {
	e := event{node: node, n: n, set: fmt.Sprint(p.Namespace, p.Labels, p.DeletionTimestamp != nil)}
	if a := p.Spec.Affinity; a != nil {
		e.terms = p.Namespace + a.String()
	}
	return e
}

// since reads the log. before has the names of slots whose nodes are gone. whole counts the events outside nodes.
func (w *world) since(t *testing.T, version uint64, before map[int32]string) (list []event, whole int) {
	ok := w.s.Since(version, func(block []Event) {
		require.NotEmpty(t, block)
		for _, e := range block {
			if e.Node < 0 {
				require.Equal(t, Event{-1, -1, -1, 0}, e)
				whole++
				continue
			}
			x := event{node: before[e.Node], n: e.N}
			if n := w.s.Node(int(e.Node)); n != nil {
				x.node = n.Name
			}
			if e.Set >= 0 {
				rep, _, _ := w.s.PodSet(e.Set)
				x.set = fmt.Sprint(rep.Namespace, rep.Labels, rep.DeletionTimestamp != nil)
			}
			if e.Terms >= 0 {
				rep, _, _ := w.s.TermSet(e.Terms)
				x.terms = rep.Namespace + rep.Spec.Affinity.String()
			}
			list = append(list, x)
		}
	})
	require.True(t, ok)
	return list, whole
}

func (w *world) slots() map[int32]string {
	m := map[int32]string{}
	for i := range w.s.Len() {
		if n := w.s.Node(i); n != nil {
			m[int32(i)] = n.Name
		}
	}
	return m
}

// put adds a pod on a node, or an orphan, to the model and returns the expected events.
func (w *world) put(p *v1.Pod, node string) []event {
	if _, ok := w.nodes[node]; !ok {
		w.orphans[key(p)] = p
		return nil
	}
	w.on[key(p)] = placed{p, node}
	return []event{w.eventOf(node, p, 1)}
}

func (w *world) leave(k string) []event {
	delete(w.orphans, k)
	if at, ok := w.on[k]; ok {
		delete(w.on, k)
		return []event{w.eventOf(at.node, at.pod, -1)}
	}
	return nil
}

func (w *world) treeAdd(n *v1.Node) {
	k := view.ZoneKey(n)
	for i := range w.zones {
		if w.zones[i].key == k {
			w.zones[i].names = append(w.zones[i].names, n.Name)
			return
		}
	}
	w.zones = append(w.zones, zoneList{k, []string{n.Name}})
}

// reorder renews the scan order from the zones.
func (w *world) reorder() {
	w.order = nil
	for round := 0; len(w.order) < len(w.nodes); round++ {
		for _, z := range w.zones {
			if round < len(z.names) {
				w.order = append(w.order, z.names[round])
			}
		}
	}
}

func (w *world) treeRemove(n *v1.Node) {
	k := view.ZoneKey(n)
	i := slices.IndexFunc(w.zones, func(z zoneList) bool { return z.key == k })
	w.zones[i].names = slices.DeleteFunc(w.zones[i].names, func(s string) bool { return s == n.Name })
	if len(w.zones[i].names) == 0 {
		w.zones = slices.Delete(w.zones, i, i+1)
	}
}

// counts reports whether two pods count the same, so that the log has a replacement.
func (w *world) counts(a, b *v1.Pod) bool {
	text := func(p *v1.Pod) string {
		i := w.s.prepare(p)
		cpu, memory := i.cpu, i.memory
		return fmt.Sprint(w.eventOf("", p, 0), amounts(w.s, i.request), cpu, memory, i.ports)
	}
	return text(a) == text(b)
}

// verify compares the snapshot with its model and with a rebuild.
func (w *world) verify(t *testing.T) {
	t.Helper()
	check(t, w.s)
	checkAnswers(t, w.s)
	checkNonZero(t, w.s)
	require.Equal(t, len(w.nodes), w.s.live)
	require.Equal(t, len(w.on), total(w.s))
	for _, at := range w.on {
		require.Same(t, at.pod, w.s.Pod(at.pod.Namespace, at.pod.Name))
		require.Equal(t, at.node, w.s.Node(w.s.podSlot(at.pod.Namespace, at.pod.Name)).Name)
	}
	require.Len(t, w.s.Orphans(), len(w.orphans))
	var got []string
	for _, i := range w.s.Order() {
		got = append(got, w.s.Node(int(i)).Name)
	}
	require.Equal(t, w.order, got)
	require.Empty(t, cmp.Diff(describe(rebuild(t, w.s)), describe(w.s)))
}

// assumePrepared is Assume with what prepare returned for the pod or for a pod that counts the same.
func assumePrepared(s *Snapshot, info *info, pod *v1.Pod, slot int) error {
	hash := hashOf(pod)
	if err := s.assumable(pod, hash, slot); err != nil {
		return err
	}
	s.insert(pod, hash, info, slot, podCount(s, slot))
	return nil
}

// podCount returns the number of pods on slot i.
func podCount(s *Snapshot, i int) int {
	if r := s.row(i); r != nil {
		return len(r.pods)
	}
	return 0
}

// total returns the number of pods on all slots.
func total(s *Snapshot) (n int) {
	for i := range s.Len() {
		n += podCount(s, i)
	}
	return n
}

// count returns the number of objects of a kind.
func count[T metav1.Object](s *Snapshot) (n int) {
	for range List[T](s).All() {
		n++
	}
	return n
}
