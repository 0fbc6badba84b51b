package diagnose

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	volumetracker "github.com/podberth/podberth/volumes/tracker"
)

const zone = v1.LabelTopologyZone

func five() []*v1.Node {
	var out []*v1.Node
	for i, z := range []string{"a", "a", "b", "b", "c"} {
		out = append(out, testkit.Node("n"+string(rune('1'+i))).Zone(z).Capacity("cpu=4,memory=8Gi").Obj())
	}
	return out
}

func relax(t *testing.T, o cluster.Objects, pod *v1.Pod, options Options) *Diagnosis {
	t.Helper()
	s, err := cluster.New(o)
	require.NoError(t, err)
	d, err := Relax(Input{Snapshot: s}, pod, options)
	require.NoError(t, err)
	return d
}

func running(name, node, requests string) *v1.Pod {
	return testkit.Pod(name).On(node).Labels("app=" + name[:1]).Request(requests).Obj()
}

// Each kind of change is found, with the value that works.
func TestRelax(t *testing.T) {
	full := func() (pods []*v1.Pod) {
		for _, n := range []string{"1", "2", "3", "4", "5"} {
			pods = append(pods, running("a"+n, "n"+n, "cpu=3"))
		}
		return pods
	}
	tainted := five()
	for _, n := range tainted {
		n.Spec.Taints = testkit.Taints("team=x:NoSchedule")
		n.Labels["team"] = "x"
	}
	marked := five()
	marked[0].Spec.Taints, marked[1].Spec.Taints = testkit.Taints("team=x:NoSchedule"), testkit.Taints("team=x:NoSchedule")
	marked[3].Labels["disk"] = "ssd"
	cordoned := five()
	for _, n := range cordoned {
		n.Spec.Unschedulable = true
	}
	minDomains := testkit.Pod("a").Labels("app=a").Spread(1, zone, v1.DoNotSchedule, "app=a").Obj()
	minDomains.Spec.TopologySpreadConstraints[0].MinDomains = new(int32)
	*minDomains.Spec.TopologySpreadConstraints[0].MinDomains = 5
	gated := testkit.Pod("gated").Obj()
	gated.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/wait"}}
	gatedTwo := testkit.Pod("gated").Request("cpu=2").Obj()
	gatedTwo.Spec.SchedulingGates = gated.Spec.SchedulingGates
	type test struct {
		name    string
		nodes   []*v1.Node
		pods    []*v1.Pod
		pod     *v1.Pod
		options Options
		want    string // relaxations, one a line
	}
	testkit.Run(t, []test{
		{"fits", five(), nil, testkit.Pod("web").Request("cpu=1").Obj(), Options{}, ""},
		{"request", five(), full(), testkit.Pod("web").Request("cpu=2500m").Obj(), Options{Nodes: -1}, "Pod default/web: requests.cpu from 2500m to 1"},
		{"two requests", five(), full(), testkit.Pod("web").Request("cpu=2,memory=9Gi").Obj(), Options{Nodes: -1},
			"Pod default/web: requests.cpu from 2 to 1; requests.memory from 9Gi to 8Gi"},
		{"taint of a pool", tainted, nil, testkit.Pod("web").NodeSelector("team=x").Obj(), Options{}, "Pod default/web: tolerate team=x:NoSchedule"},
		{"taint of some nodes", marked, nil, testkit.Pod("web").NodeSelector(v1.LabelHostname + "=n1").Obj(), Options{Size: 1, Cost: only(Untaint)},
			"Node n1: remove the taint team=x:NoSchedule, if it is over"},
		{"cordoned", cordoned, nil, testkit.Pod("web").Obj(), Options{}, "Node n1: uncordon, if its maintenance is over (4 more nodes are alike)\nadd a node like n1\nadd a node like n3\nadd a node like n5"},
		{"selector", five(), nil, testkit.Pod("web").NodeSelector("disk=ssd").Obj(), Options{},
			"Pod default/web, made again: drop spec.nodeSelector[disk] (disk=ssd)\nadd a node like n1, but with disk=ssd\nadd a node like n3, but with disk=ssd\nadd a node like n5, but with disk=ssd"},
		{"pods in the way", five()[:1], full()[:1], testkit.Pod("web").Request("cpu=2").Obj(), Options{Cost: only(RemovePods, AddNode)},
			"remove default/a1 from n1\nadd a node like n1"},
		{"maxSkew", []*v1.Node{five()[0], five()[2]}, []*v1.Pod{running("a1", "n1", "cpu=1"), running("a2", "n1", "cpu=1"), running("b1", "n3", "cpu=4")},
			testkit.Pod("a").Labels("app=a").Request("cpu=1").Spread(1, zone, v1.DoNotSchedule, "app=a").Obj(), Options{Cost: only(RaiseMaxSkew)},
			"Pod default/a, made again: spec.topologySpreadConstraints[0].maxSkew from 1 to 3"},
		{"minDomains", five(), []*v1.Pod{running("a1", "n1", "cpu=1"), running("a2", "n3", "cpu=1"), running("a3", "n5", "cpu=1")}, minDomains, Options{Nodes: -1},
			"Pod default/a, made again: spec.topologySpreadConstraints[0].maxSkew from 1 to 2\nPod default/a, made again: spec.topologySpreadConstraints[0].minDomains from 5 to 3\nPod default/a, made again: make spec.topologySpreadConstraints[0].whenUnsatisfiable a preference (topologyKey topology.kubernetes.io/zone)"},
		{"anti-affinity", five()[:2], []*v1.Pod{running("a1", "n1", "cpu=1"), running("a2", "n2", "cpu=1")}, testkit.Pod("a3").Labels("app=a").RequireApart(v1.LabelHostname, "app=a").Obj(), Options{},
			"Pod default/a3, made again: make spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0] a preference (topologyKey kubernetes.io/hostname)\nmove default/a1 from n1 to n2 (1 more node is alike)\nadd a node like n1"},
		{"gate", five(), nil, gated, Options{}, "Pod default/gated: drop spec.schedulingGates (example.com/wait)"},
		{"gate and pods in the way", five()[:1], full()[:1], gatedTwo, Options{Cost: only(DropGate, RemovePods)},
			"Pod default/gated: drop spec.schedulingGates (example.com/wait); remove default/a1 from n1"},
		{"port", five()[:1], []*v1.Pod{testkit.Pod("p1").On("n1").HostPort("", v1.ProtocolTCP, 80).Obj()}, testkit.Pod("web").HostPort("", v1.ProtocolTCP, 80).Obj(), Options{Nodes: -1},
			"Pod default/web, made again: drop spec.containers[0].ports[0].hostPort (80)"},
		{"where", five(), nil, testkit.Pod("web").NodeSelector(zone + "=a").Obj(), Options{Where: func(n *v1.Node) bool { return n.Name == "n5" }, Nodes: -1},
			"Pod default/web, made again: drop spec.nodeSelector[topology.kubernetes.io/zone] (topology.kubernetes.io/zone=a)"},
	}, func(t *testing.T, c test) {
		testkit.Unchanged(t, func() {
			d := relax(t, cluster.Objects{Nodes: c.nodes, Pods: c.pods}, c.pod, c.options)
			var lines []string
			for _, r := range d.Relaxations {
				lines = append(lines, r.Text())
			}
			require.Equal(t, c.want, strings.Join(lines, "\n"))
			require.Equal(t, c.want == "", d.Node != "")
		}, append(c.pods, c.pod)...)
	})
}

