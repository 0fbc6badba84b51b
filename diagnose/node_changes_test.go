package diagnose

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/taints"
)

func labelled(labels string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: testkit.Pairs(labels)}}
}

// The labels that a node gets for a pod's wishes: one change for each label, however often it is wished for, and none for what the node meets.
func TestMeet(t *testing.T) {
	is := func(key string, op v1.NodeSelectorOperator, values ...string) v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{Key: key, Operator: op, Values: values}
	}
	type test struct {
		name, why string
		wishes    []v1.NodeSelectorRequirement
		want      []string // field, old value and new value
	}
	testkit.Run(t, []test{
		{"one of two values", "the first is set", []v1.NodeSelectorRequirement{is("disk", v1.NodeSelectorOpIn, "ssd", "nvme")}, []string{"metadata.labels[disk] hdd disk=ssd"}},
		{"a value that it has", "nothing is to change", []v1.NodeSelectorRequirement{is("disk", v1.NodeSelectorOpIn, "ssd", "hdd")}, nil},
		{"no values", "no label helps", []v1.NodeSelectorRequirement{is("disk", v1.NodeSelectorOpIn)}, nil},
		{"wished for twice", "one change", []v1.NodeSelectorRequirement{is("disk", v1.NodeSelectorOpIn, "ssd"), is("disk", v1.NodeSelectorOpIn, "ssd", "nvme")}, []string{"metadata.labels[disk] hdd disk=ssd"}},
		{"a key", "any value will do", []v1.NodeSelectorRequirement{is("gpu", v1.NodeSelectorOpExists)}, []string{"metadata.labels[gpu]  gpu="}},
		{"a key that it has", "nothing is to change", []v1.NodeSelectorRequirement{is("disk", v1.NodeSelectorOpExists)}, nil},
		{"not a key", "the label goes", []v1.NodeSelectorRequirement{is("disk", v1.NodeSelectorOpDoesNotExist)}, []string{"metadata.labels[disk] disk "}},
		{"not a key that it lacks", "nothing is to change", []v1.NodeSelectorRequirement{is("gpu", v1.NodeSelectorOpDoesNotExist)}, nil},
		{"not its value", "the label goes", []v1.NodeSelectorRequirement{is("disk", v1.NodeSelectorOpNotIn, "ssd", "hdd")}, []string{"metadata.labels[disk] disk "}},
		{"not another value", "nothing is to change", []v1.NodeSelectorRequirement{is("disk", v1.NodeSelectorOpNotIn, "ssd")}, nil},
		{"unwanted twice", "one change", []v1.NodeSelectorRequirement{is("disk", v1.NodeSelectorOpDoesNotExist), is("disk", v1.NodeSelectorOpNotIn, "hdd")}, []string{"metadata.labels[disk] disk "}},
	}, func(t *testing.T, c test) {
		x := &nodeEdits{node: labelled("disk=hdd"), alike: 3, labelled: map[string]bool{}, law: &law{pod: testkit.Pod("p").Obj()}}
		for _, r := range c.wishes {
			x.meet(r)
		}
		var got []string
		for _, change := range x.out {
			got = append(got, change.Path+" "+change.From+" "+change.To)
			require.Equal(t, []any{Label, "Node n", 3}, []any{change.Kind, change.Object, change.Alike})
		}
		require.Equal(t, c.want, got, c.why)
	})
}

// A change of a node is made to the snapshot's node alone: the caller's object stays, and so do other taints and labels.
func TestNodeEdits(t *testing.T) {
	n := labelled("disk=hdd,zone=a")
	n.Spec.Taints = testkit.Taints("a=1:NoSchedule", "a=2:NoSchedule", "a=1:NoExecute", "b=1:NoSchedule")
	before := n.DeepCopy()
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{n}})
	require.NoError(t, err)
	editNode(s, "n", func(n *v1.Node) {
		dropTaint(n, v1.Taint{Key: "a", Value: "1", Effect: v1.TaintEffectNoSchedule})
		setLabel(n, "disk", "ssd")
	})
	require.Equal(t, before, n, "the caller's")
	now := s.Node(s.Slot("n"))
	require.Equal(t, map[string]string{"disk": "ssd", "zone": "a"}, now.Labels)
	require.Equal(t, testkit.Taints("a=2:NoSchedule", "a=1:NoExecute", "b=1:NoSchedule"), now.Spec.Taints)
	bare := &v1.Node{}
	setLabel(bare, "a", "b")
	require.Equal(t, map[string]string{"a": "b"}, bare.Labels)
}

