package consolidation

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
)

// The smallest of some domains has as few pods as the others can take with maxSkew; with fewer domains than minDomains it may be empty.
func TestSmallest(t *testing.T) {
	for pods := range int32(14) {
		for skew := int32(1); skew < 4; skew++ {
			for domains := 1; domains < 6; domains++ {
				few := int32(0)
				for few*int32(domains)+(int32(domains)-1)*skew < pods {
					few++
				}
				for least := range int32(7) {
					want := few
					if domains < int(least) {
						want = 0
					}
					require.Equal(t, want, (&spreadApp{pods: pods, skew: skew, least: least}).smallest(domains), "%d pods, maxSkew %d, %d domains, minDomains %d", pods, skew, domains, least)
				}
			}
		}
	}
}

func TestSmallestWithHugeSkew(t *testing.T) {
	require.Zero(t, (&spreadApp{pods: 100, skew: math.MaxInt32, least: 1}).smallest(3))
}

// A node that is held and has no zone counts beside the cheapest set of zones. A held node with a zone is part of each set.
func TestSpreadBoundOfHeldNodes(t *testing.T) {
	for zoned, want := range map[bool]int64{true: 10, false: 30} {
		w := five("cpu=4")
		w.app("web", "cpu=3", "n1 n3", spreadOver("web", v1.LabelTopologyZone))
		w.in.Price = func(*v1.Node) int64 { return 10 }
		w.in.HoldNode = func(n *v1.Node) string { return map[bool]string{true: "held"}[n.Name == "n5"] }
		if !zoned {
			delete(w.objects.Nodes[4].Labels, v1.LabelTopologyZone)
		}
		p := w.planner(t)
		x := &bounder{Planner: p, schema: p.base.Schema().Len()}
		x.read()
		require.Equal(t, want, x.spreads(), "with a zone: %t", zoned)
	}
}

// The bound lets every pod go to a node that could be added. Of the nodes that exist it leaves those out that do not match.
func TestAllowedNodes(t *testing.T) {
	w := five("cpu=4")
	w.objects.Nodes[0].Labels["pool"] = "x"
	w.app("web", "cpu=1", "n1", func(s *v1.PodSpec) { s.NodeSelector = map[string]string{"pool": "x"} })
	w.in.Types = []Type{{Node: testkit.Node("small").Capacity("cpu=4").Obj(), Price: 1, Most: 1}}
	p := w.planner(t)
	may := (&bounder{Planner: p}).allowed(p.loads[0].old)
	for name, want := range map[string]bool{"n1": true, "n2": false, "small-new-1": true} {
		require.Equal(t, want, may[p.base.Slot(name)], name)
	}
}

// What nodes of some domains cost that offer a demand. n5 has no domain and counts for the demand of the cluster alone.
func TestCoverZone(t *testing.T) {
	w := five("cpu=4")
	prices := map[string]int64{"n1": 5, "n2": 3, "n3": 4, "n4": 6, "n5": 2}
	w.in.Price = func(n *v1.Node) int64 { return prices[n.Name] }
	p := w.planner(t)
	x := &bounder{Planner: p, schema: p.base.Schema().Len()}
	x.read()
	zone := make([]uint, len(p.nodes))
	for name, z := range map[string]uint{"n1": 1, "n2": 1, "n3": 2, "n4": 2} {
		zone[p.base.Slot(name)] = z
	}
	for _, c := range []struct {
		set    uint
		demand int64
		all    bool
		want   int64
	}{
		{1, 0, false, 3}, {1, 0, true, 0}, {1, 4000, false, 3}, {1, 6000, false, 8}, {1, 6000, true, 5}, {2, 0, false, 4}, {2, 4001, false, 10}, {2, 4000, true, 2},
		{3, 12000, false, 12}, {3, 12000, true, 9}, {0, 1000, true, 2},
	} {
		demand := make(resources.Vector, x.schema)
		demand[0] = c.demand
		require.Equal(t, c.want, x.coverZone(zone, c.set, demand, c.all), "%+v", c)
	}
}