func only(kinds ...Kind) func(c Change) int64 {
	return func(c Change) int64 {
		for _, k := range kinds {
			if c.Kind == k {
				return DefaultCost(c)
			}
		}
		return -1
	}
}

// Rules that cannot be met together are a conflict, and so is a single rule that no node meets.
func TestConflicts(t *testing.T) {
	nodes := five()
	nodes[4].Spec.Taints = testkit.Taints("team=x:NoSchedule")
	d := relax(t, cluster.Objects{Nodes: nodes}, testkit.Pod("web").NodeSelector(zone+"=c").Request("cpu=1").Obj(), Options{})
	require.Equal(t, [][]string{{"spec.nodeSelector[topology.kubernetes.io/zone]", "spec.tolerations"}}, d.Conflicts)
	d = relax(t, cluster.Objects{Nodes: nodes}, testkit.Pod("web").Request("cpu=9").Obj(), Options{})
	require.Equal(t, [][]string{{"requests.cpu"}}, d.Conflicts)
	nodes = five()
	for _, n := range nodes {
		n.Spec.Unschedulable = true
	}
	d = relax(t, cluster.Objects{Nodes: nodes}, testkit.Pod("web").Obj(), Options{})
	require.Equal(t, [][]string{{}}, d.Conflicts)
}

