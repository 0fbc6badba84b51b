package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement/internal/reuse"
)

// A plan with reuse and a plan without reuse decide the same after any changes of the cluster.
func TestReuseChangesNothing(t *testing.T) {
	seeds := 120
	if testing.Short() {
		seeds = 60
	}
	shared := 0
	for seed := range seeds {
		shared += play(t, &world{r: rand.New(rand.NewPCG(uint64(seed), 1))}, fmt.Sprint("seed ", seed), 60)
	}
	require.Greater(t, shared, seeds*5, "decisions that used shared work")
}

func FuzzReuse(f *testing.F) {
	f.Add(testkit.RandomBytes(1, 2000), uint8(40))
	f.Fuzz(func(t *testing.T, data []byte, steps uint8) {
		play(t, &world{r: rand.New(testkit.NewBytes(data))}, "fuzz", int(steps%16))
	})
}

// play runs random operations on a cluster and decides pods with and without reuse. It returns the number of decisions
// that used kept work.
func play(t *testing.T, w *world, name string, steps int) (shared int) {
	nodes, pods := 3+w.r.IntN(8), w.r.IntN(20)
	if w.chance(4) {
		nodes, pods = nodes*8, pods*8
	}
	profile := DefaultProfile()
	switch w.r.IntN(12) {
	case 0:
		profile.Scores = nil // the first feasible node ends a search
	case 1:
		nodes = 110 // the 100th ends a search
	case 2, 3:
		for k := range profile.Scores {
			profile.Scores[k].Weight = int64(1 + w.r.IntN(5))
		}
	}
	s := w.snapshot(t, nodes, pods)
	with := w.plan(t, s, profile)
	some := &world{r: rand.New(rand.NewPCG(uint64(len(s.Order())), 5))} // of its own: which slots are asked about changes nothing else
	var assumed []*v1.Pod
	var marks []cluster.Mark
	var assumedAt []int
	shapes := 1 + w.r.IntN(6)
	base := w.r.IntN(30)
	for step := range steps {
		at := fmt.Sprintf("%s step %d", name, step)
		switch w.r.IntN(20) {
		case 0:
			name := fmt.Sprintf("n%d", w.r.IntN(8))
			if s.Slot(name) >= 0 {
				require.NoError(t, s.Set(w.node(name)))
			}
		case 1:
			w.next++
			err := s.Set(w.node(fmt.Sprintf("m%d", w.next)))
			require.NoError(t, err)
		case 2:
			if len(marks) == 0 && len(s.Order()) > 2 {
				require.NoError(t, s.Remove(s.Node(int(s.Order()[0]))))
				assumed = nil
			}
		case 3:
			marks, assumedAt = append(marks, s.Mark()), append(assumedAt, len(assumed))
		case 4:
			if n := len(marks); n > 0 {
				require.True(t, s.Rollback(marks[n-1]))
				assumed, marks, assumedAt = assumed[:min(assumedAt[n-1], len(assumed))], marks[:n-1], assumedAt[:n-1]
			}
		case 5:
			if n := len(assumed); n > 0 && len(marks) == 0 {
				require.NoError(t, s.Remove(assumed[n-1]))
				assumed = assumed[:n-1]
			}
		case 7:
			n := s.Node(int(s.Order()[w.r.IntN(len(s.Order()))])).DeepCopy()
			switch w.r.IntN(4) {
			case 0:
				n.Labels["revision"] = fmt.Sprint(step)
			case 1:
				n.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}
			case 2:
				n.Spec.Taints, n.Spec.Unschedulable = nil, false
			case 3:
				n.Status.Allocatable = testkit.Resources("cpu=9,memory=9Gi,pods=9")
			}
			require.NoError(t, s.Set(n))
		case 6:
			if w.chance(3) && len(marks) == 0 {
				s = s.Fork()
				with = w.plan(t, s, profile)
			}
		default:
			p := w.pod(base + w.r.IntN(shapes))
			if w.chance(4) {
				w.ownNodes(p)
			}
			switch w.r.IntN(6) {
			case 0, 1: // a pod like no other
				p.Labels["pod"] = p.Name
				p.Spec.Containers[0].Resources.Requests = testkit.Resources(fmt.Sprintf("cpu=%dm,memory=%d", 100+w.r.IntN(900), 1+w.r.IntN(1<<30)))
			case 2: // like others but for a label that nobody selects
				p.Labels["pod"] = p.Name
			case 3: // or for one that some running pods keep away from, sooner or later
				p.Labels["tier"] = w.pick("1", "2", "3")
			case 4:
				term := v1.PodAffinityTerm{TopologyKey: w.pick(v1.LabelHostname, v1.LabelTopologyZone), LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": w.pick("1", "2", "3")}}}
				p.Spec.Affinity = orNew(p.Spec.Affinity)
				p.Spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}
			}
			without, err := New(s, profile)
			require.NoError(t, err)
			without.engine = nil
			o := w.options(s, p)
			o.within = some.slots(s)
			d := with.Decide(p, o)
			require.Equal(t, text(without.Decide(p, o)), text(d), at)
			if _, _, ok := with.kept(p, o, d.Nodes); w.chance(2) && ok {
				shared++
			}
			if d.Placed() {
				require.NoError(t, s.Assume(p, d.Slot))
				assumed = append(assumed, p)
			}
		}
	}
	return shared
}