// Uncordoning takes the taint of a cordoned node too. A taint that stands there twice is removed by one change, and the taint of a cordoned
// node by none of its own.
func TestTaintsOfNodes(t *testing.T) {
	cordoned := testkit.Node("n").Capacity("cpu=4").Obj()
	cordoned.Spec.Unschedulable = true
	cordoned.Spec.Taints = []v1.Taint{{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule}}
	d := relax(t, cluster.Objects{Nodes: []*v1.Node{cordoned}}, testkit.Pod("p").Obj(), Options{Size: 1, Cost: only(Uncordon, Untaint)})
	require.Len(t, d.Relaxations, 1)
	require.Equal(t, Uncordon, d.Relaxations[0].Changes[0].Kind)

	twice := five()
	earlier := metav1.NewTime(testkit.Epoch)
	twice[0].Spec.Taints, twice[1].Spec.Taints = testkit.Taints("a=1:NoSchedule", "a=1:NoSchedule"), testkit.Taints("a=1:NoSchedule")
	twice[0].Spec.Taints[1].TimeAdded = &earlier
	d = relax(t, cluster.Objects{Nodes: twice}, testkit.Pod("p").NodeSelector(v1.LabelHostname+"=n1").Obj(), Options{Size: 1, Cost: only(Untaint)})
	require.Len(t, d.Relaxations, 1)
	pod := testkit.Pod("p").Obj()
	x := &nodeEdits{node: twice[0], labelled: map[string]bool{}}
	(&diagnosis{pod: pod, common: newCommon(), law: &law{pod: pod}}).untaints(x)
	require.Len(t, x.out, 1)
	require.True(t, keepsOff(pod, v1.Taint{Key: "a", Effect: v1.TaintEffectNoExecute}, taints.Options{}))
	require.False(t, keepsOff(pod, v1.Taint{Key: "a", Effect: v1.TaintEffectPreferNoSchedule}, taints.Options{}))
	require.False(t, keepsOff(pod, v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule}, taints.Options{}))
}

// Labels are needed for the keys of rules that must hold, each once: not for preferences.
func TestTopologyKeys(t *testing.T) {
	pod := testkit.Pod("p").Labels("app=a").Spread(1, "rack", v1.ScheduleAnyway, "app=a").Spread(1, "zone", v1.DoNotSchedule, "app=a").Spread(2, "zone", v1.DoNotSchedule, "app=b").Obj()
	require.Equal(t, []string{"zone"}, topologyKeys(pod))
}

// The labels by which a storage driver finds the place of a node are facts.
func TestTopologyKeysOfDrivers(t *testing.T) {
	for _, driver := range []string{"", "example.com/rack"} {
		with := cluster.Objects{Nodes: []*v1.Node{testkit.Node("a").Label("example.com/rack", "r1").Capacity("cpu=1,pods=9").Obj(), testkit.Node("b").Capacity("cpu=1,pods=9").Obj()},
			Pods:     []*v1.Pod{testkit.Pod("q").On("a").Request("cpu=1").Obj()},
			CSINodes: []*storagev1.CSINode{{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "d", TopologyKeys: []string{driver}}}}}}}
		s, err := cluster.New(with)
		require.NoError(t, err)
		d, err := Relax(Input{Snapshot: s}, testkit.Pod("p").Request("cpu=1").NodeSelector("example.com/rack=r1").Obj(), Options{})
		require.NoError(t, err)
		require.Equal(t, driver == "", slices.ContainsFunc(d.Changes, func(c Change) bool { return c.Kind == Label }))
	}
}