// Limits end the search and are named.
func TestCut(t *testing.T) {
	nodes := five()
	for _, n := range nodes {
		n.Spec.Taints = testkit.Taints("a:NoSchedule", "b:NoSchedule", "c:NoSchedule", "d:NoSchedule", "e:NoSchedule")
		n.Labels["pool"] = "x"
	}
	o := cluster.Objects{Nodes: append(nodes, testkit.Node("small").Obj())}
	meant := testkit.Pod("web").NodeSelector("pool=x").Request("cpu=1").Obj()
	require.Equal(t, "size", relax(t, o, meant, Options{}).Cut)
	require.Equal(t, "steps", relax(t, o, meant, Options{Steps: 30}).Cut)
	require.Equal(t, "stop", relax(t, o, meant, Options{Stop: func() bool { return true }}).Cut)
	// Each set is tried or counted: the sets that were tried before the end, and those left out, are as many whenever the search ends.
	all := relax(t, o, meant, Options{Stop: func() bool { return true }}).Untried
	for asks := 1; asks < 40; asks++ {
		left := asks
		d := relax(t, o, meant, Options{Stop: func() bool { left--; return left < 0 }})
		require.Empty(t, d.Relaxations)
		require.Equal(t, all-asks, d.Untried)
	}
	require.Zero(t, relax(t, o, meant, Options{}).Untried)
	for _, n := range nodes {
		n.Spec.Unschedulable = true
	}
	stopped := relax(t, o, meant, Options{Stop: func() bool { return true }})
	require.Equal(t, []any{"stop", [][]string{}}, []any{stopped.Cut, stopped.Conflicts}, "a search that is stopped knows no conflict")
	for _, n := range nodes {
		n.Spec.Unschedulable = false
	}
	whole := relax(t, o, meant, Options{Size: 10})
	require.Empty(t, whole.Cut)
	require.Len(t, whole.Relaxations, 1, "the pool keeps its taints, and the pod is meant for it")
}

// Each of three rules can give way alone, so the conflict has three rules: a search for smaller ones says that it may have missed some.
func TestCutOfConflicts(t *testing.T) {
	var o cluster.Objects
	for _, lacks := range []string{"a", "b", "c"} {
		n := testkit.Node("no-"+lacks).Label("a", "1").Label("b", "1").Label("c", "1").Capacity("cpu=1").Obj()
		delete(n.Labels, lacks)
		o.Nodes = append(o.Nodes, n)
	}
	for size, want := range map[int]*Diagnosis{
		1: {Cut: "size", Conflicts: [][]string{}}, 2: {Cut: "size", Conflicts: [][]string{}},
		3: {Conflicts: [][]string{{"spec.nodeSelector[a]", "spec.nodeSelector[b]", "spec.nodeSelector[c]"}}},
		4: {Conflicts: [][]string{{"spec.nodeSelector[a]", "spec.nodeSelector[b]", "spec.nodeSelector[c]"}}},
	} {
		d := relax(t, o, testkit.Pod("web").NodeSelector("a=1,b=1,c=1").Obj(), Options{Size: size, Nodes: -1})
		require.Len(t, d.Relaxations, 3)
		require.Equal(t, []any{want.Cut, want.Conflicts}, []any{d.Cut, d.Conflicts}, "sets of at most %d", size)
	}
}