// Among equal nodes many totals are equal. The choice among them is the same with reuse and without.
func TestTies(t *testing.T) {
	shared := 0
	for seed := range 30 {
		w := &world{r: rand.New(rand.NewPCG(uint64(seed), 4))}
		var o cluster.Objects
		for i := range 70 {
			o.Nodes = append(o.Nodes, testkit.Node(fmt.Sprintf("n%d", i)).Capacity("cpu=4,memory=4Gi,pods=20").Zone(fmt.Sprint(i%2)).Obj())
		}
		s, err := cluster.New(o)
		require.NoError(t, err)
		with, err := New(s, DefaultProfile())
		require.NoError(t, err)
		base := w.r.IntN(30)
		for step := range 40 {
			p := w.pod(base + w.r.IntN(3))
			o := w.options(s, p)
			o.Tie = func(n int) int { return (7*step + 3) % n }
			without, err := New(s, DefaultProfile())
			require.NoError(t, err)
			without.engine = nil
			d := with.Decide(p, o)
			require.Equal(t, text(without.Decide(p, o)), text(d), "seed %d step %d", seed, step)
			if _, _, ok := with.kept(p, o, d.Nodes); ok {
				shared++
			}
			if d.Placed() {
				require.NoError(t, s.Assume(p, d.Slot))
			}
		}
	}
	require.Greater(t, shared, 30*10, "decisions that used shared work")
}

// slots returns some of the slots at random, in scan order; nil, for all of them, three times in four.
func (w *world) slots(s *cluster.Snapshot) (out []int) {
	if !w.chance(4) {
		return nil
	}
	for _, i := range s.Order() {
		if w.chance(2) || out == nil {
			out = append(out, int(i))
		}
	}
	return out
}

// options sets some options at random, and may nominate the pod.
func (w *world) options(s *cluster.Snapshot, pod *v1.Pod) (o Options) {
	order := s.Order()
	if w.chance(3) {
		o.Next = w.r.IntN(2*len(order)) - len(order)/2
	}
	if w.chance(3) {
		k := w.r.IntN(100) - 10
		o.Tie = func(n int) int { return k % (n + 1) }
	}
	if w.chance(6) {
		pod.Status.NominatedNodeName = fmt.Sprintf("n%d", w.r.IntN(10))
	}
	if w.chance(4) {
		nominated := map[int][]*v1.Pod{}
		for range 1 + w.r.IntN(4) {
			p, i := w.pod(w.r.IntN(30)), int(order[w.r.IntN(len(order))])
			p.Spec.Priority = new(int32(w.r.IntN(3) - 1))
			nominated[i] = append(nominated[i], p)
		}
		o.Nominated = func(i int) []*v1.Pod { return nominated[i] }
	}
	return o
}

// A plan follows nodes that leave and come back: it decides as a plan without reuse, and keeps rows and layouts.
func TestReuseWhenNodesLeave(t *testing.T) {
	seeds := 80
	if testing.Short() {
		seeds = 40
	}
	shared := 0
	for seed := range seeds {
		shared += leave(t, &world{r: rand.New(rand.NewPCG(uint64(seed), 2))}, fmt.Sprint("seed ", seed), 12)
	}
	require.Greater(t, shared, seeds*20, "decisions that used shared work")
}

