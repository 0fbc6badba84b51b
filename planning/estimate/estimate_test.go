package estimate

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/taints"
)

func objects(nodes ...testkit.NodeBuilder) (o cluster.Objects) {
	for _, n := range nodes {
		o.Nodes = append(o.Nodes, n.Obj())
	}
	return o
}

// The nodes that refuse are counted by the first filter, nodeSelector apart from affinity terms, and taints by name.
func TestFeasible(t *testing.T) {
	o := objects(
		testkit.Node("a").Label("disk", "ssd").Label("gen", "2").Capacity("cpu=4,pods=9"),
		testkit.Node("b").Label("gen", "2").Capacity("cpu=4,pods=9"),
		testkit.Node("c").Label("disk", "ssd").Label("gen", "1").Capacity("cpu=4,pods=9"),
		testkit.Node("d").Label("disk", "ssd").Label("gen", "2").Taint("dedicated=ml:NoSchedule").Capacity("cpu=4,pods=9"),
		testkit.Node("e").Label("disk", "ssd").Label("gen", "2").Capacity("cpu=1,pods=9"),
		testkit.Node("f").Label("disk", "ssd").Label("gen", "2").Capacity("cpu=1,pods=9"),
		testkit.Node("g").Label("disk", "ssd").Label("gen", "2").Capacity("cpu=8,pods=9"),
	)
	e := newEstimator(t, o)
	pod := testkit.Pod("p").Request("cpu=2").NodeSelector("disk=ssd").RequireNodes(v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: "gen", Operator: v1.NodeSelectorOpIn, Values: []string{"2"}}}}).Obj()
	all, err := e.Feasible(pod, nil)
	require.NoError(t, err)
	require.Equal(t, Feasibility{Nodes: []string{"a", "g"}, Refused: []Refused{
		{"NodeResourcesFit", "Insufficient cpu", 2, []string{"e", "f"}},
		{"NodeAffinity", "node(s) didn't match Pod's node affinity/selector", 1, []string{"c"}},
		{"NodeAffinity", "nodeSelector", 1, []string{"b"}},
		{"TaintToleration", "dedicated=ml:NoSchedule", 1, []string{"d"}},
	}}, all)
	some, err := e.Feasible(pod, []string{"g", "f", "a"})
	require.NoError(t, err)
	require.Equal(t, []string{"g", "a"}, some.Nodes, "in the order of the question")
	none, err := e.Feasible(pod, []string{})
	require.NoError(t, err)
	require.Equal(t, Feasibility{}, none)

	// A filter that leaves nodes out before it sees them, and one that refuses the pod.
	only := testkit.Pod("p").RequireNodes(v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"b"}}}}).Obj()
	named, err := e.Feasible(only, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, named.Nodes)
	require.Equal(t, []Refused{{"NodeAffinity", "node(s) didn't satisfy plugin(s) [NodeAffinity]", 6, []string{"a", "c", "d"}}}, named.Refused)
	claim := testkit.Pod("p").Obj()
	claim.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "none"}}}}
	lost, err := e.Feasible(claim, nil)
	require.NoError(t, err)
	require.Equal(t, []Refused{{"VolumeRestrictions", `persistentvolumeclaim "none" not found`, 7, []string{"a", "b", "c"}}}, lost.Refused)
}

