package packing

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// modelOf returns the model of an input and the profile that decides.
func modelOf(t *testing.T, o cluster.Objects, in Input) (*model, *Input, placement.Profile) {
	var err error
	in.Snapshot, err = cluster.New(o)
	require.NoError(t, err)
	in.Now = testkit.Epoch
	profile, queue, err := in.check(Options{})
	require.NoError(t, err)
	m := newModel(&in, profile, queue, nil)
	return m, &in, profile
}

// names returns the nodes of positions by pod.
func (m *model) names(in *Input, at []int) map[string]string {
	out := map[string]string{}
	for k, i := range at {
		if out[m.items[k].pod.Name] = ""; i >= 0 {
			out[m.items[k].pod.Name] = in.Snapshot.Node(i).Name
		}
	}
	return out
}

// slotsOf returns the positions for nodes by pod; -1 for a pod without a node.
func (m *model) slotsOf(in *Input, names map[string]string) []int {
	out := make([]int, len(m.items))
	for k := range m.items {
		out[k] = in.Snapshot.Slot(names[m.items[k].pod.Name])
	}
	return out
}

func nodeOf(name, zone string, cpu int) *v1.Node {
	return testkit.Node(name).Zone(zone).Capacity(fmt.Sprintf("cpu=%d", cpu)).Obj()
}

func podOf(name string, priority int32, cpu int) testkit.PodBuilder {
	return testkit.Pod(name).Priority(priority).Labels("app=" + name).Request(fmt.Sprintf("cpu=%d", cpu))
}