func FuzzReuseWhenNodesLeave(f *testing.F) {
	f.Add(testkit.RandomBytes(1, 1000), uint8(10))
	f.Fuzz(func(t *testing.T, data []byte, rounds uint8) {
		leave(t, &world{r: rand.New(testkit.NewBytes(data))}, "fuzz", int(rounds%4))
	})
}

// leave plays failures: nodes leave, pods are decided and placed, and most often everything comes back. It returns the number of
// decisions that used kept work.
func leave(t *testing.T, w *world, name string, rounds int) (shared int) {
	s := w.snapshot(t, 4+w.r.IntN(20), w.r.IntN(40))
	profile := DefaultProfile()
	with := w.plan(t, s, profile)
	shapes, base := 1+w.r.IntN(6), w.r.IntN(30)
	decide := func(at string) {
		p := w.pod(base + w.r.IntN(shapes))
		if w.chance(2) {
			p.Labels["pod"] = p.Name
		}
		if w.chance(4) {
			w.ownNodes(p)
		}
		without, err := New(s, profile)
		require.NoError(t, err)
		without.engine = nil
		d := with.Decide(p, Options{})
		require.Equal(t, text(without.Decide(p, Options{})), text(d), at)
		if used(with, p) {
			shared++
		}
		if d.Placed() {
			require.NoError(t, s.Assume(p, d.Slot))
		}
	}
	for round := range rounds {
		at := fmt.Sprintf("%s round %d", name, round)
		mark := s.Mark()
		for range 1 + w.r.IntN(2) {
			if order := s.Order(); len(order) > 1 {
				n := s.Node(int(order[w.r.IntN(len(order))]))
				require.NoError(t, s.Remove(n))
				if w.chance(4) {
					decide(at)
					require.NoError(t, s.Set(n)) // the last of its zone now
				}
			}
		}
		if w.chance(4) {
			w.next++
			require.NoError(t, s.Set(w.node(fmt.Sprintf("m%d", w.next))))
		}
		for range w.r.IntN(6) {
			decide(at)
		}
		if w.chance(5) {
			s.Commit(mark)
		} else {
			s.Rollback(mark)
		}
		if w.chance(3) {
			decide(at)
		}
	}
	return shared
}

// Pods that differ in a label nobody selects share a shape, until a running pod's term selects it.
func TestSharedShapes(t *testing.T) {
	pod := func(name, label string) *v1.Pod {
		return testkit.Pod(name).Labels("pod=" + label).Request("cpu=1").Obj()
	}
	keepsAway := func(name, label string) *v1.Pod {
		return testkit.Pod(name).Labels("pod=guard").RequireApart(v1.LabelHostname, "pod="+label).Request("cpu=2").Obj()
	}
	setUp := func(t *testing.T) (s *cluster.Snapshot, decide func(p *v1.Pod) string) {
		var o cluster.Objects
		for _, name := range []string{"n1", "n2"} {
			o.Nodes = append(o.Nodes, testkit.Node(name).Capacity("cpu=16,memory=16Gi").Obj())
		}
		s, err := cluster.New(o)
		require.NoError(t, err)
		with, err := New(s, DefaultProfile())
		require.NoError(t, err)
		return s, func(p *v1.Pod) string {
			without, err := New(s, DefaultProfile())
			require.NoError(t, err)
			without.engine = nil
			d := with.Decide(p, Options{})
			require.Equal(t, text(without.Decide(p, Options{})), text(d))
			return d.Node
		}
	}
	t.Run("a shape of another pod is not taken over", func(t *testing.T) {
		s, decide := setUp(t)
		for _, p := range []*v1.Pod{pod("b1", "b"), pod("a1", "a"), pod("b2", "b")} {
			require.Equal(t, "n1", decide(p))
		}
		require.NoError(t, s.Assume(keepsAway("guard", "b"), s.Slot("n1")))
		require.NoError(t, s.Assume(testkit.Pod("load").Request("cpu=8").Obj(), s.Slot("n2")))
		require.Equal(t, "n2", decide(pod("b3", "b")))
		require.Equal(t, "n1", decide(pod("a2", "a")))
	})
	t.Run("nor a plan that has passed over a term of a running pod", func(t *testing.T) {
		s, decide := setUp(t)
		require.NoError(t, s.Assume(testkit.Pod("load").Request("cpu=8").Obj(), s.Slot("n2")))
		for _, p := range []*v1.Pod{pod("b1", "b"), pod("a1", "a")} {
			require.Equal(t, "n1", decide(p))
		}
		guard := keepsAway("guard", "a")
		require.NoError(t, s.Assume(guard, s.Slot("n1")))
		require.Equal(t, "n1", decide(pod("c1", "c")))
		require.NoError(t, s.Remove(guard))
		require.Equal(t, "n1", decide(pod("a2", "a")))
		require.NoError(t, s.Assume(guard, s.Slot("n1")))
		require.Equal(t, "n2", decide(pod("a3", "a")))
	})
}