// What is not a pending pod, or no cluster, is an error.
func TestBadInput(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: five(), Pods: []*v1.Pod{testkit.Pod("runs").On("n1").Obj()}})
	require.NoError(t, err)
	finished := testkit.Pod("done").Obj()
	finished.Status.Phase = v1.PodSucceeded
	type test struct {
		name string
		in   Input
		pod  *v1.Pod
		want string
	}
	testkit.Run(t, []test{
		{"no snapshot", Input{}, testkit.Pod("a").Obj(), "the input has no snapshot"},
		{"no pod", Input{Snapshot: s}, nil, "pod: Required value"},
		{"assigned", Input{Snapshot: s}, testkit.Pod("a").On("n1").Obj(), "spec.nodeName: Forbidden"},
		{"a pod of its name runs", Input{Snapshot: s}, testkit.Pod("runs").Obj(), "spec.nodeName: Forbidden"},
		{"volumes", Input{Snapshot: s, Profile: placement.Profile{Volumes: volumetracker.New(s, volumetracker.Of(s))}}, testkit.Pod("a").Obj(), "profile: Forbidden"},
		{"finished", Input{Snapshot: s}, finished, "status.phase: Forbidden"},
	}, func(t *testing.T, c test) {
		_, err := Relax(c.in, c.pod, Options{})
		require.ErrorContains(t, err, c.want)
	})
	none, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	d, err := Relax(Input{Snapshot: none}, testkit.Pod("a").Obj(), Options{})
	require.NoError(t, err)
	require.Empty(t, d.Relaxations)
	_, err = Apply(nil, testkit.Pod("a").Obj())
	require.ErrorIs(t, err, cluster.ErrNoSnapshot)
	_, err = Apply(s, nil)
	require.ErrorContains(t, err, "pod: Required value")
	_, err = Apply(s, testkit.Pod("a").Obj(), Change{Kind: Untaint})
	require.ErrorContains(t, err, "is no change of a Diagnosis")
	_, err = Apply(none, testkit.Pod("a").Obj(), Change{Kind: RemovePods, remove: []*v1.Pod{running("a1", "n1", "cpu=1")}, make: leave})
	require.Error(t, err, "the pod is not in the snapshot")
}

// The documentation's two constraints, on zone and on hostname, replica by replica: the sixth has no node, the two constraints
// are the conflict, and either of them alone can give way.
func TestSixthReplica(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: five()[:3]})
	require.NoError(t, err)
	var nodes []string
	for i := range 6 {
		pod := testkit.Pod("web-"+string(rune('1'+i))).Labels("app=web").Spread(1, zone, v1.DoNotSchedule, "app=web").Spread(1, v1.LabelHostname, v1.DoNotSchedule, "app=web").Obj()
		d, err := Relax(Input{Snapshot: s}, pod, Options{Size: 2})
		require.NoError(t, err)
		if i < 5 {
			nodes = append(nodes, d.Node)
			require.Empty(t, d.Relaxations)
			require.NoError(t, s.Assume(pod, s.Slot(d.Node)))
			continue
		}
		require.Empty(t, d.Node)
		require.Equal(t, [][]string{{"spec.topologySpreadConstraints[0]", "spec.topologySpreadConstraints[1]"}}, d.Conflicts)
		var single []string
		for _, r := range d.Relaxations {
			if len(r.Changes) == 1 && strings.HasPrefix(r.Changes[0].Object, "Pod") {
				single = append(single, r.Changes[0].Path+" "+r.Changes[0].To)
			}
		}
		require.ElementsMatch(t, []string{
			"spec.topologySpreadConstraints[0].maxSkew 2", "spec.topologySpreadConstraints[1].maxSkew 2",
			"spec.topologySpreadConstraints[0].whenUnsatisfiable ", "spec.topologySpreadConstraints[1].whenUnsatisfiable ",
		}, single)
	}
	require.Equal(t, []string{"n1", "n3", "n2", "n3", "n1"}, nodes)
}
