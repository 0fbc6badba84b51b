package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/resources"
)

// whatIfWorld returns a cluster whose pods have priorities 0 to 2, and an attempt of a pod of priority 2. Sometimes pods are nominated.
func whatIfWorld(t *testing.T, seed uint64) (w *world, s *cluster.Snapshot, a *Attempt, o Options) {
	for ; ; seed += 1000 {
		w = &world{r: rand.New(rand.NewPCG(seed, 59))}
		s = w.snapshot(t, 3+w.r.IntN(4), 8+w.r.IntN(16))
		for i := range s.Len() {
			for p := range s.Pods(i) {
				q := p.DeepCopy()
				q.Spec.Priority = new(int32(w.r.IntN(3)))
				require.NoError(t, s.Set(q))
			}
		}
		if w.chance(3) {
			vip := w.pod(w.r.IntN(30))
			vip.Spec.Priority = new(int32(3))
			o.Nominated = func(i int) []*v1.Pod {
				if i%2 == 0 {
					return []*v1.Pod{vip}
				}
				return nil
			}
		}
		p, err := New(s, DefaultProfile())
		require.NoError(t, err)
		pod := w.pod(w.r.IntN(30))
		pod.Spec.Priority = new(int32(2))
		if a = p.Prepare(pod); !a.Rejected() {
			return w, s, a, o
		}
	}
}

// The filters say about a cluster with pods added and removed what they say when the pods have come and left. Filters that skipped the
// pod before are not asked.
func TestWhatIfLikeAChangedCluster(t *testing.T) {
	allowed, rejected := 0, 0
	for seed := range uint64(60) {
		w, s, a, o := whatIfWorld(t, seed)
		x := a.WhatIf(o)
		asked := map[string]bool{}
		for _, p := range a.Predicates {
			asked[p.Name()] = true
		}
		for range 3 {
			x.Reset()
			fork := s.Fork()
			for range w.r.IntN(8) {
				i := w.r.IntN(s.Len())
				if q := w.pod(w.r.IntN(30)); w.chance(2) && !portly(q) {
					require.NoError(t, fork.Assume(q, i))
					x.Add(q, i)
					continue
				}
				for q := range fork.Pods(i) {
					if !portly(q) {
						require.NoError(t, fork.Remove(q))
						x.Remove(q, i)
						break
					}
				}
			}
			fresh, err := New(fork, DefaultProfile())
			require.NoError(t, err)
			for i := range s.Len() {
				got, want := x.Check(i), firstOf(t, fresh, a.pod, i, o, asked)
				if want == nil {
					require.Zero(t, got, "seed %d slot %d", seed, i)
					allowed++
					continue
				}
				require.NotZero(t, got.Verdict, "seed %d slot %d: %v", seed, i, want)
				require.Equal(t, want.Plugin, a.Predicates[got.Predicate].Name(), "seed %d slot %d", seed, i)
				reasons, _ := x.Reasons(i, got)
				require.Equal(t, want.Reasons, reasons, "seed %d slot %d", seed, i)
				require.NoError(t, x.Err(i, got))
				rejected++
			}
		}
	}
	require.Greater(t, allowed, 100)
	require.Greater(t, rejected, 100)
}

// portly reports whether a pod has a host port. To remove it frees the port although another pod holds the port too, as in v1.36.
func portly(p *v1.Pod) bool { return len(p.Spec.Containers[0].Ports) > 0 }

// firstOf returns what rejects the pod first, with the nominated pods or without them; nil when the pod fits.
func firstOf(t *testing.T, p *Plan, pod *v1.Pod, i int, o Options, asked map[string]bool) *Rejection {
	first := func(p *Plan) *Rejection {
		for _, r := range p.Rejections(pod, i) {
			if asked[r.Plugin] {
				return &r
			}
		}
		return nil
	}
	if o.Nominated != nil {
		if nominated := filter.Nominated(pod, o.Nominated(i)); len(nominated) > 0 {
			fork := p.cluster.(*cluster.Snapshot).Fork()
			for _, q := range nominated {
				require.NoError(t, fork.Assume(q, i))
			}
			with, err := New(fork, DefaultProfile())
			require.NoError(t, err)
			if r := first(with); r != nil {
				return r
			}
		}
	}
	return first(p)
}

