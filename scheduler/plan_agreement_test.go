package scheduler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/queue"
)

// onlooker is a user's plugin that decides nothing. A profile with the onlooker has no plan, so the scheduler calls every
// plugin.
type onlooker struct{}

func (onlooker) Name() string                                               { return "Onlooker" }
func (onlooker) EventsToRegister() ([]queue.Registration, error)            { return nil, nil }
func (onlooker) Filter(context.Context, *State, *v1.Pod, *NodeInfo) *Status { return nil }

// randomRig makes a random cluster that is partly full, and pending pods. Equal seeds make equal rigs.
func randomRig(t *testing.T, seed uint64, slow bool) *rig {
	o := Options{}
	if slow {
		o.Plugins = Registry{"Onlooker": func(any, *Handle) (Plugin, error) { return onlooker{}, nil }}
		o.Profiles = []Profile{{Plugins: Plugins{Filter: {Enabled: []PluginRef{{Name: "Onlooker"}}}}}}
	}
	return randomRigOf(t, seed, o, nil)
}

// randomRigOf is randomRig with options. change, if not nil, changes the nodes and the pending pods first.
func randomRigOf(t *testing.T, seed uint64, o Options, change func(r interface{ IntN(int) int }, nodes []*v1.Node, waiting []*v1.Pod)) *rig {
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	var nodes []*v1.Node
	for k := range 3 + r.IntN(9) {
		b := testkit.Node(fmt.Sprintf("n%02d", k)).Zone(pick("a", "b", "c")).Capacity("cpu=" + pick("2", "4", "8") + ",memory=8Gi,pods=" + pick("2", "6", "20"))
		if r.IntN(4) == 0 {
			b = b.Label("disk", "ssd")
		}
		switch r.IntN(8) {
		case 0:
			b = b.Taint("dedicated=x:NoSchedule")
		case 1:
			b = b.Taint("soft=x:PreferNoSchedule")
		case 2:
			b = b.Unschedulable()
		}
		nodes = append(nodes, b.Obj())
	}
	random := func(name string) testkit.PodBuilder {
		b := testkit.Pod("default/" + name).Priority(int32(r.IntN(4) * 10)).Labels("app=" + pick("web", "db", "q")).Request("cpu=" + pick("500m", "1", "2") + ",memory=" + pick("256Mi", "1Gi"))
		switch r.IntN(10) {
		case 0:
			b = b.RequireApart("topology.kubernetes.io/zone", "app="+pick("web", "q"))
		case 1:
			b = b.RequireApart("kubernetes.io/hostname", "app="+pick("web", "q"))
		case 2:
			b = b.RequireWith("topology.kubernetes.io/zone", "app="+pick("web", "db"))
		case 3:
			b = b.Spread(1, "topology.kubernetes.io/zone", v1.DoNotSchedule, "app=web")
		case 4:
			b = b.Spread(1, "kubernetes.io/hostname", v1.ScheduleAnyway, "app=web")
		case 5:
			b = b.NodeSelector("disk=ssd")
		case 6:
			b = b.HostPort("", v1.ProtocolTCP, 80)
		case 7:
			b = b.PreferWith(10, "topology.kubernetes.io/zone", "app=db")
		}
		return b
	}
	var running, waiting []*v1.Pod
	for k := range r.IntN(25) {
		p := random(fmt.Sprintf("r%02d", k)).On(nodes[r.IntN(len(nodes))].Name).Obj()
		running = append(running, p)
	}
	for k := range 5 + r.IntN(20) {
		p := random(fmt.Sprintf("w%02d", k)).Obj()
		if r.IntN(5) == 0 {
			p.Status.NominatedNodeName = nodes[r.IntN(len(nodes))].Name
		}
		if r.IntN(8) == 0 {
			p.Spec.Affinity = named(nodes[r.IntN(len(nodes))].Name, nodes[r.IntN(len(nodes))].Name)
		}
		waiting = append(waiting, p)
	}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	budget.Status.DisruptionsAllowed = int32(r.IntN(2))
	if change != nil {
		change(r, nodes, waiting)
	}
	out := newRig(t, o, nodes, running...)
	out.s.Set(nil, budget)
	return out.add(waiting...)
}

// named is an affinity to nodes by name. PreFilter leaves the other nodes out.
func named(names ...string) *v1.Affinity {
	var terms []v1.NodeSelectorTerm
	for _, name := range names {
		terms = append(terms, v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{name}}}})
	}
	return &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: terms}}}
}

// The plan, with its reuse, and the single plugins decide the same: nodes, scores, messages, victims, and every move of the
// queue. No node is ever over its capacity.
func TestPlanAndPluginsAgree(t *testing.T) {
	preempted := 0
	for seed := range uint64(60) {
		fast, slow := randomRig(t, seed, false), randomRig(t, seed, true)
		require.NotNil(t, fast.framework().plan)
		require.Nil(t, slow.framework().plan)
		for range 200 {
			a, b := fast.step(), slow.step()
			require.Equal(t, strip(fast.results), strip(slow.results), "seed %d", seed)
			require.Equal(t, fast.moves, slow.moves, "seed %d", seed)
			require.Equal(t, a, b, "seed %d", seed)
			if !a {
				break
			}
			if fast.last().Nominated != "" {
				preempted++
			}
		}
		require.Equal(t, strip(fast.results), strip(slow.results), "seed %d", seed)
		require.Equal(t, fast.moves, slow.moves, "seed %d", seed)
		require.Equal(t, fast.patches, slow.patches, "seed %d", seed)
		require.Equal(t, fast.deleted, slow.deleted, "seed %d", seed)
		require.Empty(t, fast.errs)
		before := map[string]int64{} // the random pods of the start may ask for more than a node has
		randomRig(t, seed, false).s.View(func(c *cluster.Snapshot) {
			for _, i := range c.Order() {
				before[c.Node(int(i)).Name] = c.Requested(int(i))[0]
			}
		})
		fast.s.View(func(c *cluster.Snapshot) {
			for _, i := range c.Order() {
				name := c.Node(int(i)).Name
				require.LessOrEqual(t, c.Requested(int(i))[0], max(c.Allocatable(int(i))[0], before[name]), "seed %d: %s", seed, name)
			}
		})
	}
	require.Greater(t, preempted, 30, "preemption is in play")
}

func strip(list []Result) []string {
	var out []string
	for _, r := range list {
		var victims []string
		for _, v := range r.Victims {
			victims = append(victims, v.Name)
		}
		out = append(out, fmt.Sprint(r.Pod.Name, r.Outcome, r.Node, r.Message, r.Nominated, victims, r.Feasible, r.Evaluated, r.Total))
	}
	return out
}
