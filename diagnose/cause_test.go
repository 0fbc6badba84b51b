package diagnose

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
)

// causeOf returns the cause of a pod in a cluster.
func causeOf(t *testing.T, o cluster.Objects, pod *v1.Pod) *Cause {
	t.Helper()
	s, err := cluster.New(o)
	require.NoError(t, err)
	plan, err := placement.New(s, placement.DefaultProfile())
	require.NoError(t, err)
	return CauseOf(plan, s, pod)
}

// A claim that nobody has bound names who must do it. A plugin without a sentence of its own is told by its reason.
func TestCausesOfOthers(t *testing.T) {
	class := "fast"
	pod := testkit.Pod("p").Obj()
	pod.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	o := cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Capacity("pods=9").Obj()}}
	o.Claims = []*v1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}, Spec: v1.PersistentVolumeClaimSpec{StorageClassName: &class}}}
	o.StorageClasses = []*storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "csi.example.com", VolumeBindingMode: new(storagev1.VolumeBindingImmediate)}}
	cause := causeOf(t, o, pod)
	require.Equal(t, []string{"Unbound", "PersistentVolumeClaim default/data", "spec.volumeName", "csi.example.com"}, []string{cause.Type, cause.Object, cause.Field, cause.Found})

	s, err := cluster.New(o)
	require.NoError(t, err)
	plugin := &placement.Plugin{Name: "Own", Filter: func(*v1.Pod, placement.Cluster) placement.PreFiltered {
		return placement.PreFiltered{Predicate: refusing{}}
	}}
	plan, err := placement.New(s, placement.Profile{Filters: []*placement.Plugin{plugin}})
	require.NoError(t, err)
	cause = CauseOf(plan, s, testkit.Pod("q").Obj())
	require.Equal(t, causeOther, cause.Type)
	require.Contains(t, cause.Text, "the moon is full")
}

// refusing rejects every node.
type refusing struct{}

func (refusing) Name() string                       { return "Own" }
func (refusing) Check(int) resources.Verdict        { return 1 }
func (refusing) Reasons(resources.Verdict) []string { return []string{"the moon is full"} }

// The pool decides, not the number of nodes: forty full nodes of another pool say nothing about the pod's own node. testdata/advice has the
// causes of all types.
func TestCause(t *testing.T) {
	small := func(name, pool string) testkit.NodeBuilder {
		return testkit.Node(name).Label("pool", pool).Label(v1.LabelHostname, name).Capacity("cpu=1,pods=10")
	}
	var crowd []*v1.Node
	for k := range 40 {
		crowd = append(crowd, small(fmt.Sprint("b", k), "b").Obj())
	}
	wants := testkit.Pod("p").NodeSelector("pool=a").Request("cpu=1")
	type test struct {
		name, why string
		nodes     []*v1.Node
		pod       *v1.Pod
		want      *Cause
	}
	testkit.Run(t, []test{
		{"fits", "a pod that a node takes has no cause", []*v1.Node{small("a", "a").Obj()}, wants.Obj(), nil},
		{"no node", "the cluster is empty", nil, wants.Obj(), &Cause{Type: "NoNode", Object: "Pod default/p", Text: "the cluster has no node"}},
		{"pool of one", "the other pool is no part of the cause", append([]*v1.Node{small("a", "a").Taint(v1.TaintNodeDiskPressure + ":NoSchedule").Obj()}, crowd...), wants.Obj(),
			&Cause{Type: "Pressure", Object: "Node a", Field: "spec.taints", Found: "node.kubernetes.io/disk-pressure:NoSchedule", Nodes: []string{"a"}, Text: "a has DiskPressure", Others: "the other 40 nodes are not of its pool",
				Not: "tolerate node.kubernetes.io/disk-pressure: the kubelet refuses every pod that is not critical, and the pod is made again for ever"}},
		{"reserved before broken", "a node that is reserved stays closed when it is mended", []*v1.Node{small("a", "a").Taint("team=x:NoSchedule").Taint(v1.TaintNodeNotReady + ":NoSchedule").Obj()}, testkit.Pod("p").Obj(),
			&Cause{Type: "Reserved", Object: "Node a", Field: "spec.taints", Found: "team=x:NoSchedule", Nodes: []string{"a"}, Text: "a is reserved by team=x and is not ready"}},
		{"percent signs", "a taint is no format", []*v1.Node{small("a", "a").Taint("50%s=%d%v:NoSchedule").Obj(), small("b", "a").Taint("%d:NoSchedule").Obj()}, testkit.Pod("p").Obj(),
			&Cause{Type: "Reserved", Object: "Pod default/p", Nodes: []string{"a", "b"}, Text: "a is reserved by 50%s=%d%v, b is reserved by %d"}},
		{"open before closed", "an open node that is too small is the cause, not the reserved one", []*v1.Node{small("a", "a").Obj(), small("c", "a").Taint("team=x:NoSchedule").Obj()}, testkit.Pod("p").NodeSelector("pool=a").Request("cpu=2").Obj(),
			&Cause{Type: "TooLarge", Object: "Pod default/p", Field: "spec.containers", Wanted: "2", Found: "a 1", Nodes: []string{"a"}, Text: "it asks for cpu 2, and a has 1", Others: "c is reserved by team=x"}},
		{"apart", "each node has a pod that it avoids", []*v1.Node{small("a", "a").Obj(), small("c", "a").Obj()}, testkit.Pod("p").RequireApart(v1.LabelHostname, "app=x").Obj(),
			&Cause{Type: "AntiAffinity", Object: "Pod default/p", Field: "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]", Wanted: v1.LabelHostname, Found: "xa and xc", Nodes: []string{"a", "c"},
				Text: "its anti-affinity by kubernetes.io/hostname avoids pods with app=x, which are near a and c (xa and xc)"}},
		{"the owner", "the field is one of the object that a person edits", crowd[:1], testkit.Pod("p").Owner("apps/v1", "StatefulSet", "db").NodeSelector("pool=c").Obj(),
			&Cause{Type: "NoNode", Object: "StatefulSet default/db", Field: "spec.template.spec.nodeSelector[pool]", Wanted: "pool=c", Found: "b0 has b", Nodes: []string{"b0"}, Text: "it wants pool=c, and b0 has b"}},
	}, func(t *testing.T, c test) {
		var pods []*v1.Pod
		for _, n := range c.nodes {
			pods = append(pods, testkit.Pod("x"+n.Name).Labels("app=x").On(n.Name).Obj())
		}
		require.Equal(t, c.want, causeOf(t, cluster.Objects{Nodes: c.nodes, Pods: pods}, c.pod))
	})
}

// Sentences about several things.
func TestWordsOfCauses(t *testing.T) {
	require.Equal(t, []string{"", "a", "a and b", "a, b and c"}, []string{joined(nil), joined([]string{"a"}), joined([]string{"a", "b"}), joined([]string{"a", "b", "c"})})
	require.Equal(t, "a, b, c and 2 more", few([]string{"a", "b", "c", "d", "e"}))
	require.Equal(t, []string{"1 pod", "0 pods", "2 pods"}, []string{count(1, "pod"), count(0, "pod"), count(2, "pod")})
	for _, r := range taintRows { // every row can speak of one node and of more
		one, more := fmt.Sprintf(r.says, "n1"), fmt.Sprintf(plural(r.says), "n1 and n2")
		require.NotContains(t, more, "n2 is ", r.keys)
		require.NotContains(t, more, "n2 has ", r.keys)
		require.NotContains(t, more, "n2 waits ", r.keys)
		require.Contains(t, one, "n1")
		require.NotEmpty(t, r.of, r.keys)
	}
}