// Each node is asked as if all copies went there alone.
func TestPerNode(t *testing.T) {
	nodes := func() cluster.Objects {
		return objects(
			testkit.Node("a").Zone("z1").Capacity("cpu=4,memory=8Gi,pods=5"), testkit.Node("b").Zone("z1").Capacity("cpu=8,memory=8Gi,pods=5"),
			testkit.Node("c").Zone("z2").Taint("gpu:NoSchedule").Capacity("cpu=8,memory=8Gi,pods=5"),
		)
	}
	worker := func() testkit.PodBuilder { return testkit.Pod("w").Labels("app=w").Request("cpu=1,memory=1Gi") }
	leader := func() testkit.PodBuilder { return testkit.Pod("l").Labels("app=l").Request("cpu=2,memory=1Gi") }
	type row struct {
		name string
		q    Question
		want string
	}
	testkit.Run(t, []row{
		{"alone", Question{Worker: worker().Obj()}, "a 4, b 5, c 0"},
		{"limit", Question{Worker: worker().Obj(), Limit: 3}, "a 3, b 3, c 0"},
		{"beside a leader", Question{Worker: worker().Obj(), Leader: leader().Obj()}, "a 4 leader 2, b 5 leader 4, c 0"},
		{"the leader may be refused alone", Question{Worker: worker().Obj(), Leader: leader().NodeSelector("kubernetes.io/hostname=b").Obj()}, "a 4, b 5 leader 4, c 0"},
		{"among", Question{Worker: worker().Obj(), Among: []string{"b"}}, "b 5"},
		{"host ports", Question{Worker: worker().HostPort("", v1.ProtocolTCP, 80).Obj()}, "a 1, b 1, c 0"},
		{"apart by host", Question{Worker: worker().RequireApart(host, "app=w").Obj()}, "a 1, b 1, c 0"},
		{"apart by zone, which the caller chooses", Question{Worker: worker().RequireApart(zone, "app=w").Obj()}, "a 4, b 5, c 0"},
		{"apart by zone for every copy", Question{Worker: worker().RequireApart(zone, "app=w").Obj(), Domains: Every}, "a 1, b 1, c 0"},
		{"apart by a key with one node a value", Question{Worker: worker().RequireApart("kubernetes.io/hostname", "app=w").Obj(), Domains: First}, "a 1, b 1, c 0"},
		{"spread by zone for every copy", Question{Worker: worker().Spread(2, zone, v1.DoNotSchedule, "app=w").Obj(), Domains: Every}, "a 2, b 2, c 0"},
		{"beside a leader that it must be with", Question{Worker: worker().RequireWith(host, "app=l").Obj(), Leader: leader().Obj()}, "a 0 leader 2, b 0 leader 4, c 0"},
		{"beside a leader that keeps it away", Question{Worker: worker().Obj(), Leader: leader().RequireApart(host, "app=w").Obj()}, "a 4 leader 0, b 5 leader 0, c 0"},
		{"beside a leader that keeps it out of its zone", Question{Worker: worker().Obj(), Leader: leader().RequireApart(zone, "app=w").Obj()}, "a 4 leader 0, b 5 leader 0, c 0"},
		{"apart by host, beside such a leader", Question{Worker: worker().RequireApart(host, "app=w").Obj(), Leader: leader().RequireApart(zone, "app=w").Obj()}, "a 1 leader 0, b 1 leader 0, c 0"},
		{"own books", Question{Worker: worker().Obj(), Free: func(n string) v1.ResourceList { return testkit.Resources("cpu=2,memory=9Gi") }}, "a 2, b 2, c 0"},
		{"own books with pods", Question{Worker: worker().Obj(), Free: func(n string) v1.ResourceList { return testkit.Resources("cpu=9,memory=9Gi,pods=1") }}, "a 1, b 1, c 0"},
	}, func(t *testing.T, c row) {
		e := newEstimator(t, nodes())
		if c.q.Among == nil {
			c.q.Among = []string{"a", "b", "c"} // scan order takes the zones in turn
		}
		counts, err := e.PerNode(c.q)
		require.NoError(t, err)
		got := ""
		for k, n := range counts {
			if k > 0 {
				got += ", "
			}
			got += fmt.Sprint(n.Node, " ", n.Alone)
			if n.Leader {
				got += fmt.Sprint(" leader ", n.Beside)
			}
		}
		require.Equal(t, c.want, got)
		again, err := e.PerNode(Question{Worker: worker().Obj(), Among: []string{"a"}})
		require.NoError(t, err)
		require.Equal(t, []Count{{Node: "a", Alone: 4, Stop: Refused{Plugin: "NodeResourcesFit", Reason: "Insufficient cpu"}}}, again, "the cluster is as it was")
	})
}

func TestReplicasAndSets(t *testing.T) {
	e := newEstimator(t, objects(testkit.Node("a").Capacity("cpu=5,pods=9"), testkit.Node("b").Capacity("cpu=5,pods=9")))
	room, err := e.Replicas(testkit.Pod("p").Request("cpu=2").Obj(), 100)
	require.NoError(t, err)
	require.Len(t, room.Nodes, 4)
	require.Equal(t, "0/2 nodes are available: 2 Insufficient cpu.", room.Stop.Text())
	room, err = e.Replicas(testkit.Pod("p").Request("cpu=2").Obj(), 3)
	require.NoError(t, err)
	require.Len(t, room.Nodes, 3)
	require.Nil(t, room.Stop)

	sets := []Component{{"leader", testkit.Pod("l").Request("cpu=1").Obj(), 1}, {"none", testkit.Pod("n").Request("cpu=99").Obj(), 0}, {"worker", testkit.Pod("w").Request("cpu=2").Obj(), 2}}
	got, err := e.Sets(sets, 9)
	require.NoError(t, err)
	require.Equal(t, 2, got.Count)
	require.Equal(t, "leader", got.Component)
	require.Equal(t, "0/2 nodes are available: 2 Insufficient cpu.", got.Stop.Text())
	got, err = e.Sets(sets, 1)
	require.NoError(t, err)
	require.Equal(t, SetRoom{Count: 1}, got)
	got, err = e.Sets(nil, 7)
	require.NoError(t, err)
	require.Equal(t, SetRoom{Count: 7}, got)
	for i := range e.snapshot.Len() {
		require.Empty(t, slices.Collect(e.snapshot.Pods(i)), "the cluster is as it was")
	}
}