// Without says what the filters say when the pods of lower priority have left, where the rows of the node are what decides. Elsewhere it
// is not certain and allows.
func TestWithout(t *testing.T) {
	certain, uncertain := 0, 0
	for seed := range uint64(120) {
		_, s, a, o := whatIfWorld(t, seed)
		x := a.whatIf(o)
		rows := -1
		for k, trial := range x.trials {
			if trial != nil {
				if a.Predicates[k].Name() == "NodeResourcesFit" {
					rows = k
				}
				break
			}
		}
		for i := range s.Len() {
			x.Reset()
			var left resources.Vector
			for q := range s.Pods(i) {
				if podinfo.Priority(q) < 2 {
					x.Remove(q, i)
					continue
				}
				requests, ok := s.PodRequests(q)
				require.True(t, ok)
				left = left.Grow(len(requests))
				left.Add(requests)
			}
			want := x.Check(i)
			if nominated := o.Nominated != nil && len(o.Nominated(i)) > 0; nominated || want.Verdict == 0 || int(want.Predicate) != rows {
				want = preemption.Answer{}
				uncertain++
			} else {
				certain++
			}
			require.Equal(t, want, x.Without(i, left), "seed %d slot %d", seed, i)
			require.Equal(t, want, x.Without(i, left), "asked again, seed %d slot %d", seed, i)
		}
	}
	require.Greater(t, certain, 20)
	require.Greater(t, uncertain, 100)
}

// Settles says whether the pod fits on the node of a cluster that the pods have left.
func TestSettles(t *testing.T) {
	yes, no := 0, 0
	for seed := range uint64(60) {
		w, s, a, o := whatIfWorld(t, seed)
		x := a.whatIf(o)
		var leave []preemption.Placed
		fork := s.Fork()
		for i := range s.Len() {
			for q := range s.Pods(i) {
				if w.chance(3) {
					leave = append(leave, preemption.Placed{Pod: q, Slot: i})
					require.NoError(t, fork.Remove(q))
				}
			}
		}
		exact := true // no filter but that over rows looks at other pods
		for k, trial := range x.trials {
			exact = exact && (trial == nil || a.Predicates[k].Name() == "NodeResourcesFit")
		}
		fresh, err := New(fork, DefaultProfile())
		require.NoError(t, err)
		all := map[string]bool{}
		for _, f := range DefaultProfile().Filters {
			all[f.Name] = true
		}
		for i := range s.Len() {
			want := exact || firstOf(t, fresh, a.pod, i, o, all) == nil
			require.Equal(t, want, x.Settles(i, leave), "seed %d slot %d", seed, i)
			if want {
				yes++
			} else {
				no++
			}
			gone := []preemption.Placed{{Pod: testkit.Pod("gone").On("n0").Obj(), Slot: 0}}
			require.Equal(t, exact, x.Settles(i, gone), "a pod that is not there")
		}
		require.Equal(t, len(leave) > 0, podsOn(s) > podsOn(fork), "the cluster stays as it is")
	}
	require.Greater(t, yes, 50)
	require.Greater(t, no, 50)
}

// A pod that plugins have nodes for settles on these alone, and a cluster that is no snapshot is not asked.
func TestSettlesOnNamedNodes(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(t, err)
	term := v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"b1"}}}}
	for _, pinned := range []bool{true, false} {
		b := testkit.Pod("p").Labels("app=x").Spread(1, v1.LabelTopologyZone, v1.DoNotSchedule, "app=x")
		if pinned {
			b = b.RequireNodes(term)
		}
		p, err := New(s, DefaultProfile())
		require.NoError(t, err)
		x := p.Prepare(b.Obj()).whatIf(Options{})
		require.True(t, x.Settles(s.Slot("b1"), nil))
		require.Equal(t, !pinned, x.Settles(s.Slot("a1"), nil))
		plain, err := New(Rows(viewOf(s)), DefaultProfile())
		require.NoError(t, err)
		full := b.Request("cpu=99").Obj()
		require.True(t, plain.Prepare(full).whatIf(Options{}).Settles(0, nil))
		require.False(t, p.Prepare(full).whatIf(Options{}).Settles(0, nil))
	}
}

