package reuse

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/resources"
)

// calls counts what an engine asks its plugins.
type calls map[string]int

// take returns the calls since the last take, as text.
func (c calls) take() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		out = append(out, fmt.Sprint(name, " ", c[name]))
	}
	clear(c)
	return strings.Join(out, ", ")
}

// byPool is a filter with KeepByNode: a node must have the pool of the pod.
type byPool struct {
	filter.Predicate
	s    *cluster.Snapshot
	pool string
	c    calls
}

func (x byPool) Check(i int) resources.Verdict {
	x.c["pool check"]++
	if x.s.Node(i).Labels["pool"] != x.pool {
		return 1
	}
	return 0
}

func (x byPool) AppendSignature(dst []int32, i int) []int32 {
	if x.s.Node(i).Labels["pool"] == x.pool {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func (byPool) AppendReasons(dst []string, _ resources.Verdict, _ int) []string {
	return append(dst, "pool")
}

// byCPU is a filter and score with KeepByNodeAndPods.
type byCPU struct {
	filter.Predicate
	s    *cluster.Snapshot
	want int64
	c    calls
}

func (x byCPU) room(i int) int64 {
	return x.s.Allocatable(i).At(resources.CPU) - x.s.Requested(i).At(resources.CPU) - x.want
}

func (x byCPU) Check(i int) resources.Verdict {
	x.c["cpu check"]++
	if x.room(i) < 0 {
		return 1
	}
	return 0
}

func (x byCPU) Raw(i int) int64 { return min(100, x.room(i)/100) }

func (byCPU) AppendReasons(dst []string, _ resources.Verdict, _ int) []string {
	return append(dst, "cpu")
}

// byApp is a filter with KeepByAllPods: no two pods of one app on a node.
type byApp struct {
	s *cluster.Snapshot
	c calls
}

func (x byApp) Compile(pod *v1.Pod) (hooks.Compiled, error) {
	x.c["compile"]++
	return appOf{x, pod.Labels["app"]}, nil
}

type appOf struct {
	byApp
	app string
}

func (x appOf) AppendKey(dst []byte) []byte { return append(append(dst, x.app...), 0) }
func (appOf) Matched(int32) bool            { return false }
func (x appOf) Count() hooks.State {
	x.c["count"]++
	state := &appCounts{appOf: x, on: make([]int32, x.s.Len())}
	for i := range x.s.Len() {
		for p := range x.s.Pods(i) {
			if p.Labels["app"] == x.app {
				state.on[i]++
			}
		}
	}
	return state
}

type appCounts struct {
	appOf
	on []int32
}

func (x *appCounts) Filter() filter.Predicate               { return appFilter{nil, x} }
func (*appCounts) Score() hooks.Scorer                      { return nil }
func (*appCounts) Reads(dst []string) []string              { return append(dst, "label:rack") }
func (*appCounts) Keys() int                                { return 1 }
func (*appCounts) AppendLayoutKey(dst []byte) []byte        { return dst }
func (*appCounts) AppendDomains(dst []int32, _ int) []int32 { return append(dst, 0) }
func (*appCounts) Single() bool                             { return true }
func (*appCounts) OfTerms(int32, *v1.Pod) hooks.Counter     { return nil }
func (x *appCounts) AppendCounts(dst []int32, i int) ([]int32, bool) {
	return append(dst, x.on[i]), x.on[i] != 0
}

func (x *appCounts) AppendCounted(dst []int32) []int32 {
	for i, n := range x.on {
		if n != 0 {
			dst = append(dst, int32(i))
		}
	}
	return dst
}

func (x *appCounts) OfSet(rep *v1.Pod) hooks.Counter {
	x.c["set"]++
	if rep.Labels["app"] != x.app {
		return nil
	}
	return func(slot int, n int32) { x.on[slot] += n }
}

type appFilter struct {
	filter.Predicate
	*appCounts
}

func (x appFilter) Check(i int) resources.Verdict {
	if x.on[i] > 0 {
		return 1
	}
	return 0
}

func (appFilter) AppendReasons(dst []string, _ resources.Verdict, _ int) []string {
	return append(dst, "app")
}

// plugins returns plugins that count their calls.
func (c calls) plugins(s *cluster.Snapshot) []hooks.Plugin {
	pool := func(dst []byte, p *v1.Pod) []byte {
		return append(append(dst, p.Spec.NodeSelector["pool"]...), byte(len(p.Spec.Volumes)))
	}
	cpu := func(dst []byte, p *v1.Pod) []byte {
		return append(strconv.AppendInt(dst, p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue(), 10), 0)
	}
	app := func(dst []byte, p *v1.Pod) []byte { return append(append(dst, p.Labels["app"]...), 0) }
	of := func(p *v1.Pod) byCPU {
		return byCPU{s: s, want: p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue(), c: c}
	}
	return []hooks.Plugin{
		{Name: "Pool", Keep: hooks.KeepByNode, Filter: 0, Score: -1, AppendKey: pool, KeyName: "pool", Storage: func(p *v1.Pod) bool { return len(p.Spec.Volumes) > 0 },
			Predicate: func(p *v1.Pod) (filter.Predicate, bool) {
				c["pool filter"]++
				return byPool{s: s, pool: p.Spec.NodeSelector["pool"], c: c}, true
			}},
		{Name: "CPU", Keep: hooks.KeepByNodeAndPods, Filter: 1, Score: 0, Weight: 1, AppendKey: cpu,
			Predicate: func(p *v1.Pod) (filter.Predicate, bool) { c["cpu filter"]++; return of(p), true },
			Scorer:    func(p *v1.Pod) (hooks.Scorer, error) { c["cpu score"]++; return of(p), nil }},
		{Name: "App", Keep: hooks.KeepByAllPods, Filter: 2, Score: -1, AppendKey: app, Open: func() hooks.Counting { c["open"]++; return byApp{s, c} }},
		{Name: "Claims", Keep: hooks.KeepIfSkipped, Filter: 3, Score: -1, KeyName: "claims", Skips: func(p *v1.Pod) bool { c["skips"]++; return p.Spec.ResourceClaims == nil }},
		{Name: "Claims again", Keep: hooks.KeepIfSkipped, Filter: 4, Score: -1, KeyName: "claims", Skips: func(p *v1.Pod) bool { c["skips again"]++; return true }},
	}
}

// What the engine asks its plugins when pods come again and while the cluster changes. Whatever is lost shows here as one more call.
func TestKept(t *testing.T) {
	uncheckedOnly(t)
	var objects cluster.Objects
	for k := range 6 {
		objects.Nodes = append(objects.Nodes, testkit.Node(fmt.Sprint("n", k)).Capacity("cpu=8,pods=99").Label("pool", "x").Label("rack", "r").Obj())
	}
	s, err := cluster.New(objects)
	require.NoError(t, err)
	var order []int32
	inOrder := func() []int32 {
		if now := s.Order(); !slices.Equal(order, now) {
			order = slices.Clone(now)
		}
		return order
	}
	c := calls{}
	e := New(s, c.plugins(s))
	require.Equal(t, "open 1", c.take())
	pod := func(app, cpu string) *v1.Pod {
		return testkit.Pod("p").Labels("app=" + app).Request("cpu=" + cpu).NodeSelector("pool=x").Obj()
	}
	running := func(name, app, node string) *v1.Pod {
		return testkit.Pod(name).Labels("app=" + app).Request("cpu=1").On(node).Obj()
	}
	decide := func(p *v1.Pod, feasible int) func() {
		return func() {
			got, ok := ask(e, &Question{Pod: p, Order: inOrder()})
			require.True(t, ok)
			require.Equal(t, feasible, got.Feasible)
		}
	}
	set := func(o metav1.Object) func() { return func() { require.NoError(t, s.Set(o)) } }
	unset := func(node string) func() { return func() { require.NoError(t, s.Remove(s.Node(s.Slot(node)))) } }
	mounts := func(p *v1.Pod) *v1.Pod {
		p.Spec.Volumes = []v1.Volume{{Name: "v"}}
		return p
	}
	relabelled := func(name, key, value string) *v1.Node {
		n := s.Node(s.Slot(name)).DeepCopy()
		n.Labels[key] = value
		return n
	}
	for _, x := range []struct {
		step string
		do   func()
		asks string
	}{
		{"first pod", decide(pod("a", "1"), 6), "compile 1, count 1, cpu check 6, cpu filter 1, cpu score 1, pool check 1, pool filter 1, skips 1, skips again 1"},
		{"second of its kind", decide(pod("a", "1"), 6), "compile 1, count 1, cpu check 6, cpu filter 1, cpu score 1, skips 1, skips again 1"},
		{"third", decide(pod("a", "1"), 6), "skips 1, skips again 1"},
		{"another app", decide(pod("b", "1"), 6), "compile 1, count 1, skips 1, skips again 1"},
		{"another request", decide(pod("a", "2"), 6), "compile 1, cpu check 6, cpu filter 1, cpu score 1, skips 1, skips again 1"},
		{"that again", decide(pod("a", "2"), 6), "compile 1, count 1, cpu check 6, cpu filter 1, cpu score 1, skips 1, skips again 1"},
		{"a pod of the app runs", set(running("r1", "a", "n0")), ""},
		{"one node less", decide(pod("a", "1"), 5), "cpu check 1, set 1, skips 1, skips again 1"},
		{"the other request", decide(pod("a", "2"), 5), "cpu check 1, set 1, skips 1, skips again 1"},
		{"another pod of that set runs", set(running("r2", "a", "n1")), ""},
		{"two nodes less", decide(pod("a", "1"), 4), "cpu check 1, skips 1, skips again 1"},
		{"a node in another pool", set(relabelled("n2", "pool", "y")), ""},
		{"three nodes less", decide(pod("a", "1"), 3), "cpu check 1, pool check 1, pool filter 1, skips 1, skips again 1"},
		{"a node with another label", set(relabelled("n3", "new", "y")), ""},
		{"nothing is lost", decide(pod("a", "1"), 3), "cpu check 1, pool filter 1, skips 1, skips again 1"},
		{"what a state reads", set(relabelled("n3", "rack", "s")), ""},
		{"everything is lost", decide(pod("a", "1"), 3), "compile 1, count 1, cpu check 5, cpu filter 1, cpu score 1, open 1, pool check 2, pool filter 1, skips 1, skips again 1"},
		{"again", decide(pod("a", "1"), 3), "compile 1, count 1, cpu check 6, cpu filter 1, cpu score 1, skips 1, skips again 1"},
		{"once more", decide(pod("a", "1"), 3), "skips 1, skips again 1"},
		{"a node comes", set(testkit.Node("n9").Capacity("cpu=8,pods=99").Label("pool", "x").Label("rack", "r").Obj()), ""},
		{"everything is lost, because there was no place for it", decide(pod("a", "1"), 4), "compile 1, count 1, cpu check 6, cpu filter 1, cpu score 1, open 1, pool check 2, pool filter 1, skips 1, skips again 1"},
		{"from now on nothing", decide(pod("a", "1"), 4), "compile 1, count 1, cpu check 7, cpu filter 1, cpu score 1, skips 1, skips again 1"},
		{"nothing at all", decide(pod("a", "1"), 4), "skips 1, skips again 1"},
		{"a node leaves", unset("n9"), ""},
		{"the states are lost, rows and layouts stay", decide(pod("a", "1"), 3), "compile 1, count 1, open 1, pool filter 1, skips 1, skips again 1"},
		{"the same again", decide(pod("a", "1"), 3), "compile 1, skips 1, skips again 1"},
		{"and again", decide(pod("a", "1"), 3), "skips 1, skips again 1"},
		{"a node comes in its place", set(testkit.Node("n10").Capacity("cpu=8,pods=99").Label("pool", "x").Label("rack", "r").Obj()), ""},
		{"the states are lost once more", decide(pod("a", "1"), 4), "compile 1, count 1, cpu check 1, open 1, pool filter 1, skips 1, skips again 1"},
		{"the same", decide(pod("a", "1"), 4), "compile 1, skips 1, skips again 1"},
		{"a pod with a volume", decide(mounts(pod("a", "1")), 4), "compile 1, count 1, pool check 2, pool filter 1, skips 1, skips again 1"},
		{"a second one", decide(mounts(pod("a", "1")), 4), "compile 1, skips 1, skips again 1"},
		{"a volume comes", set(&v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}), ""},
		{"which this pod does not read", decide(pod("a", "1"), 4), "skips 1, skips again 1"},
		{"but this pod does", decide(mounts(pod("a", "1")), 4), "compile 1, count 1, pool check 2, pool filter 1, skips 1, skips again 1"},
		{"a budget comes", set(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}}), ""},
		{"which nobody reads", decide(pod("a", "1"), 4), "skips 1, skips again 1"},
		{"full", set(testkit.Pod("big").Labels("app=z").Request("cpu=8").On("n10").Obj()), ""},
		{"one node less for rows", decide(pod("a", "1"), 3), "cpu check 1, set 1, skips 1, skips again 1"},
		{"a new resource", set(testkit.Node("n4").Capacity("cpu=8,pods=99,example.com/x=1").Label("pool", "x").Label("rack", "r").Obj()), ""},
		{"everything is lost, also what was seen", decide(pod("a", "1"), 3), "compile 1, count 1, cpu check 6, cpu filter 1, cpu score 1, open 1, pool check 2, pool filter 1, skips 1, skips again 1"},
		{"a first again", decide(pod("b", "3"), 5), "compile 1, count 1, cpu check 6, cpu filter 1, cpu score 1, skips 1, skips again 1"},
		{"a second again", decide(pod("b", "3"), 5), "compile 1, count 1, cpu check 7, cpu filter 1, cpu score 1, skips 1, skips again 1"},
		{"a namespace comes", set(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "new", Labels: map[string]string{"a": "b"}}}), ""},
		{"everything is lost: any pod might read it", decide(pod("b", "3"), 5), "compile 1, count 1, cpu check 6, cpu filter 1, cpu score 1, open 1, pool check 2, pool filter 1, skips 1, skips again 1"},
	} {
		x.do()
		require.Equal(t, x.asks, c.take(), x.step)
	}
}