// Workloads on their way hold room until they are released, in any order; one without a place holds nothing.
func TestAssume(t *testing.T) {
	e := newEstimator(t, objects(testkit.Node("a").Capacity("cpu=6,pods=9")))
	left := func() int {
		room, err := e.Replicas(testkit.Pod("p").Request("cpu=1").Obj(), 100)
		require.NoError(t, err)
		return len(room.Nodes)
	}
	pod := testkit.Pod("w").Request("cpu=2").Obj()
	missing, release, err := e.Assume([]Component{{"one", pod, 1}, {"three", pod, 3}, {"two", pod, 1}})
	require.NoError(t, err)
	require.Len(t, missing, 1)
	require.Equal(t, "three", missing[0].Name)
	require.Equal(t, 2, left())
	_, other, err := e.Assume([]Component{{"more", pod, 1}})
	require.NoError(t, err)
	require.Equal(t, 0, left())
	require.NoError(t, release())
	require.Equal(t, 4, left())
	require.NoError(t, release(), "a second call does nothing")
	require.NoError(t, other())
	require.Equal(t, 6, left())
}

// Claims of templates are made for each copy, and go with it.
func TestClaimsGoWithTheirPods(t *testing.T) {
	for seed := range uint64(400) {
		o, pod, _ := random(testkit.NewBytes(testkit.RandomBytes(seed, 200)))
		if len(pod.Spec.ResourceClaims) == 0 && len(pod.Spec.Volumes) == 0 {
			continue
		}
		e := newEstimator(t, o)
		count := func() string {
			return fmt.Sprint(len(slices.Collect(cluster.List[*v1.PersistentVolumeClaim](e.snapshot).All())), e.claims())
		}
		before := count()
		first, err := e.Feasible(pod, nil)
		require.NoError(t, err)
		_, release, err := e.Assume([]Component{{"c", pod, 2}})
		require.NoError(t, err)
		_, _, err = e.Assume([]Component{{"too many", pod, 100}})
		require.NoError(t, err)
		require.NoError(t, release())
		require.Equal(t, before, count(), "seed %d", seed)
		again, err := e.Feasible(pod, nil)
		require.NoError(t, err)
		require.Equal(t, first, again, "seed %d", seed)
	}
}

func TestFirstFit(t *testing.T) {
	e := newEstimator(t, objects(testkit.Node("a").Capacity("cpu=1,pods=9"), testkit.Node("b").Capacity("cpu=4,pods=9"), testkit.Node("c").Capacity("cpu=4,pods=9")))
	pod := testkit.Pod("p").Request("cpu=2").Obj()
	order := slices.Values([]int{-1, 0, 7, 1, 2})
	slot, refused, err := e.FirstFit(pod, order, nil)
	require.NoError(t, err)
	require.Equal(t, 1, slot)
	require.Equal(t, []Refused{{"NodeResourcesFit", "Insufficient cpu", 1, []string{"a"}}}, refused)
	slot, _, err = e.FirstFit(pod, order, func(slot int) bool { return slot != 1 })
	require.NoError(t, err)
	require.Equal(t, 2, slot)
	slot, _, err = e.FirstFit(pod, order, func(int) bool { return false })
	require.NoError(t, err)
	require.Equal(t, -1, slot)
	require.NoError(t, e.placer.Assume(pod, e.placer.Prepare(pod).Decision(2)))
	require.Equal(t, "p", slices.Collect(e.snapshot.Pods(2))[0].Name)
}

