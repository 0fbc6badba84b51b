package preemption_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// TestResolvable checks for each rejection of the default plugins whether preemption tries the node, with a pod of
// lower priority on it. The tests of package volumes check the other rejections of the volume plugins; this
// test has one of them.
func TestResolvable(t *testing.T) {
	n1 := func() testkit.NodeBuilder { return testkit.Node("n1").Zone("z").Capacity("cpu=4,memory=4Gi") }
	a := func() testkit.PodBuilder { return pod("a", 1, "1", "n1") }
	p := func() testkit.PodBuilder { return pod("p", 10, "1", "").Labels("app=p") }
	disk := func(b testkit.PodBuilder) *v1.Pod {
		o := b.Obj()
		o.Spec.Volumes = []v1.Volume{{Name: "d", VolumeSource: v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: "d"}}}}
		return o
	}
	type test struct {
		name, why string
		node      *v1.Node
		there     *v1.Pod
		p         *v1.Pod
		tried     bool
	}
	testkit.Run(t, []test{
		{"cordoned", "no eviction uncordons the node", n1().Unschedulable().Obj(), a().Obj(), p().Obj(), false},
		{"NoSchedule taint", "stays", n1().Taint("k=v:NoSchedule").Obj(), a().Obj(), p().Obj(), false},
		{"NoExecute taint", "stays", n1().Taint("k=v:NoExecute").Obj(), a().Obj(), p().Obj(), false},
		{"node selector", "the labels stay", n1().Obj(), a().Obj(), p().NodeSelector("disk=ssd").Obj(), false},
		{"node affinity", "the labels stay", n1().Obj(), a().Obj(), p().RequireNodes(v1.NodeSelectorTerm{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpIn, Values: []string{"ssd"}}},
		}).Obj(), false},
		{"affinity", "nobody who leaves brings a match", n1().Obj(), a().Obj(), p().RequireWith(hostKey, "app=none").Obj(), false},
		{"more than the node has", "of any resource", n1().Obj(), a().Obj(), pod("p", 10, "4", "").Request("cpu=4,memory=5Gi").Obj(), false},
		{"missing topology key", "the labels stay", testkit.Node("n1").Capacity("cpu=4").Obj(), a().Obj(), p().Spread(1, zoneKey, v1.DoNotSchedule, "app=p").Obj(), false},
		{"room", "a leaves", n1().Obj(), a().Obj(), pod("p", 10, "4", "").Obj(), true},
		{"number of pods", "a leaves", n1().Capacity("cpu=4,pods=1").Obj(), a().Obj(), p().Obj(), true},
		{"host port", "a leaves", n1().Obj(), a().HostPort("", v1.ProtocolTCP, 80).Obj(), p().HostPort("", v1.ProtocolTCP, 80).Obj(), true},
		{"own anti-affinity", "a leaves", n1().Obj(), a().Labels("app=q").Obj(), p().RequireApart(zoneKey, "app=q").Obj(), true},
		{"another's anti-affinity", "a leaves", n1().Obj(), a().RequireApart(zoneKey, "app=p").Obj(), p().Obj(), true},
		{"disk in use", "a leaves", n1().Obj(), disk(a()), disk(p()), true},
	}, func(t *testing.T, c test) {
		want := unhelpful
		if c.tried {
			want = "n1: a"
		}
		require.Equal(t, want, shown(parts(c.node, c.there).preempt(t, c.p)))
	})
}

// Placeholders of negative priority keep room free. A pod without a priority evicts as many placeholders as it needs,
// on the node on which the fewest are needed. On a node the youngest placeholders leave first. No other pod is evicted.
func TestPlaceholders(t *testing.T) {
	s := parts(node("n1", "4"), node("n2", "4"), node("n3", "4"),
		pod("web-1", 0, "2", "n1").Obj(), started(pod("old", -10, "1", "n1"), 0), started(pod("young", -10, "1", "n1"), 9),
		pod("web-2", 0, "2", "n2").Obj(), started(pod("big", -10, "2", "n2"), 0),
		pod("web-3", 0, "4", "n3").Obj())
	ask := func(cpu string) string { return shown(s.preempt(t, testkit.Pod("p").Request("cpu="+cpu).Obj())) }
	require.Equal(t, "n1: young", ask("1"), "younger than the victim on n2, and the older pod beside it stays")
	require.Equal(t, "n2: big", ask("2"), "one placeholder instead of two")
	require.Equal(t, "Unschedulable, clear: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Insufficient cpu.", ask("3"),
		"the placeholders of a node are not enough, and web pods have the same priority")
	placeholder := pod("more", -10, "1", "").Obj()
	require.Equal(t, "Unschedulable, clear: 0/3 nodes are available: 3 No preemption victims found for incoming pod.", shown(s.preempt(t, placeholder)),
		"a placeholder displaces no pod, not even another placeholder: it waits for a new node")
}
