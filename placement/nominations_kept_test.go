package placement

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// What is kept of nominations changes nothing: a plan that is asked again and again decides as a plan without kept work, while nodes, running
// pods and nominations change.
func TestKeptNominations(t *testing.T) {
	outcomes, counted := [3]int{}, [3]int{}
	for seed := range uint64(90) {
		h := &held{r: rand.New(rand.NewPCG(seed, 61)), on: map[int][]*v1.Pod{}}
		for range 4 {
			h.rules = append(h.rules, h.rule())
		}
		var o cluster.Objects
		for i := range 8 {
			o.Nodes = append(o.Nodes, h.node(fmt.Sprintf("n%d", i)))
		}
		s, err := cluster.New(o)
		require.NoError(t, err)
		plan, err := New(s, DefaultProfile())
		require.NoError(t, err)
		for step := range 80 {
			h.change(t, s)
			pod, o := h.pod(), Options{}
			if on := h.on[int(s.Order()[0])]; len(on) > 0 && h.chance(3) {
				pod = on[0] // a pod with a nomination of its own, of which others of its kind were asked before
			}
			h.nominate(&o, s, pod)
			slow, err := New(s, DefaultProfile())
			require.NoError(t, err)
			slow.engine = nil
			d := plan.Decide(pod, o)
			require.Equal(t, text(slow.Decide(pod, Options{Nominated: o.Nominated})), text(d), "seed %d step %d", seed, step)
			for _, x := range plan.holds.kinds {
				for _, node := range x.list {
					if node.hold < undecided {
						outcomes[node.hold]++
					}
					if node.counted {
						counted[node.hold]++
					}
				}
			}
			if d.Placed() && s.Pod(pod.Namespace, pod.Name) == nil && h.chance(2) {
				require.NoError(t, s.Assume(pod, d.Slot))
				h.running = append(h.running, pod)
			}
		}
	}
	for _, n := range outcomes {
		require.Greater(t, n, 1000)
	}
	require.Greater(t, counted[harmless], 1000, "filters that count pods")
	require.Greater(t, counted[inTheWay], 1000, "filters that count pods")
}

// A nomination keeps the node for its pod: another pod of the same kind finds it there, whichever is asked first.
func TestKeptNominationOfThePodItself(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Capacity("cpu=1,pods=9").Obj(), testkit.Node("small").Capacity("pods=9").Obj()}})
	require.NoError(t, err)
	plan, err := New(s, DefaultProfile())
	require.NoError(t, err)
	own, other := testkit.Pod("own").Request("cpu=1").Obj(), testkit.Pod("other").Request("cpu=1").Obj()
	o := Options{Nominated: func(int) []*v1.Pod { return []*v1.Pod{own} }, NominatedSlots: []int{0}}
	for range 3 {
		require.Equal(t, "n", plan.Decide(own, o).Node)
		require.Empty(t, plan.Decide(other, o).Node)
		require.Empty(t, plan.Decide(other, o).Node)
	}
}

// held is a cluster with pending pods, of which some count the pods of all nodes, with nominations that last for many decisions.
type held struct {
	r       *rand.Rand
	rules   []func(b testkit.PodBuilder) testkit.PodBuilder // that count pods: half of the pods have one of them
	next    int
	on      map[int][]*v1.Pod // by slot
	running []*v1.Pod
}

func (h *held) chance(n int) bool { return h.r.IntN(n) == 0 }

func (h *held) node(name string) *v1.Node {
	b := testkit.Node(name).Capacity(fmt.Sprintf("cpu=%d,memory=8Gi,pods=9", 2+h.r.IntN(4))).Label("disk", fmt.Sprint(h.r.IntN(2))).
		Label(v1.LabelHostname, name)
	if !h.chance(8) {
		b = b.Label(v1.LabelTopologyZone, fmt.Sprint(h.r.IntN(3)))
	}
	if h.chance(8) {
		b = b.Taint("k:NoSchedule")
	}
	return b.Obj()
}

func (h *held) pod() *v1.Pod {
	h.next++
	b := testkit.Pod(fmt.Sprint("p", h.next)).Labels("app=x").Request(fmt.Sprintf("cpu=%d,memory=%dGi", 1+2*h.r.IntN(3), 1+4*h.r.IntN(2))).Priority(int32(h.r.IntN(2)))
	if h.chance(4) {
		b = b.NodeSelector("disk=1")
	}
	if h.chance(2) {
		b = h.rules[h.r.IntN(len(h.rules))](testkit.Pod(fmt.Sprint("p", h.next)).Request("cpu=1").Priority(int32(h.r.IntN(2))))
	}
	return b.Obj()
}