// What kube-scheduler does alone. An eviction against a budget counts although the pod comes home later.
func TestPlay(t *testing.T) {
	budgets := func(apps map[string]int32) (out []*policyv1.PodDisruptionBudget) {
		for app, n := range apps {
			out = append(out, &policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app}, Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: n},
				Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
			})
		}
		return out
	}
	type test struct {
		name, why string
		nodes     []*v1.Node
		running   []*v1.Pod
		pending   []*v1.Pod
		budgets   map[string]int32
		want      map[string]string
		broken    bool
	}
	one := []*v1.Node{nodeOf("n1", "a", 10)}
	gated := func(p *v1.Pod) *v1.Pod {
		p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "wait"}}
		return p
	}
	testkit.Run(t, []test{
		{"comes home", "wants evicts v, so that key gets its place and later evicts wants; v has room at home again",
			[]*v1.Node{nodeOf("n1", "a", 10), nodeOf("n2", "a", 1)}, []*v1.Pod{podOf("v", 0, 2).On("n1").Obj(), podOf("w", 5, 6).On("n1").Obj()},
			[]*v1.Pod{podOf("key", 30, 1).RequireWith(v1.LabelTopologyZone, "app=wants").Obj(), podOf("later", 20, 2).RequireWith(v1.LabelTopologyZone, "app=key").Obj(), podOf("wants", 4, 4).Obj()},
			map[string]int32{"v": 0}, map[string]string{"v": "n1", "w": "n1", "later": "n1", "key": "n2", "wants": ""}, true},
		{"a budget that allows it", "v may leave", one, []*v1.Pod{podOf("v", 0, 8).On("n1").Obj()}, []*v1.Pod{podOf("p", 5, 4).Obj()},
			map[string]int32{"v": 1}, map[string]string{"v": "", "p": "n1"}, false},
		{"a budget against it", "v must not leave", one, []*v1.Pod{podOf("v", 0, 8).On("n1").Obj()}, []*v1.Pod{podOf("p", 5, 4).Obj()},
			map[string]int32{"v": 0}, map[string]string{"v": "", "p": "n1"}, true},
		{"one by one", "each preemption evicts one pod, as the budget allows, but both together do not",
			[]*v1.Node{nodeOf("n1", "a", 4), nodeOf("n2", "a", 4)}, []*v1.Pod{podOf("v", 0, 4).On("n1").Obj(), podOf("x", 0, 4).Labels("app=v").On("n2").Obj()},
			[]*v1.Pod{podOf("p", 5, 4).Obj(), podOf("q", 5, 4).Obj()}, map[string]int32{"v": 1}, map[string]string{"v": "", "x": "", "p": "n1", "q": "n2"}, true},
		{"the nominated node", "v keeps p out of zone a; n1 is where it leaves, although n2 has more room then",
			[]*v1.Node{nodeOf("n1", "a", 10), nodeOf("n2", "a", 10)}, []*v1.Pod{podOf("w", 9, 4).On("n1").Obj(), podOf("v", 0, 2).RequireApart(v1.LabelTopologyZone, "app=p").On("n1").Obj()},
			[]*v1.Pod{podOf("p", 5, 2).Obj()}, nil, map[string]string{"w": "n1", "v": "", "p": "n1"}, false},
		{"waits for another", "first needs second, which comes after it, and is tried again", one, nil,
			[]*v1.Pod{podOf("first", 9, 1).RequireWith(v1.LabelHostname, "app=second").Obj(), podOf("second", 1, 1).Obj()}, nil,
			map[string]string{"first": "n1", "second": "n1"}, false},
		{"a nominated pod", "p goes where it is nominated, not to the emptier n1", []*v1.Node{nodeOf("n1", "a", 4), nodeOf("n2", "a", 2)}, nil,
			[]*v1.Pod{podOf("p", 10, 1).Nominated("n2").Obj(), podOf("q", 0, 4).Obj()}, nil, map[string]string{"p": "n2", "q": "n1"}, false},
		{"room for a nominated pod", "p is as important as q and comes after it; q leaves n1 to p", []*v1.Node{nodeOf("n1", "a", 4), nodeOf("n2", "a", 2)}, nil,
			[]*v1.Pod{podOf("q", 10, 2).Obj(), podOf("p", 10, 4).Nominated("n1").Obj()}, nil, map[string]string{"q": "n2", "p": "n1"}, false},
		{"no room for lower pods", "p of lower priority holds nothing against q", one, nil,
			[]*v1.Pod{podOf("q", 10, 6).Obj(), podOf("p", 5, 6).Nominated("n1").Obj()}, nil, map[string]string{"q": "n1", "p": ""}, false},
		{"a nomination that does not help", "no pod can leave for p, which loses its nomination, so that q gets n1", one, []*v1.Pod{podOf("w", 20, 2).On("n1").Obj()},
			[]*v1.Pod{podOf("p", 10, 9).Nominated("n1").Obj(), podOf("q", 10, 8).Obj()}, nil, map[string]string{"w": "n1", "p": "", "q": "n1"}, false},
		{"a nomination that is taken", "p preempts on n1; q of lower priority loses n1 and goes to n2", []*v1.Node{nodeOf("n1", "a", 4), nodeOf("n2", "a", 2)},
			[]*v1.Pod{podOf("v", 0, 3).On("n1").Obj()}, []*v1.Pod{podOf("p", 10, 4).Obj(), podOf("q", 5, 2).Nominated("n1").Obj()}, nil,
			map[string]string{"v": "", "p": "n1", "q": "n2"}, false},
		{"a gated pod", "holds no room", one, nil, []*v1.Pod{podOf("q", 0, 8).Obj(), gated(podOf("p", 0, 8).Nominated("n1").Obj())}, nil,
			map[string]string{"q": "n1", "p": ""}, false},
	}, func(t *testing.T, c test) {
		m, in, profile := modelOf(t, cluster.Objects{Nodes: c.nodes, Pods: c.running, PodDisruptionBudgets: budgets(c.budgets)}, Input{Pending: c.pending})
		at, broken := m.play(in, profile, nil)
		require.Equal(t, c.want, m.names(in, at), c.why)
		require.Equal(t, c.broken, broken, c.why)
	})
}

// A search for nodes begins where the last one ended. Without scores that is the first node with room.
func TestPlayGoesOn(t *testing.T) {
	o := cluster.Objects{}
	for k := range 3 {
		o.Nodes = append(o.Nodes, nodeOf(fmt.Sprintf("n%d", k), "a", 4))
	}
	profile := placement.DefaultProfile()
	profile.Scores = nil
	m, in, profile := modelOf(t, o, Input{Profile: profile, Pending: []*v1.Pod{podOf("p", 1, 1).Obj(), podOf("q", 1, 1).Obj()}})
	at, _ := m.play(in, profile, nil)
	require.Equal(t, []int{0, 1}, at)
}