// A pod may need pods of other nodes that stay if it has a hard constraint or a required affinity term.
func TestNeedsPods(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(t, err)
	p, err := New(s, DefaultProfile())
	require.NoError(t, err)
	pod := func() testkit.PodBuilder { return testkit.Pod("p").Labels("app=x") }
	type test struct {
		name string
		pod  testkit.PodBuilder
		want bool
	}
	testkit.Run(t, []test{
		{"plain", pod(), false},
		{"soft constraint", pod().Spread(1, v1.LabelHostname, v1.ScheduleAnyway, "app=x"), false},
		{"hard constraint", pod().Spread(1, v1.LabelHostname, v1.DoNotSchedule, "app=x"), true},
		{"anti-affinity", pod().RequireApart(v1.LabelHostname, "app=x").RequireApart(v1.LabelHostname, "app=y"), false},
		{"one term", pod().RequireWith(v1.LabelHostname, "app=x"), true},
		{"two terms", pod().RequireWith(v1.LabelHostname, "app=x").RequireWith(v1.LabelTopologyZone, "app=x"), true},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, p.Prepare(c.pod.Obj()).whatIf(Options{}).NeedsPods())
	})
}

// A plan whose only filter is over rows asks no fork, and judges each node without its pods. So does a plan without such filters.
func TestWhatIfOfRowsAlone(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Capacity("cpu=2").Obj(), testkit.Node("n2").Capacity("cpu=2").Taint("a:NoSchedule").Obj()}})
	require.NoError(t, err)
	all := DefaultProfile()
	fit, tainted := all.Filter(plugins.NodeResourcesFit), all.Filter(plugins.TaintToleration)
	cpu := func(milli int64) []int64 { return []int64{milli} }
	type test struct {
		name, why string
		filters   []*Plugin
		rejects   [2]bool // without other pods on n1, n2
	}
	testkit.Run(t, []test{
		{"rows", "the rows alone decide", []*Plugin{fit}, [2]bool{true, true}},
		{"taints before rows", "what is known before the rows is left to Check", []*Plugin{tainted, fit}, [2]bool{true, false}},
		{"rows before taints", "the rows come first", []*Plugin{fit, tainted}, [2]bool{true, true}},
		{"taints", "no rows are read", []*Plugin{tainted}, [2]bool{}},
	}, func(t *testing.T, c test) {
		p, err := New(s, Profile{Filters: c.filters})
		require.NoError(t, err)
		x := p.Prepare(testkit.Pod("p").Request("cpu=3").Obj()).whatIf(Options{})
		for _, order := range [][]int{{0, 1}, {1, 0}} {
			for _, i := range order {
				require.Equal(t, c.rejects[i], x.Without(i, cpu(0)).Verdict != 0, "slot %d", i)
			}
		}
		require.True(t, x.Settles(0, nil))
		require.Nil(t, x.settled)
	})
}

// A nominated pod may leave again: the pod must fit beside it and without it.
func TestCheckWithoutTheNominatedPod(t *testing.T) {
	p, s := planOf(t, cluster.Objects{Nodes: threeZones()})
	friend := testkit.Pod("friend").Labels("app=x").Priority(3).Request("cpu=1").Obj()
	o := Options{Nominated: func(int) []*v1.Pod { return []*v1.Pod{friend} }}
	for _, c := range []struct {
		cpu  string
		want bool
	}{{"1", false}, {"9", false}} {
		x := p.Prepare(testkit.Pod("p").Request("cpu="+c.cpu).RequireWith(v1.LabelTopologyZone, "app=x").Obj()).WhatIf(o)
		require.Equal(t, c.want, x.Check(0).Verdict == 0, "nobody else is there")
		x.Add(testkit.Pod("there").Labels("app=x").Obj(), 0)
		require.Equal(t, c.cpu == "1", x.Check(0).Verdict == 0)
	}
	require.Zero(t, podsOn(s))
}