// rule returns what gives a pod a label, and mostly a rule that counts pods.
func (h *held) rule() func(b testkit.PodBuilder) testkit.PodBuilder {
	key, label, app := []string{v1.LabelHostname, v1.LabelTopologyZone}[h.r.IntN(2)], fmt.Sprint("app=", h.r.IntN(3)), fmt.Sprint("app=", h.r.IntN(3))
	kind := h.r.IntN(6)
	return func(b testkit.PodBuilder) testkit.PodBuilder {
		switch b = b.Labels(label); kind {
		case 0:
			b = b.Spread(1, key, v1.DoNotSchedule, app)
		case 1:
			b = b.Spread(1, key, v1.ScheduleAnyway, app)
		case 2:
			b = b.RequireApart(key, app)
		case 3:
			b = b.RequireWith(key, app)
		case 4:
			b = b.PreferWith(5, key, app)
		}
		return b
	}
}

// change changes a node or the running pods. For some time a pod may run that keeps the pending ones off.
func (h *held) change(t *testing.T, s *cluster.Snapshot) {
	order := s.Order()
	i := int(order[h.r.IntN(len(order))])
	switch h.r.IntN(12) {
	case 0:
		require.NoError(t, s.Set(h.node(s.Node(i).Name)))
	case 1:
		h.next++
		require.NoError(t, s.Set(h.node(fmt.Sprint("m", h.next))))
	case 2:
		if len(order) > 4 {
			require.NoError(t, s.Remove(s.Node(i)))
			h.running = nil // some of them left with the node
		}
	case 3:
		h.next++
		p := testkit.Pod(fmt.Sprint("apart", h.next)).RequireApart(v1.LabelHostname, "app=x").Obj()
		require.NoError(t, s.Assume(p, i))
		h.running = append(h.running, p)
	case 4, 5, 6:
		if len(h.running) > 0 {
			k := h.r.IntN(len(h.running))
			require.NoError(t, s.Remove(h.running[k]))
			h.running = slices.Delete(h.running, k, k+1)
		}
	}
}

// nominate changes the nominations at times, and mostly gives them to a decision about a pod. The list of slots may have another order, free
// slots, slots that the cluster has not, and a slot twice.
func (h *held) nominate(o *Options, s *cluster.Snapshot, pod *v1.Pod) {
	order := s.Order()
	switch i := int(order[h.r.IntN(len(order))]); h.r.IntN(16) {
	case 0:
		clear(h.on)
	case 1, 2, 3:
		h.on[i] = append(h.on[i], h.pod())
	case 4:
		h.on[i] = append(h.on[i], pod)
	case 5:
		h.on[i] = h.on[i][:0]
	}
	if len(h.on) == 0 || h.chance(8) {
		return
	}
	o.Nominated, o.NominatedSlots = func(i int) []*v1.Pod { return h.on[i] }, slices.Sorted(maps.Keys(h.on))
	if h.chance(6) {
		h.r.Shuffle(len(h.on), func(i, j int) {
			o.NominatedSlots[i], o.NominatedSlots[j] = o.NominatedSlots[j], o.NominatedSlots[i]
		})
	}
	if h.chance(8) {
		o.NominatedSlots = append(o.NominatedSlots, o.NominatedSlots[0], -1, s.Len())
	}
}

// The terms of a nominated pod match some of the pods that share kept work, and not the others: each is asked about for itself. A running
// pod with a term for all of them, far away, lets v1.37 ask the filter.
func TestKeptNominationWithTermsOfItsOwn(t *testing.T) {
	far := testkit.Pod("far").Labels("app=far").On("n3").RequireApart("host", "all=pods").Obj()
	var nodes []*v1.Node
	for k := range 4 {
		name := fmt.Sprint("n", k)
		nodes = append(nodes, testkit.Node(name).Label("host", name).Capacity(fmt.Sprintf("cpu=%d,pods=9", 9-k)).Obj())
	}
	s, err := cluster.New(cluster.Objects{Nodes: nodes, Pods: []*v1.Pod{far}})
	require.NoError(t, err)
	plan, err := New(s, DefaultProfile())
	require.NoError(t, err)
	guard := testkit.Pod("guard").Labels("app=guard").Priority(9).RequireApart("host", "app=p").Obj()
	o := Options{Nominated: func(i int) []*v1.Pod {
		if s.Node(i).Name == "n0" {
			return []*v1.Pod{guard}
		}
		return nil
	}, NominatedSlots: []int{s.Slot("n0")}}
	decide := func(app string) string {
		pod := testkit.Pod("x").Labels("all=pods,app=" + app).Request("cpu=1").Obj()
		slow, err := New(s, DefaultProfile())
		require.NoError(t, err)
		slow.engine = nil
		d := plan.Decide(pod, o)
		require.Equal(t, text(slow.Decide(pod, o)), text(d), app)
		return d.Node
	}
	for k := range 4 {
		require.Equal(t, "n0", decide(fmt.Sprint("app", k)))
	}
	for range 3 {
		require.Equal(t, "n1", decide("p"))
		require.Equal(t, "n0", decide("other"))
	}
}