// A pod whose attempt fails with an error evicts nobody.
func TestPlayOfError(t *testing.T) {
	profile := placement.DefaultProfile()
	profile.Filters = append(profile.Filters[:len(profile.Filters):len(profile.Filters)], &placement.Plugin{Name: "Fails", Filter: func(pod *v1.Pod, _ placement.Cluster) placement.PreFiltered {
		if pod.Name == "p" {
			return placement.PreFiltered{Code: filter.Error, Reasons: []string{errors.New("out of order").Error()}}
		}
		return placement.PreFiltered{Code: filter.Skip}
	}})
	m, in, profile := modelOf(t, cluster.Objects{Nodes: []*v1.Node{nodeOf("n1", "a", 4)}, Pods: []*v1.Pod{podOf("v", 0, 4).On("n1").Obj()}},
		Input{Profile: profile, Pending: []*v1.Pod{podOf("p", 9, 4).Obj()}})
	at, broken := m.play(in, profile, nil)
	require.Equal(t, map[string]string{"v": "n1", "p": ""}, m.names(in, at))
	require.False(t, broken)
}

// The pods go to the nodes that the search found, in an order that the filters allow. A pod whose node refuses it goes where it can.
func TestCarryOut(t *testing.T) {
	type test struct {
		name, why string
		nodes     []*v1.Node
		running   []*v1.Pod
		pending   []*v1.Pod
		want      map[string]string // that the search found
		got       map[string]string // nil: the same
		turns     []string
		refused   int
	}
	two := []*v1.Node{nodeOf("n1", "a", 4), nodeOf("n2", "b", 4)}
	spread := func(name string) *v1.Pod {
		return podOf(name, 1, 1).Labels("app=s").Spread(1, v1.LabelTopologyZone, v1.DoNotSchedule, "app=s").Obj()
	}
	testkit.Run(t, []test{
		{"waits", "zone a has a pod more already: p may go there once q is in zone b, and does not go to zone b itself", two,
			[]*v1.Pod{podOf("s", 1, 1).Labels("app=s").On("n1").Obj()}, []*v1.Pod{spread("p"), spread("q")}, map[string]string{"s": "n1", "p": "n1", "q": "n2"}, nil, []string{"q", "p"}, 0},
		{"needs the next", "each needs the pod that comes after it", two, nil,
			[]*v1.Pod{podOf("x", 1, 1).RequireWith(v1.LabelHostname, "app=y").Obj(), podOf("y", 1, 1).RequireWith(v1.LabelHostname, "app=z").Obj(), podOf("z", 1, 1).Obj(), podOf("other", 1, 1).Obj()},
			map[string]string{"x": "n1", "y": "n1", "z": "n1", "other": "n2"}, nil, []string{"z", "other", "y", "x"}, 0},
		{"refused", "n1 has no room for p, and n2 has", two, []*v1.Pod{podOf("full", 1, 4).On("n1").Obj()}, []*v1.Pod{podOf("p", 1, 2).Obj()},
			map[string]string{"full": "n1", "p": "n1"}, map[string]string{"full": "n1", "p": "n2"}, []string{"p"}, 1},
		{"refused everywhere", "no node has room for p", two, []*v1.Pod{podOf("full", 1, 4).On("n1").Obj()}, []*v1.Pod{podOf("p", 1, 5).Obj(), podOf("q", 1, 1).Obj()},
			map[string]string{"full": "n1", "p": "n1", "q": "n2"}, map[string]string{"full": "n1", "p": "", "q": "n2"}, []string{"q"}, 1},
		{"a move", "full goes before p comes", two, []*v1.Pod{podOf("full", 1, 4).On("n1").Obj()}, []*v1.Pod{podOf("p", 9, 2).Obj()},
			map[string]string{"full": "n2", "p": "n1"}, nil, []string{"p", "full"}, 0},
		{"an eviction", "full leaves", two, []*v1.Pod{podOf("full", 1, 4).On("n1").Obj()}, []*v1.Pod{podOf("p", 9, 2).Obj()}, map[string]string{"full": "", "p": "n1"}, nil, []string{"p"}, 0},
	}, func(t *testing.T, c test) {
		m, in, profile := modelOf(t, cluster.Objects{Nodes: c.nodes, Pods: c.running}, Input{Pending: c.pending})
		var p Plan
		at := m.carryOut(in, profile, m.slotsOf(in, c.want), &p)
		if c.got == nil {
			c.got = c.want
		}
		require.Equal(t, m.slotsOf(in, c.got), at, c.why)
		var turns []string
		for _, k := range m.turns {
			turns = append(turns, m.items[k].pod.Name)
		}
		require.Equal(t, c.turns, turns, c.why)
		require.Equal(t, c.refused, p.Refused, c.why)
	})
}
