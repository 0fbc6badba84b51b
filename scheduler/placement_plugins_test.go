package scheduler

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/resources"
)

// tiers is a plugin of the caller that counts its calls: a pod takes nodes of at least its tier, and prefers low tiers.
type tiers struct{ prepared, checked atomic.Int64 }

func (x *tiers) plugin() *placement.Plugin {
	return &placement.Plugin{
		Name: "Tiers", Keep: placement.KeepByNode,
		AppendKey: func(dst []byte, pod *v1.Pod) []byte { return append(append(dst, pod.Labels["tier"]...), 0) },
		Events:    []queue.Event{{Resource: "Node", Action: queue.Add | queue.UpdateNodeLabel}},
		Hint:      func(affinity.Namespaces) queue.Hint { return tierIsEnough },
		Filter: func(pod *v1.Pod, c placement.Cluster) placement.PreFiltered {
			x.prepared.Add(1)
			switch pod.Labels["tier"] {
			case "":
				return placement.PreFiltered{Code: filter.Skip}
			case "none":
				return placement.PreFiltered{Code: filter.UnschedulableAndUnresolvable, Reasons: []string{"no tier takes the pod"}}
			case "panic":
				panic("boom")
			}
			return placement.PreFiltered{Predicate: tierNodes{x, c, tierOf(pod.Labels)}}
		},
		Score: func(pod *v1.Pod, c placement.Cluster) (placement.Scorer, error) {
			if pod.Labels["tier"] == "" {
				return nil, nil
			}
			return tierNodes{x, c, 0}, nil
		},
	}
}

func tierOf(m map[string]string) int32 {
	n, _ := strconv.ParseInt(m["tier"], 10, 32) // no number: 0
	return int32(n)
}

func tierIsEnough(pod *v1.Pod, _, now any) (bool, error) {
	n, ok := now.(*v1.Node)
	return ok && tierOf(n.Labels) >= tierOf(pod.Labels), nil
}

type tierNodes struct {
	x    *tiers
	c    placement.Cluster
	want int32
}

func (p tierNodes) Name() string { return "Tiers" }

func (p tierNodes) Check(i int) resources.Verdict {
	p.x.checked.Add(1)
	if n := p.c.Node(i); n == nil || tierOf(n.Labels) < p.want {
		return 1 | resources.Unresolvable
	}
	return 0
}

func (p tierNodes) Reasons(v resources.Verdict) []string {
	if v == 0 {
		return nil
	}
	return []string{"node(s) were of a lower tier"}
}

func (p tierNodes) Raw(i int) int64 { return int64(tierOf(p.c.Node(i).Labels)) }

func (p tierNodes) Normalize(raw, lo, hi int64) int64 {
	if hi == lo {
		return 100
	}
	return 100 * (hi - raw) / (hi - lo)
}

func (tierNodes) Reads(dst []string) []string { return append(dst, "label:tier") }

// withTiers are options with the plugin at all its points.
func withTiers(x *tiers, oneByOne bool) Options {
	return Options{
		OneByOne: oneByOne, PercentageOfNodesToScore: 100, Plugins: Registry{"Tiers": FromPlacement(x.plugin())},
		Profiles: []Profile{{Plugins: Plugins{MultiPoint: {Enabled: []PluginRef{{Name: "Tiers", Weight: 3}}}}}},
	}
}

// tieredRig is a random rig whose nodes and pending pods have tiers.
func tieredRig(t *testing.T, seed uint64, o Options) *rig {
	return randomRigOf(t, seed, o, func(r interface{ IntN(int) int }, nodes []*v1.Node, waiting []*v1.Pod) {
		for _, n := range nodes {
			n.Labels["tier"] = strconv.Itoa(r.IntN(4))
		}
		for _, p := range waiting {
			if tier := []string{"", "0", "1", "2", "3", "none"}[r.IntN(6)]; tier != "" {
				p.Labels["tier"] = tier
			}
		}
	})
}