// A node whose agent another pod needs is not removed, and nothing has changed then.
func TestDropKeepsRules(t *testing.T) {
	w := five("cpu=4")
	w.pod("DaemonSet", "agent", "agent-0", "n1", template("agent", "cpu=1", nil))
	w.app("web", "cpu=1", "n2", beside("agent", v1.LabelTopologyZone))
	p := w.planner(t)
	for node, want := range map[string]bool{"n1": false, "n3": true} {
		r := p.newRun(choice{nodes: []int{p.base.Slot(node)}})
		ok := r.drop(r.choice.nodes)
		require.Equal(t, want, ok)
		require.Equal(t, want, r.snapshot.Slot(node) < 0)
		require.NotNil(t, r.snapshot.Pod("default", "agent-0"))
	}
}

// A pod of which a copy comes first is being deleted until the copy is there: rules that count pods do not count both. A pod that leaves first
// is away.
func TestLift(t *testing.T) {
	for way, there := range map[Way]bool{Surge: true, InPlace: false} {
		w := five("cpu=4")
		w.app("web", "cpu=1", "n1", nil)
		p := w.planner(t)
		r := p.newRun(choice{nodes: []int{p.base.Slot("n1")}})
		fresh := r.lift(0, way)
		old := r.snapshot.Pod("default", "web-0")
		require.Equal(t, there, old != nil, way)
		require.Nil(t, fresh.DeletionTimestamp)
		if there {
			require.Equal(t, r.in.Now.Unix(), old.DeletionTimestamp.Unix(), way)
		}
	}
}

// Of the equal pods that wait with places that a pod may take at most four are tried, each place once.
func TestPlacesOfEqualPods(t *testing.T) {
	w := &world{}
	for k := range 9 {
		w.node(fmt.Sprint("n", k), "a", "cpu=16")
	}
	w.app("web", "cpu=1", "n0 n0 n0 n0 n0 n0 n0 n0", nil)
	p := w.planner(t)
	target := map[int32]int32{}
	for id := range int32(8) {
		target[id] = int32(p.base.Slot(fmt.Sprint("n", 1+max(1, id))))
	}
	r := p.newRun(choice{nodes: []int{p.base.Slot("n0")}, target: target})
	places := r.places(0, Surge)
	require.Equal(t, []int32{2, 3, 4, 5}, places, "the second pod has the place of the first")
	r.equal[r.loads[0].shape] = []int32{0}
	places = r.places(0, Surge)
	require.Empty(t, places)
}

// The nodes for a pod come in the order of their scores, and every node that the filters allow is among them.
func TestAlternatives(t *testing.T) {
	unequal := 0
	for seed := range uint64(60) {
		p := wide(testkit.NewBytes(testkit.RandomBytes(seed+8e6, 300))).planner(t)
		x := p.newState()
		for id := range p.loads {
			m := x.mark()
			fresh := x.lift(int32(id))
			names := alternatives(x.placer, x.snapshot, fresh)
			a := x.placer.Prepare(fresh)
			slots := a.Search(placement.Options{}).Feasible
			require.Len(t, names, len(slots))
			if len(slots) > 0 {
				_, totals, err := a.Scores(slots)
				require.NoError(t, err)
				of := map[string]int64{}
				for k, slot := range slots {
					of[x.snapshot.Node(slot).Name] = totals[k]
				}
				for k := range names[1:] {
					require.GreaterOrEqual(t, of[names[k]], of[names[k+1]])
				}
				if slices.Min(totals) < slices.Max(totals) {
					unequal++
				}
			}
			x.takeBack(m)
		}
	}
	require.Greater(t, unequal, 50)
}

// After the moves of a plan the pods of each kind are counted where they are.
func TestPositionsFollowMoves(t *testing.T) {
	moves := 0
	for seed := range uint64(150) {
		b := testkit.NewBytes(testkit.RandomBytes(seed+8e6, 300))
		p := wide(b).planner(t)
		r := p.newRun(anyChoice(b, p))
		r.all()
		kindOf := map[*v1.Pod]int32{}
		for i := range p.loads {
			kindOf[p.loads[i].old] = p.loads[i].kind
		}
		want := p.positions().at
		for _, wave := range r.plan.Waves {
			for _, m := range wave {
				if kind := kindOf[m.Pod]; kind >= 0 {
					want[kind][int32(p.base.Slot(m.From))]--
					want[kind][int32(p.base.Slot(m.To))]++
					moves++
				}
			}
		}
		for k := range want {
			none := func(_, n int32) bool { return n == 0 }
			maps.DeleteFunc(want[k], none)
			maps.DeleteFunc(r.where.at[k], none)
			require.Equal(t, want[k], r.where.at[k], "seed %d", seed)
		}
	}
	require.Greater(t, moves, 40)
}