// used reports whether the plan uses kept work to decide the pod.
func used(p *Plan, pod *v1.Pod) bool {
	if p.engine == nil {
		return false
	}
	q := reuse.Question{Pod: pod, Order: p.inOrder()}
	opened, ok := p.engine.Open(&q)
	if ok {
		_, ok = p.engine.Decide(&opened, &q)
	}
	return ok
}

// Pods that were not asked about for longer than the change log reaches back get no answer about the cluster of that time, also when
// pods with the same requests were asked about meanwhile.
func TestIdlePods(t *testing.T) {
	var o cluster.Objects
	for k := range 4 {
		o.Nodes = append(o.Nodes, testkit.Node(fmt.Sprintf("n%d", k)).Label("pool", "x").Capacity("cpu=4").Obj())
	}
	s, err := cluster.New(o)
	require.NoError(t, err)
	p, err := NewPlacer(s, DefaultProfile())
	require.NoError(t, err)
	names := 0
	pod := func(app string, pool ...string) *v1.Pod {
		names++
		x := testkit.Pod(fmt.Sprintf("p%d", names)).Labels("app=" + app).Request("cpu=1").Obj()
		if pool != nil {
			x.Spec.NodeSelector = map[string]string{"pool": pool[0]}
		}
		return x
	}
	idle := func() []*v1.Pod { return []*v1.Pod{pod("a", "x"), pod("b", "x"), pod("c", "x")} }
	for range 4 {
		for _, x := range append(idle(), pod("busy")) {
			require.True(t, p.Decide(x, Options{}).Placed())
		}
	}
	for _, asks := range []bool{true, false} { // with pods of the same requests, and without
		load := func(k int) *v1.Pod { return s.Pod("default", fmt.Sprintf("load-%t-%d", asks, k)) }
		for k := range s.Len() {
			require.NoError(t, s.Assume(testkit.Pod(fmt.Sprintf("load-%t-%d", asks, k)).Request("cpu=4").Obj(), k))
		}
		for k := range 20_000 {
			mark := s.Mark()
			require.NoError(t, s.Set(load(k%4).DeepCopy()))
			s.Rollback(mark)
			if asks && k%1000 == 0 {
				require.False(t, p.Decide(pod("busy"), Options{}).Placed())
			}
		}
		for _, x := range append(idle(), pod("busy")) {
			d := p.Decide(x, Options{})
			require.False(t, d.Placed(), "every node is full, and %s is chosen", d.Node)
		}
		for k := range s.Len() {
			require.NoError(t, s.Remove(load(k)))
		}
		for _, x := range append(idle(), pod("busy")) {
			require.True(t, p.Decide(x, Options{}).Placed())
			require.True(t, used(p.Plan, x))
		}
	}
}

// Pods that wait for a resource which no node has offered yet find the first node that offers it.
func TestNewResource(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Capacity("cpu=9,pods=9").Obj(), testkit.Node("n2").Capacity("cpu=9,pods=9").Obj()}})
	require.NoError(t, err)
	p, err := NewPlacer(s, DefaultProfile())
	require.NoError(t, err)
	pod := func(k int) *v1.Pod {
		return testkit.Pod(fmt.Sprintf("p%d", k)).Request("cpu=1,example.com/fpga=1").Obj()
	}
	for k := range 4 {
		require.False(t, p.Decide(pod(k), Options{}).Placed())
		require.True(t, used(p.Plan, pod(k)))
	}
	n := s.Node(1).DeepCopy()
	n.Status.Allocatable = testkit.Resources("cpu=9,pods=9,example.com/fpga=1")
	require.NoError(t, s.Set(n))
	d := p.Decide(pod(4), Options{})
	require.Equal(t, "n2", d.Node)
	require.NoError(t, p.Assume(pod(4), d))
	require.False(t, p.Decide(pod(5), Options{}).Placed())
}