// What is kept has limits. Beyond a limit the engine forgets, and its answers stay the same.
func TestLimits(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Capacity("cpu=8,pods=9").Label("pool", "x").Obj()}})
	require.NoError(t, err)
	order := []int32{0}
	e := New(s, calls{}.plugins(s))
	most, shared := 0, 0
	for k := range maxKinds + 2 {
		for range 2 {
			got, ok := ask(e, &Question{Pod: testkit.Pod("p").Labels(fmt.Sprint("app=", k)).Request("cpu=1").NodeSelector("pool=x").Obj(), Order: order})
			require.True(t, ok)
			require.Equal(t, 1, got.Feasible)
			most, shared = max(most, len(e.kinds)), max(shared, len(e.sharedKinds))
		}
	}
	require.Equal(t, maxKinds, most)
	require.LessOrEqual(t, shared, maxKinds)
	for k := range maxKinds + 2 {
		_, ok := ask(e, &Question{Pod: testkit.Pod("p").Labels(fmt.Sprint("app=once-", k)).Request("cpu=1").NodeSelector("pool=x").Obj(), Order: order})
		require.True(t, ok)
		shared = max(shared, len(e.sharedKinds))
	}
	require.Equal(t, maxKinds, shared)

	seen := past{}
	for k := 0; len(seen) < maxPast; k++ {
		seen.remember([]byte(fmt.Sprint(k)), 1)
	}
	n, again := seen.remember([]byte("0"), 2)
	require.True(t, again)
	require.Equal(t, 3, n)
	n, again = seen.remember([]byte("one more"), 1)
	require.False(t, again)
	require.Equal(t, 1, n)
	require.Len(t, seen, 1)
}

// Pods of many kinds with equal requests share one layout without heaps and one with heaps. Other requests make one more.
func TestLayoutsAreShared(t *testing.T) {
	var objects cluster.Objects
	for k := range 6 {
		objects.Nodes = append(objects.Nodes, testkit.Node(fmt.Sprint("n", k)).Capacity("cpu=8,pods=99").Label("pool", "x").Obj())
	}
	s, err := cluster.New(objects)
	require.NoError(t, err)
	order := []int32{0, 1, 2, 3, 4, 5}
	e := New(s, calls{}.plugins(s))
	for k, cpu := range []string{"1", "2", "3"} {
		for app := range 10 {
			for range 3 {
				got, ok := ask(e, &Question{Pod: testkit.Pod("p").Labels(fmt.Sprint("app=", app)).Request("cpu=" + cpu).NodeSelector("pool=x").Obj(), Order: order})
				require.True(t, ok)
				require.Equal(t, 6, got.Feasible)
			}
		}
		require.Len(t, e.layouts, 2+k)
		require.Len(t, e.rows, 1+k)
		require.Len(t, e.statics, 1)
		require.Len(t, e.kinds, 10*(k+1))
	}
}