// A pod that is not let onto a node leaves the positions and the snapshot as they were, and one that is shows in both.
func TestTryChangesAllOrNothing(t *testing.T) {
	moved, kept := 0, 0
	for seed := range uint64(60) {
		b := testkit.NewBytes(testkit.RandomBytes(seed+8e6, 300))
		w := wide(b)
		for k, n := range w.objects.Nodes {
			app := fmt.Sprint("app", k%3)
			w.app(fmt.Sprint("near", k), "cpu=10m", n.Name, beside(app, testkit.Pick(b, v1.LabelHostname, v1.LabelTopologyZone)))
		}
		p := w.planner(t)
		r := p.newRun(anyChoice(b, p))
		for id := range p.loads {
			for i := range p.nodes {
				if r.snapshot.Node(i) == nil {
					continue // a node that is not added
				}
				l := &p.loads[id]
				at := func() (out []map[int32]int32) {
					for _, m := range r.where.at {
						out = append(out, maps.Clone(m))
					}
					return out
				}
				before, m := at(), r.snapshot.Mark()
				x := r.try(int32(id), p.nodes[i].object.Name, testkit.Pick(b, l.way, InPlace))
				if x.pod == nil {
					require.Equal(t, before, r.where.at)
					require.Same(t, l.old, r.snapshot.Pod(l.old.Namespace, l.old.Name))
					if x.placed {
						kept++
					}
				} else {
					require.Equal(t, int32(i), x.slot)
					require.Contains(t, slices.Collect(r.snapshot.Pods(i)), x.pod)
					r.where.shift(l.kind, x.slot, l.slot)
					require.Equal(t, before, r.where.at)
					moved++
				}
				r.snapshot.Rollback(m)
			}
		}
	}
	require.Greater(t, min(moved, kept), 20, "%d moved, %d broke a rule of another pod", moved, kept)
}

// A pod that found no node may find one after a move that one of its rules concerns, and after the removal of a node when one of its
// rules counts domains.
func TestChanged(t *testing.T) {
	w := five("cpu=4")
	w.app("spread", "cpu=1", "n1 n3 n5", spreadOver("spread", v1.LabelTopologyZone))
	w.app("apart", "cpu=1", "n1 n3", apart("apart", v1.LabelHostname))
	w.stateful("db", "cpu=1", "n1 n2")
	w.app("plain", "cpu=1", "n1", nil)
	p := w.planner(t)
	of := func(pod string) *load {
		return &p.loads[slices.IndexFunc(p.loads, func(l load) bool { return l.old.Name == pod })]
	}
	for _, c := range []struct {
		pod, touched string // touched: the rules of this pod
		at, clock    int
		removed      int
		want         bool
	}{
		{"spread-0", "spread-1", 3, 4, 0, true}, {"spread-0", "spread-1", 3, 3, 0, false}, {"spread-0", "apart-0", 3, 4, 0, false},
		{"apart-0", "apart-1", 3, 4, 0, true}, {"db-0", "db-1", 3, 4, 0, true}, {"db-0", "db-1", 4, 4, 0, false}, {"plain-0", "spread-0", 0, 4, 4, false},
		{"spread-0", "", 3, 0, 4, true}, {"spread-0", "", 3, 0, 3, false}, {"apart-0", "", 3, 0, 4, false}, {"db-0", "", 3, 0, 4, false},
	} {
		r := &run{Planner: p, touched: map[int32]int{}, removed: c.removed}
		if c.touched != "" {
			for _, g := range of(c.touched).groups {
				r.touched[g] = c.clock
			}
		}
		require.Equal(t, c.want, r.changed(of(c.pod), c.at), "%+v", c)
	}
}

