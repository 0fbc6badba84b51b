package diagnose

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// Where no node has the labels that a pod wants, nodes that have them come before an edit that gives them up: like the nodes that lack the
// fewest of them. Nobody buys a node for a label that looks like a typing error, or for a name.
func TestNodesWithTheWantedLabels(t *testing.T) {
	node := func(name, labels string) *v1.Node {
		b := testkit.Node(name).Label(v1.LabelHostname, name).Capacity("cpu=4,pods=10")
		for _, l := range strings.Fields(labels) {
			key, value, _ := strings.Cut(l, "=")
			b = b.Label(key, value)
		}
		return b.Obj()
	}
	affinity := func(key string, op v1.NodeSelectorOperator, values ...string) *v1.Pod {
		p := testkit.Pod("p").Obj()
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
			{MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}}}}}
		return p
	}
	zone := v1.LabelTopologyZone
	type test struct {
		name  string
		nodes []*v1.Node
		pod   *v1.Pod
		first string
	}
	testkit.Run(t, []test{
		{"a zone without nodes", []*v1.Node{node("a", zone+"=z-a pool=db"), node("b", zone+"=z-b")}, testkit.Pod("p").NodeSelector("pool=db," + zone + "=z-c").Obj(),
			"add a node like a, but with topology.kubernetes.io/zone=z-c (pool db): then it runs there"},
		{"another pool", []*v1.Node{node("a", "pool=db")}, testkit.Pod("p").NodeSelector("pool=web").Obj(), "add a node like a, but with pool=web: then it runs there"},
		{"one of several values", []*v1.Node{node("a", "")}, affinity(zone, v1.NodeSelectorOpIn, "z-c", "z-d"), "add a node like a, but with topology.kubernetes.io/zone=z-c: then it runs there"},
		{"any value", []*v1.Node{node("a", "")}, affinity("gpu", v1.NodeSelectorOpExists), `add a node like a, but with gpu="": then it runs there`},
		{"no value", []*v1.Node{node("a", "spot=yes")}, affinity("spot", v1.NodeSelectorOpDoesNotExist), "add a node like a, but without spot: then it runs there"},
		{"a typing error", []*v1.Node{node("a", "pool=database")}, testkit.Pod("p").NodeSelector("pool=databse").Obj(), "Pod default/p, made again: did you mean pool=database? (spec.nodeSelector[pool] has pool=databse): then it goes to a"},
		{"a typing error of two values", []*v1.Node{node("a", "pool=database"), node("b", "pool=databases")}, testkit.Pod("p").NodeSelector("pool=databasee").Obj(),
			"Pod default/p, made again: drop spec.nodeSelector[pool] (pool=databasee): then it goes to a"},
		{"the name of a node", []*v1.Node{node("a", "")}, testkit.Pod("p").NodeSelector(v1.LabelHostname + "=gone").Obj(),
			"Pod default/p, made again: drop spec.nodeSelector[kubernetes.io/hostname] (kubernetes.io/hostname=gone): then it goes to a"},
		{"a comparison", []*v1.Node{node("a", "mem=8")}, affinity("mem", v1.NodeSelectorOpGt, "32"),
			"Pod default/p, made again: make " + requiredNodeAffinity + " a preference (1 terms): then it goes to a"},
	}, func(t *testing.T, c test) {
		d := relax(t, cluster.Objects{Nodes: c.nodes}, c.pod, Options{})
		require.NotEmpty(t, d.Remedies)
		require.Equal(t, c.first, d.Remedies[0].Text)
	})
}

// Where pools that the pod is not meant for have all nodes, an open node is one like theirs without the taint. Marks of maintenance pass, and a
// pod that may tolerate the taint does that.
func TestOpenNodes(t *testing.T) {
	node := func(name string, taints ...string) *v1.Node {
		b := testkit.Node(name).Label(v1.LabelHostname, name).Capacity("cpu=4,pods=10,nvidia.com/gpu=2")
		for _, x := range taints {
			b = b.Taint(x)
		}
		return b.Obj()
	}
	type test struct {
		name  string
		nodes []*v1.Node
		pod   *v1.Pod
		do    string
	}
	testkit.Run(t, []test{
		{"one pool", []*v1.Node{node("a", "dedicated=x:NoSchedule"), node("b", "dedicated=x:NoSchedule")}, testkit.Pod("p").Obj(), "add a node like a, but without the taint dedicated=x: then it runs there"},
		{"devices", []*v1.Node{node("a", "nvidia.com/gpu=present:NoSchedule")}, testkit.Pod("p").Request("cpu=9").Obj(),
			"add a node like a, but with cpu 9 or more and without the taint nvidia.com/gpu=present: then it runs there"},
		{"control plane", []*v1.Node{node("a", roleControlPlane+":NoSchedule")}, testkit.Pod("p").Obj(), "add a node like a, but without the taint " + roleControlPlane + ": then it runs there | Node a: remove the taint " + roleControlPlane + ":NoSchedule: then it goes to a"},
		{"meant for the pool", []*v1.Node{node("a", "nvidia.com/gpu=present:NoSchedule")}, testkit.Pod("p").Request("nvidia.com/gpu=1").Obj(), "Pod default/p: tolerate nvidia.com/gpu:NoSchedule (operator Exists): then it goes to a"},
		{"maintenance", []*v1.Node{node("a", "maintenance=scheduled:NoSchedule"), node("b", "maintenance=scheduled:NoSchedule")}, testkit.Pod("p").Obj(),
			"Node a: remove the taint maintenance=scheduled:NoSchedule, if it is over (1 more node is alike): then it goes to a | add a node like a: then it runs there"},
		{"an open node is full", []*v1.Node{node("a", "dedicated=x:NoSchedule"), node("b")}, testkit.Pod("p").Request("cpu=2").Obj(),
			"add a node like b: then it runs there | Node a: remove the taint dedicated=x:NoSchedule, if it is over: then it goes to a"},
	}, func(t *testing.T, c test) {
		o := cluster.Objects{Nodes: c.nodes}
		if c.name == "an open node is full" {
			o.Pods = []*v1.Pod{testkit.Pod("full").On("b").Request("cpu=4").Obj()}
		}
		require.Equal(t, c.do, strings.Join(relax(t, o, c.pod, Options{}).Advice(), " | "))
	})
}