// A plugin of the caller decides the same in the framework's plan, in the framework one by one, and in package placement.
func TestFromPlacementAgrees(t *testing.T) {
	tiered, placed := 0, 0
	for seed := range uint64(40) {
		profile := placement.DefaultProfile()
		own := new(tiers).plugin()
		profile.Filters, profile.Scores = append(profile.Filters, own), append(profile.Scores, placement.Weighted{Plugin: own, Weight: 3})
		profile.Sampling = placement.AllNodes()
		var fast *rig
		var alone placement.Decision
		o := withTiers(new(tiers), false)
		o.OnAttempt = func(pod *v1.Pod, c *cluster.Snapshot) {
			plan, err := placement.New(c, profile)
			require.NoError(t, err)
			alone = plan.Decide(pod, fast.s.planOptions())
		}
		fast = tieredRig(t, seed, o)
		slow := tieredRig(t, seed, withTiers(new(tiers), true))
		require.NotNil(t, fast.framework().plan)
		require.Nil(t, slow.framework().plan)
		require.Equal(t, []string{"Tiers"}, fast.framework().own)
		for range 100 {
			a, b := fast.step(), slow.step()
			require.Equal(t, a, b, "seed %d", seed)
			require.Equal(t, strip(fast.results), strip(slow.results), "seed %d", seed)
			require.Equal(t, fast.moves, slow.moves, "seed %d", seed)
			if !a {
				break
			}
			last := fast.last()
			require.Equal(t, alone.Node, last.Node, "seed %d: %s", seed, last.Pod.Name)
			require.Equal(t, alone.Total, last.Total, "seed %d: %s", seed, last.Pod.Name)
			if last.Pod.Labels["tier"] != "" {
				tiered++
			}
			if last.Outcome == Scheduled {
				placed++
			} else {
				require.Contains(t, last.Message, strings.TrimSuffix(alone.Failure.Message.String(), "."))
			}
		}
		require.Empty(t, fast.errs)
	}
	require.Greater(t, tiered, 200)
	require.Greater(t, placed, 50)
}

// With the plan equal pods share the plugin's work: the plugin is asked about each class of nodes once, not about each node for
// each pod.
func TestFromPlacementSharesWork(t *testing.T) {
	const nodes, pods = 100, 50
	asked := func(oneByOne bool) (prepared, checked int64) {
		x := new(tiers)
		var list []*v1.Node
		for k := range nodes {
			list = append(list, testkit.Node(fmt.Sprintf("n%03d", k)).Label("tier", strconv.Itoa(k%4)).Capacity("cpu=64,pods=110").Obj())
		}
		r := newRig(t, withTiers(x, oneByOne), list)
		for k := range pods {
			r.add(testkit.Pod(fmt.Sprintf("p%02d", k)).Labels("tier=2").Request("cpu=1").Obj())
		}
		for range pods {
			require.True(t, r.step())
			require.Equal(t, Scheduled, r.last().Outcome, r.last().Message)
		}
		return x.prepared.Load(), x.checked.Load()
	}
	prepared, checked := asked(true)
	require.EqualValues(t, pods, prepared)
	require.EqualValues(t, pods*nodes, checked)
	prepared, checked = asked(false)
	require.LessOrEqual(t, prepared, int64(3))
	require.LessOrEqual(t, checked, int64(3*nodes), "about all nodes for the first pods, then about classes")
}

// A pod that the plugin rejected waits for the plugin's events, of which the hint judges each.
func TestFromPlacementWakes(t *testing.T) {
	for _, oneByOne := range []bool{false, true} {
		r := newRig(t, withTiers(new(tiers), oneByOne), []*v1.Node{testkit.Node("n1").Label("tier", "1").Capacity("cpu=8,pods=10").Obj()})
		p := testkit.Pod("p").Labels("tier=2").Obj()
		r.add(p)
		require.True(t, r.step())
		require.Contains(t, r.last().Message, "1 node(s) were of a lower tier")
		require.False(t, r.step())
		r.s.AddNode(testkit.Node("n2").Label("tier", "1").Capacity("cpu=8,pods=10").Obj())
		require.Equal(t, queue.Unschedulable, r.place(p))
		r.s.AddNode(testkit.Node("n3").Label("tier", "3").Capacity("cpu=8,pods=10").Obj())
		require.NotEqual(t, queue.Unschedulable, r.place(p))
	}
}

// A plugin that panics in the plan fails its pod alone, and later pods are decided.
func TestFromPlacementPanics(t *testing.T) {
	for _, oneByOne := range []bool{false, true} {
		r := newRig(t, withTiers(new(tiers), oneByOne), three())
		r.add(testkit.Pod("bad").Priority(9).Labels("tier=panic").Obj())
		require.True(t, r.step())
		require.Equal(t, SchedulingError, r.last().Outcome)
		require.Contains(t, r.last().Message, "panicked")
		require.Contains(t, r.last().Message, "boom")
		r.add(testkit.Pod("good").Labels("tier=0").Obj())
		require.True(t, r.step())
		require.Equal(t, Scheduled, r.last().Outcome, r.last().Message)
	}
}