// Bad questions are errors that name the field, the value and what is allowed.
func TestBadInput(t *testing.T) {
	_, err := New(Input{})
	require.ErrorIs(t, err, cluster.ErrNoSnapshot)
	s, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	_, err = New(Input{Snapshot: s, Profile: placement.Profile{Filters: []*placement.Plugin{nil}}})
	require.Error(t, err)

	e := newEstimator(t, objects(testkit.Node("a").Capacity("cpu=4,pods=9")))
	pod, placed := testkit.Pod("p").Request("cpu=1").Obj(), testkit.Pod("q").On("a").Obj()
	ask := map[string]func() error{
		"pod: Required value: a pod": func() error { _, err := e.Feasible(nil, nil); return err },
		`pod.spec.nodeName: Invalid value: "a": must be empty: the question is which node can take the pod`: func() error { _, err := e.Feasible(placed, nil); return err },
		`among[1]: Not found: "b"`:      func() error { _, err := e.Feasible(pod, []string{"a", "b"}); return err },
		"worker: Required value: a pod": func() error { _, err := e.PerNode(Question{}); return err },
		`leader.spec.nodeName: Invalid value: "a": must be empty: the question is which node can take the pod`: func() error { _, err := e.PerNode(Question{Worker: pod, Leader: placed}); return err },
		"limit: Invalid value: -1: must not be negative":                                                       func() error { _, err := e.PerNode(Question{Worker: pod, Limit: -1}); return err },
		`among[0]: Not found: "z"`:                         func() error { _, err := e.PerNode(Question{Worker: pod, Among: []string{"z"}}); return err },
		"limit: Invalid value: -2: must be greater than 0": func() error { _, err := e.Replicas(pod, -2); return err },

		"limit: Invalid value: 0: must be greater than 0":                 func() error { _, err := e.Sets(nil, 0); return err },
		"components[0].pod: Required value: a pod":                        func() error { _, err := e.Sets([]Component{{}}, 1); return err },
		"components[0].replicas: Invalid value: -3: must not be negative": func() error { _, _, err := e.Assume([]Component{{"c", pod, -3}}); return err },
	}
	for want, question := range ask {
		require.EqualError(t, question(), want)
	}
	_, _, err = e.FirstFit(nil, slices.Values([]int{0}), nil)
	require.EqualError(t, err, "pod: Required value: a pod")
	_, err = e.Replicas(pod, 0)
	require.EqualError(t, err, "limit: Invalid value: 0: must be greater than 0")
	_, err = e.Replicas(nil, 1)
	require.EqualError(t, err, "pod: Required value: a pod")
}

// A filter that fails ends every question with its error, and nothing is left in the cluster.
func TestFailingFilter(t *testing.T) {
	broken := errors.New("the disk of the plugin is full")
	for _, before := range []bool{true, false} {
		profile := placement.DefaultProfile()
		profile.Filters = append(profile.Filters, &placement.Plugin{Name: "Broken", Filter: func(*v1.Pod, placement.Cluster) placement.PreFiltered {
			if before {
				return placement.PreFiltered{Code: filter.Error, Reasons: []string{broken.Error()}}
			}
			return placement.PreFiltered{Predicate: failing{}}
		}})
		s, err := cluster.New(objects(testkit.Node("a").Capacity("cpu=4,pods=9")))
		require.NoError(t, err)
		e, err := New(Input{s, profile})
		require.NoError(t, err)
		pod := testkit.Pod("p").Request("cpu=1").Obj()
		_, err = e.Feasible(pod, nil)
		require.ErrorContains(t, err, broken.Error())
		_, err = e.PerNode(Question{Worker: pod})
		require.ErrorContains(t, err, broken.Error())
		_, _, err = e.FirstFit(pod, slices.Values([]int{0}), nil)
		require.ErrorContains(t, err, broken.Error())
		_, err = e.Sets([]Component{{"c", pod, 1}}, 1)
		require.ErrorContains(t, err, broken.Error())
		_, _, err = e.Assume([]Component{{"c", pod, 1}})
		require.ErrorContains(t, err, broken.Error())
		require.Empty(t, slices.Collect(s.Pods(0)))
	}
}

// The taint that is named is one that the profile's filter does not tolerate.
func TestComparedTaint(t *testing.T) {
	s, err := cluster.New(objects(testkit.Node("n").Taint("sla=95:NoSchedule").Taint("team=a:NoSchedule").Capacity("cpu=4,pods=9")))
	require.NoError(t, err)
	pod := testkit.Pod("p").Obj()
	pod.Spec.Tolerations = []v1.Toleration{{Key: "sla", Operator: v1.TolerationOpGt, Value: "90"}}
	for compares, want := range map[bool]string{false: "sla=95:NoSchedule", true: "team=a:NoSchedule"} {
		e, err := New(Input{Snapshot: s, Profile: placement.PluginArgs{Taints: taints.Options{ComparisonOperators: compares}}.Profile()})
		require.NoError(t, err)
		f, err := e.Feasible(pod, nil)
		require.NoError(t, err)
		require.Equal(t, []Refused{{Plugin: "TaintToleration", Reason: want, Nodes: 1, Examples: []string{"n"}}}, f.Refused)
	}
}