// Changes are noted only where nominated pods may make Check begin again.
func TestNotedChanges(t *testing.T) {
	p, _ := planOf(t, cluster.Objects{Nodes: threeZones()})
	for noted, o := range map[int]Options{0: {}, 2: {Nominated: func(int) []*v1.Pod { return nil }}} {
		x := p.Prepare(testkit.Pod("p").Request("cpu=1").Obj()).whatIf(o)
		x.Add(testkit.Pod("q").Obj(), 0)
		x.Remove(testkit.Pod("q").Obj(), 0)
		require.Len(t, x.moves, noted)
		x.Reset()
		require.Empty(t, x.moves)
	}
}

// The texts of a verdict are complete when the verdict has a bit for each reason.
func TestWhatIfReasons(t *testing.T) {
	many := ""
	for k := range 15 {
		many += fmt.Sprintf("example.com/r%02d=2,", k)
	}
	p, _ := planOf(t, cluster.Objects{Nodes: threeZones()})
	for requests, complete := range map[string]bool{"cpu=9": true, many[:len(many)-1]: false} {
		x := p.Prepare(testkit.Pod("p").Request(requests).Obj()).WhatIf(Options{})
		r := x.Check(0)
		require.NotZero(t, r.Verdict)
		_, all := x.Reasons(0, r)
		require.Equal(t, complete, all, requests)
	}
}

// Settles asks only about nodes that the plugins name, also when their predicates allow others.
func TestSettlesWhereThePluginsName(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(t, err)
	only := &Plugin{Name: "Only", Filter: func(*v1.Pod, Cluster) PreFiltered { return PreFiltered{Nodes: []string{"b1"}} }}
	banned := &Plugin{Name: "Banned", Filter: func(pod *v1.Pod, _ Cluster) PreFiltered {
		if pod.Labels["banned"] != "" {
			return PreFiltered{Code: filter.Unschedulable}
		}
		return PreFiltered{Code: filter.Skip}
	}}
	p, err := New(s, Profile{Filters: []*Plugin{only, DefaultProfile().Filter(plugins.NodePorts), banned}})
	require.NoError(t, err)
	b := testkit.Pod("p").HostPort("", v1.ProtocolTCP, 80)
	x := p.Prepare(b.Obj()).whatIf(Options{})
	require.True(t, x.Settles(s.Slot("b1"), nil))
	require.False(t, x.Settles(s.Slot("a1"), nil))
	require.False(t, p.Prepare(b.Labels("banned=yes").Obj()).whatIf(Options{}).Settles(s.Slot("b1"), nil))
}

// The error of a filter that fails on a node is the answer's, and a rejection has none.
func TestWhatIfErrors(t *testing.T) {
	codes := []filter.Code{filter.Unschedulable, filter.Error}
	var o cluster.Objects
	for _, code := range codes {
		o.Nodes = append(o.Nodes, testkit.Node(code.String()).Label("code", code.String()).Obj())
	}
	s, err := cluster.New(o)
	require.NoError(t, err)
	p, err := New(s, Profile{Filters: []*Plugin{{Name: "Coded", Filter: func(_ *v1.Pod, c Cluster) PreFiltered { return PreFiltered{Predicate: coded{c, codes}} }}}})
	require.NoError(t, err)
	x := p.Prepare(testkit.Pod("p").Obj()).WhatIf(Options{})
	require.NoError(t, x.Err(0, x.Check(0)))
	require.ErrorContains(t, x.Err(1, x.Check(1)), filter.Error.String())
}