// What New refuses.
func TestFromPlacementErrors(t *testing.T) {
	built := new(tiers).plugin()
	renamed, unkeyed, unknown := *built, *built, *built
	renamed.Name, unkeyed.AppendKey, unknown.Events = "NodeName", nil, []queue.Event{{Resource: "Rack", Action: queue.Add}}
	at := func(points ...Point) Plugins {
		out := Plugins{}
		for _, p := range points {
			out[p] = PluginSet{Enabled: []PluginRef{{Name: "Tiers"}}}
		}
		return out
	}
	type test struct {
		name, why string
		plugin    *placement.Plugin
		plugins   Plugins
		args      any
		want      string
	}
	testkit.Run(t, []test{
		{"nil", "there is nothing to run", nil, at(MultiPoint), nil, "want a plugin of package placement with Filter or Score"},
		{"neither", "it runs at no point", &placement.Plugin{Name: "Tiers"}, at(MultiPoint), nil, "want a plugin of package placement with Filter or Score"},
		{"args", "the plugin is made already", built, at(MultiPoint), 3, "want no args, got int"},
		{"another name", "registrations and messages use the plugin's name", &renamed, at(MultiPoint), nil, `plugin "NodeName" of FromPlacement is registered as "Tiers"`},
		{"not valid", "the profile would not be", &unkeyed, at(MultiPoint), nil, "filters[0].appendKey: Required value"},
		{"unknown event", "no such event comes", &unknown, at(MultiPoint), nil, `Invalid value: "Rack": must be a resource of this package or plural.version.group (plugin Tiers)`},
		{"Filter alone", "PreFilter prepares the predicate", built, at(Filter), nil, `plugin "Tiers" of FromPlacement needs PreFilter and Filter`},
		{"Score alone", "PreScore prepares the scorer", built, at(PreFilter, Filter, Score), nil, `plugin "Tiers" of FromPlacement needs PreScore and Score`},
	}, func(t *testing.T, c test) {
		s, err := cluster.New(cluster.Objects{})
		require.NoError(t, err)
		_, err = New(s, Options{Client: &server{}, Clock: newClock(), Plugins: Registry{"Tiers": FromPlacement(c.plugin)},
			Profiles: []Profile{{Plugins: c.plugins, Args: map[string]any{"Tiers": c.args}}}})
		require.ErrorContains(t, err, c.want)
	})
}

// The signature of a pod has the plugin's key, if answers depend on nothing else.
func TestFromPlacementSigns(t *testing.T) {
	signature := func(change func(p *placement.Plugin), tier string) string {
		p := new(tiers).plugin()
		change(p)
		profile := listed()
		profile.Plugins = Plugins{MultiPoint: {Enabled: []PluginRef{{Name: "Tiers"}}}}
		r := newRig(t, Options{Profiles: []Profile{profile}, Plugins: Registry{"Tiers": FromPlacement(p)}}, three())
		return r.framework().SignPod(ctx, testkit.Pod("p").Labels("tier="+tier).Obj())
	}
	keep := func(*placement.Plugin) {}
	require.NotEmpty(t, signature(keep, "1"))
	require.Equal(t, signature(keep, "1"), signature(keep, "1"))
	require.NotEqual(t, signature(keep, "1"), signature(keep, "2"))
	require.Empty(t, signature(func(p *placement.Plugin) { p.Keep = placement.KeepNothing }, "1"))
	absent := func(p *placement.Plugin) {
		p.Keep, p.Skips = placement.KeepIfSkipped, func(pod *v1.Pod) bool { return pod.Labels["tier"] == "1" }
	}
	require.NotEmpty(t, signature(absent, "1"))
	require.Empty(t, signature(absent, "2"))
}

// BenchmarkFromPlacement schedules equal pods with a plugin of the caller, with the plan and one by one.
func BenchmarkFromPlacement(b *testing.B) {
	for name, oneByOne := range map[string]bool{"plan": false, "one by one": true} {
		b.Run(name, func(b *testing.B) {
			var list []*v1.Node
			for k := range 1000 {
				list = append(list, testkit.Node(fmt.Sprintf("n%04d", k)).Label("tier", strconv.Itoa(k%4)).Capacity("cpu=1000,pods=10000").Obj())
			}
			c, err := cluster.New(cluster.Objects{Nodes: list})
			require.NoError(b, err)
			o := withTiers(new(tiers), oneByOne)
			api := &server{pods: map[string]*v1.Pod{}, bound: map[string]int{}}
			o.Client, o.Clock, o.Go = api, newClock(), func(task func()) { task() }
			api.s, err = New(c, o)
			require.NoError(b, err)
			k := 0
			for b.Loop() {
				p := testkit.Pod(fmt.Sprint("default/p", k)).Labels("tier=2").Request("cpu=100m").Obj()
				api.pods["default/"+p.Name] = p
				api.s.AddPod(p)
				require.True(b, api.s.TryScheduleOne(ctx))
				k++
			}
			require.Equal(b, k, len(api.bound))
		})
	}
}
