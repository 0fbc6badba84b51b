package placement

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement/internal/hooks"
)

// asked counts how often a plan asks the plugins of a profile to prepare an answer, by plugin.
type asked map[string]int

func (a asked) profile() Profile { return a.over(DefaultProfile()) }

// over returns a profile whose plugins count their calls.
func (a asked) over(profile Profile) Profile {
	profile.Filters, profile.Scores = slices.Clone(profile.Filters), slices.Clone(profile.Scores)
	done := map[*Plugin]*Plugin{}
	for k, p := range profile.Filters {
		done[p] = a.plugin(p)
		profile.Filters[k] = done[p]
	}
	for k, w := range profile.Scores {
		if done[w.Plugin] == nil {
			done[w.Plugin] = a.plugin(w.Plugin)
		}
		profile.Scores[k].Plugin = done[w.Plugin]
	}
	return profile
}

// plugin returns a plugin that counts its calls.
func (a asked) plugin(p *Plugin) *Plugin {
	c := *p
	if over := p.WithShared; over != nil {
		c.WithShared = func(profile Profile) *Plugin { return a.plugin(over(profile)) }
	}
	if filter := p.Filter; filter != nil {
		c.Filter = func(pod *v1.Pod, x Cluster) PreFiltered {
			a[p.Name+" filter"]++
			return filter(pod, x)
		}
	}
	if score := p.Score; score != nil {
		c.Score = func(pod *v1.Pod, x Cluster) (Scorer, error) {
			a[p.Name+" score"]++
			return score(pod, x)
		}
	}
	if states := p.states; states != nil {
		c.states = func(x Cluster) hooks.Counting {
			a[p.Name+" states"]++
			counting := states(x)
			if _, more := counting.(interface{ Lasts() }); more { // has optional methods
				return counting
			}
			counted := countedStates{counting, a, p.Name}
			if _, divides := counting.(hooks.Dividing); divides {
				return dividingStates{counted}
			}
			return counted
		}
	}
	return &c
}

type countedStates struct {
	hooks.Counting
	asked asked
	name  string
}

// dividingStates are of a hooks.Dividing.
type dividingStates struct{ countedStates }

func (dividingStates) Divides() {}

func (c countedStates) Compile(pod *v1.Pod) (hooks.Compiled, error) {
	x, err := c.Counting.Compile(pod)
	if x == nil {
		return nil, err
	}
	return countedPod{x, c}, err
}

type countedPod struct {
	hooks.Compiled
	states countedStates
}

func (c countedPod) Count() hooks.State {
	c.states.asked[c.states.name+" count"]++
	return c.Compiled.Count()
}

// Replicas use the work that the first two of them made: from the third on a plan prepares no plugin again and counts no pods
// again. A key that never repeats would change no answer and be seen here alone.
func TestReplicasAskNoPluginAgain(t *testing.T) {
	testkit.CountsWork(t)
	web := func(k int) testkit.PodBuilder {
		return testkit.Pod(fmt.Sprintf("p%d", k)).Labels("app=web").Request("cpu=100m,memory=64Mi")
	}
	type test struct {
		name, why string
		pod       func(k int) *v1.Pod
		each      []string // what each pod asks anyway
	}
	testkit.Run(t, []test{
		{"plain", "nothing but requests", func(k int) *v1.Pod { return web(k).Obj() }, nil},
		{"selector", "statics are kept by what the pod says about nodes", func(k int) *v1.Pod { return web(k).NodeSelector("disk=ssd").Obj() }, nil},
		{"toleration", "statics are kept by tolerations", func(k int) *v1.Pod { return web(k).Tolerate("k", v1.TolerationOpExists, "", "").Obj() }, nil},
		{"image", "a score over images", func(k int) *v1.Pod { return web(k).Image("app:v1").Obj() }, nil},
		{"spread", "a state counts pods by zone", func(k int) *v1.Pod {
			return web(k).Spread(1, v1.LabelTopologyZone, v1.DoNotSchedule, "app=web").Spread(1, v1.LabelHostname, v1.ScheduleAnyway, "app=web").Obj()
		}, nil},
		{"apart", "a state counts pods by node", func(k int) *v1.Pod { return web(k).RequireApart(v1.LabelHostname, "app=web").Obj() }, nil},
		{"together", "a state counts pods by zone", func(k int) *v1.Pod { return web(k).RequireWith(v1.LabelTopologyZone, "app=web").Obj() }, nil},
		{"own label", "no running pod and no pod's own term asks for it", func(k int) *v1.Pod {
			p := web(k).Obj()
			p.Labels["hash"] = fmt.Sprint(k)
			return p
		}, nil},
		{"own amount", "boxes of rows are kept, and each pod has its own requests", func(k int) *v1.Pod { return web(k).Request(fmt.Sprintf("cpu=%dm", 100+k)).Obj() },
			[]string{"NodeResourcesFit filter", "NodeResourcesFit score", "NodeResourcesBalancedAllocation score", "ImageLocality score"}},
		{"no node", "a failure is kept as a placement is", func(k int) *v1.Pod { return web(k).Request("cpu=100").Obj() }, nil},
	}, func(t *testing.T, c test) {
		var o cluster.Objects
		for k := range 60 {
			o.Nodes = append(o.Nodes, testkit.Node(fmt.Sprintf("n%d", k)).Zone(string(rune('a'+k%3))).Label("disk", []string{"ssd", "hdd"}[k%2]).
				Capacity("cpu=16,memory=32Gi,pods=110").Image(500<<20, "app:v1").Obj())
		}
		s, err := cluster.New(o)
		require.NoError(t, err)
		calls := asked{}
		p, err := NewPlacer(s, calls.profile())
		require.NoError(t, err)
		var before asked
		for k := range 40 {
			if k == 4 {
				require.NotEmpty(t, calls)
				before = maps.Clone(calls)
			}
			pod := c.pod(k)
			if d := p.Decide(pod, Options{}); d.Placed() {
				require.NoError(t, p.Assume(pod, d))
			}
		}
		for _, name := range c.each {
			require.Equal(t, before[name]+36, calls[name], name)
			before[name] = calls[name]
		}
		require.Equal(t, before, calls)
	})
}