// For programs an added node has what differs from its model.
func TestWhatAnAddedNodeIs(t *testing.T) {
	n := testkit.Node("a").Label("pool", "small").Capacity("cpu=4,memory=8Gi,pods=10").Taint("dedicated=x:NoSchedule").Obj()
	of := func(pod *v1.Pod) Change {
		return relax(t, cluster.Objects{Nodes: []*v1.Node{n}}, pod, Options{}).Remedies[0].Changes[0]
	}
	c := of(testkit.Pod("p").Request("cpu=9").Obj())
	require.Equal(t, []any{AddNode, []string{"dedicated=x:NoSchedule"}, map[v1.ResourceName]string{"cpu": "9"}, map[string]string(nil)}, []any{c.Kind, c.Without, c.Least, c.Labels})
	c = of(testkit.Pod("p").NodeSelector("pool=large").Tolerate("dedicated", v1.TolerationOpEqual, "x", v1.TaintEffectNoSchedule).Obj())
	require.Equal(t, []any{AddNode, []string(nil), map[v1.ResourceName]string(nil), map[string]string{"pool": "large"}}, []any{c.Kind, c.Without, c.Least, c.Labels})
}

// A pod that is meant for a closed pool is not sent elsewhere. A node more needs no other change beside it when a node alone helps, and two sets
// that differ in the model of the node are one line.
func TestOnePoolAndOneLine(t *testing.T) {
	gpu := testkit.Node("g").Label("pool", "gpu").Capacity("cpu=4,pods=10,nvidia.com/gpu=2").Taint("nvidia.com/gpu=present:NoSchedule").Obj()
	open := testkit.Node("a").Label("pool", "general").Capacity("cpu=4,pods=10").Obj()
	busy := testkit.Pod("busy").On("g").Request("cpu=4").Obj()
	d := relax(t, cluster.Objects{Nodes: []*v1.Node{gpu, open}, Pods: []*v1.Pod{busy}}, testkit.Pod("p").NodeSelector("pool=gpu").Request("cpu=2").Obj(), Options{})
	require.Equal(t, causeMeant, d.Cause.Type)
	require.Equal(t, []string{"Pod default/p: tolerate nvidia.com/gpu:NoSchedule (operator Exists); add a node like g: then it goes to g-more"}, d.Advice())

	small, large := testkit.Node("s").Capacity("cpu=2,pods=10").Obj(), testkit.Node("l").Capacity("cpu=4,pods=10").Obj()
	full := []*v1.Pod{testkit.Pod("s1").On("s").Request("cpu=2").Obj(), testkit.Pod("l1").On("l").Request("cpu=4").Obj()}
	d = relax(t, cluster.Objects{Nodes: []*v1.Node{small, large}, Pods: full}, testkit.Pod("p").Request("cpu=3").Obj(), Options{})
	require.Equal(t, []string{"add a node like l: then it runs there"}, d.Advice())
	gated := testkit.Pod("p").Request("cpu=2").Obj()
	gated.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/hold"}}
	d = relax(t, cluster.Objects{Nodes: []*v1.Node{small, large}, Pods: full}, gated, Options{})
	require.Equal(t, []string{"Pod default/p: drop spec.schedulingGates (example.com/hold); add a node like s: then it goes to s-more"}, d.Advice())
}

// No remedy leaves less than half of what a pod, or its claim, asks for, whatever the cause is. It is left out with this reason.
func TestHalf(t *testing.T) {
	node := testkit.Node("a").Label(v1.LabelHostname, "a").Capacity("cpu=4,pods=10").Obj()
	near := func() testkit.PodBuilder { return testkit.Pod("p").RequireWith(v1.LabelHostname, "app=db") }
	db := testkit.Pod("db").Labels("app=db").On("a").Request("cpu=3").Obj()
	type test struct {
		name string
		pod  *v1.Pod
		want string // a remedy has it; "" when none does
	}
	testkit.Run(t, []test{
		{"larger than any node", testkit.Pod("p").Request("cpu=9").Obj(), ""},
		{"half fits", testkit.Pod("p").Request("cpu=2").Obj(), "requests.cpu from 2 to 1"},
		{"less than half fits", testkit.Pod("p").Request("cpu=2100m").Obj(), ""},
		{"beside another pod, half fits", near().Request("cpu=2").Obj(), "requests.cpu from 2 to 1"},
		{"beside another pod, less than half fits", near().Request("cpu=2100m").Obj(), ""},
	}, func(t *testing.T, c test) {
		d := relax(t, cluster.Objects{Nodes: []*v1.Node{node}, Pods: []*v1.Pod{db}}, c.pod, Options{})
		text := strings.Join(d.Advice(), " | ")
		if c.want != "" {
			require.Contains(t, text, c.want)
			return
		}
		require.NotContains(t, text, "requests.cpu")
		rules := map[string]bool{}
		for _, x := range d.Dropped {
			rules[x.Rule] = true
		}
		require.True(t, rules[whyHalf], "%v", d.Dropped)
	})
}