// A pod runs where its rules hold only if both its spread constraint and its terms about other pods do.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		on             string
		spread, others bool
		want           bool
	}{
		{"n1 n3 n5", true, true, true}, {"n1 n2 n3 n5", true, true, true}, {"n1 n2", true, false, false}, {"n1 n1", false, true, false}, {"n1 n1 n2", true, true, false},
		{"n1 n3", true, true, true}, {"n1 n2 n3 n4 n5", true, true, true},
	} {
		w := five("cpu=4")
		w.app("web", "cpu=1", c.on, func(s *v1.PodSpec) {
			if c.spread {
				spreadOver("web", v1.LabelTopologyZone)(s)
			}
			if c.others {
				apart("web", v1.LabelHostname)(s)
			}
		})
		p := w.planner(t)
		s := p.base.Fork()
		require.Equal(t, c.want, p.kinds[0].over(s, &engine.Memo{}).holds(s.Slot("n1")), "%+v", c)
	}
}

// Pods with equal labels are counted by the same rules, and each has the rule of its own kind beside them.
func TestGroupsOfEqualLabels(t *testing.T) {
	w := five("cpu=8")
	for _, key := range []string{v1.LabelTopologyZone, v1.LabelHostname, "rack"} {
		w.app("off-"+key[len(key)-4:], "cpu=1", "n5", apart("web", key))
	}
	for _, name := range []string{"db", "cache"} {
		r := w.app(name, "cpu=1", "n1", nil)
		w.pod("ReplicaSet", r.Name, name+"-web", "n1", template("web", "cpu=1", beside(name, v1.LabelTopologyZone)))
	}
	p := w.planner(t)
	var counting []int32
	for i := range p.loads {
		if l := &p.loads[i]; strings.HasPrefix(l.old.Name, "off-") {
			counting = append(counting, l.kind)
		}
	}
	require.Len(t, counting, 3)
	own := map[int32]bool{}
	for i := range p.loads {
		if l := &p.loads[i]; l.old.Labels["app"] == "web" {
			require.ElementsMatch(t, append(slices.Clone(counting), l.kind), l.groups, l.old.Name)
			own[l.kind] = true
		}
	}
	require.Len(t, own, 2, "two kinds")
}

// Rules count pods by namespace, and a StatefulSet moves one pod at a time beside one with its name in another namespace: pods that are equal
// but for their namespaces have groups of their own.
func TestGroupsOfNamespaces(t *testing.T) {
	w := five("cpu=8")
	w.app("guard", "cpu=1", "n5", apart("web", v1.LabelHostname))
	elsewhere := func(name string) {
		for _, pod := range w.objects.Pods {
			if pod.Labels["app"] == name {
				other := pod.DeepCopy()
				other.Namespace, other.UID = "other", "other-"+pod.UID
				w.objects.Pods = append(w.objects.Pods, other)
			}
		}
	}
	w.app("web", "cpu=1", "n1", nil)
	r := w.objects.ReplicaSets[1].DeepCopy()
	r.Namespace = "other"
	w.objects.ReplicaSets = append(w.objects.ReplicaSets, r)
	elsewhere("web")
	set := w.stateful("db", "cpu=1", "n2 n3").DeepCopy()
	set.Namespace = "other"
	w.objects.StatefulSets = append(w.objects.StatefulSets, set)
	elsewhere("db")
	p := w.planner(t)
	groups := map[string][]int32{}
	for i := range p.loads {
		groups[p.loads[i].old.Namespace+"/"+p.loads[i].old.Name] = p.loads[i].groups
	}
	require.Len(t, groups, 7)
	require.Equal(t, groups["default/guard-0"], groups["default/web-0"], "the rule of guard counts it")
	require.Empty(t, groups["other/web-0"])
	require.Len(t, groups["default/db-0"], 1)
	require.Equal(t, groups["default/db-0"], groups["default/db-1"])
	require.Equal(t, groups["other/db-0"], groups["other/db-1"])
	require.NotEqual(t, groups["default/db-0"], groups["other/db-0"])
}
