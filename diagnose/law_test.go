package diagnose

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// samples returns one key for each key of a row, with a word in the place of a star.
func samples(r taintRow) (keys []string) {
	for _, k := range r.keys {
		switch {
		case strings.HasPrefix(k, "*"):
			keys = append(keys, "some.example.com"+k[1:])
		case strings.HasSuffix(k, "*"):
			keys = append(keys, k[:len(k)-1]+"some")
		default:
			keys = append(keys, k)
		}
	}
	return keys
}

// Each row has a reason and says what is wrong with the node; a key belongs to one row.
func TestRowsOfTheLaw(t *testing.T) {
	rows := map[string]bool{}
	for _, r := range taintRows {
		require.NotEmpty(t, r.why, r.keys)
		require.Equal(t, 1, strings.Count(r.says, "%s"), r.keys)
		require.LessOrEqual(t, strings.Count(r.cure, "%s"), 1, r.keys)
		for _, key := range samples(r) {
			require.False(t, rows[key], key)
			rows[key] = true
			require.Equal(t, r.why, rowOf(testkit.Node("n").Obj(), v1.Taint{Key: key}).why, key)
		}
	}
	require.Greater(t, len(rows), 30)
	n := testkit.Node("n").Obj()
	n.Annotations = map[string]string{"nvsentinel.example.com/quarantineHealthEventAppliedTaints": `[{"Key":"gpu-fault","Effect":"NoSchedule"}]`}
	n.Status.Conditions = []v1.NodeCondition{{Type: "KernelDeadlock", Status: v1.ConditionTrue}, {Type: "ReadonlyFilesystem", Status: v1.ConditionFalse}}
	for key, want := range map[string]string{"gpu-fault": whyQuarantine, "KernelDeadlock": whyQuarantine, "ReadonlyFilesystem": "", "team": ""} {
		require.Equal(t, want, rowOf(n, v1.Taint{Key: key}).why, key)
	}
	require.Empty(t, rowOf(n, v1.Taint{Key: "kubernetes.azure.com/scalesetpriority", Value: "regular"}).why)
}

// What a pod may tolerate: the taint of a pool that it is meant for, and no other.
func TestTolerable(t *testing.T) {
	owned := func(kind, namespace string) *v1.Pod {
		p := testkit.Pod("p").Owner("apps/v1", kind, "w").Obj()
		p.Namespace = namespace
		return p
	}
	gpu := testkit.Node("gpu").Taint("nvidia.com/gpu=yes:NoSchedule").Label("pool", "gpu").Capacity("cpu=4,nvidia.com/gpu=2").Obj()
	kept := testkit.Node("kept").Taint("team=x:NoSchedule").Label("team", "x").Capacity("cpu=4").Obj()
	type test struct {
		name, why string
		taint     string
		node      *v1.Node
		pod       *v1.Pod
		siblings  bool
		want      string
	}
	testkit.Run(t, []test{
		{"resource asked for", "the key is the resource", "nvidia.com/gpu=yes:NoSchedule", gpu, testkit.Pod("p").Request("nvidia.com/gpu=1").Obj(), false, ""},
		{"resource not asked for", "a pool of GPUs", "nvidia.com/gpu=yes:NoSchedule", gpu, testkit.Pod("p").Request("cpu=1").Obj(), false, whyNotMeant},
		{"label of the pool", "only its nodes have it", "nvidia.com/gpu=yes:NoSchedule", gpu, testkit.Pod("p").NodeSelector("pool=gpu").Obj(), false, ""},
		{"label of all nodes", "it says nothing about the pool", "team=x:NoSchedule", kept, testkit.Pod("p").NodeSelector("kubernetes.io/os=linux").Obj(), false, whyNotMeant},
		{"required affinity to the pool", "only its nodes match", "team=x:NoSchedule", kept, testkit.Pod("p").RequireNodes(v1.NodeSelectorTerm{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: "team", Operator: v1.NodeSelectorOpExists}}}).Obj(), false, ""},
		{"control plane", "reserved", roleControlPlane + ":NoSchedule", nil, testkit.Pod("p").Obj(), false, "control plane nodes are for the control plane"},
		{"control plane, pod of kube-system", "the cluster's own pod", roleControlPlane + ":NoSchedule", nil, owned("Deployment", "kube-system"), false, ""},
		{"spot, one replica", "it would be gone", "cloud.google.com/gke-spot=true:NoSchedule", nil, owned("Deployment", "default"), false, whySpot},
		{"spot, StatefulSet", "it has state", "cloud.google.com/gke-spot=true:NoSchedule", nil, owned("StatefulSet", "default"), true, whySpot},
		{"spot, several replicas", "one may go", "cloud.google.com/gke-spot=true:NoSchedule", nil, owned("Deployment", "default"), true, ""},
	}, func(t *testing.T, c test) {
		nodes := []*v1.Node{testkit.Node("plain").Label("kubernetes.io/os", "linux").Capacity("cpu=4").Obj(), c.node}
		taint := testkit.Taints(c.taint)[0]
		if c.node == nil {
			nodes[1] = testkit.Node("n").Taint(c.taint).Obj()
		}
		o := ownerOf(begun(t, cluster.Objects{}, c.pod).base, c.pod)
		l := &law{pod: c.pod, nodes: nodes, sibling: c.siblings, bare: o.kind == "Pod", state: o.kind == "StatefulSet"}
		why, note := l.tolerate(taint)
		require.Equal(t, c.want, why)
		require.Equal(t, c.want == "" && strings.Contains(c.taint, "spot"), note != "")
	})
}

// A mark of some nodes of a kind may go when nothing else is in the way of the node; the taint of a pool, or of an agent, never.
func TestMarks(t *testing.T) {
	node := func(name string, taints ...string) testkit.NodeBuilder {
		n := testkit.Node(name).Capacity("cpu=4").Label("pool", "a")
		for _, x := range taints {
			n = n.Taint(x)
		}
		return n
	}
	plain, marked := node("plain").Obj(), node("marked", "maintenance=soon:NoSchedule").Obj()
	notReady := marked.DeepCopy()
	notReady.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionFalse}}
	leaving := marked.DeepCopy()
	gone := metav1.Now()
	leaving.DeletionTimestamp = &gone
	theirs := marked.DeepCopy()
	theirs.Annotations = map[string]string{"quarantineHealthEventIsCordoned": "True"}
	both := node("both", "maintenance=soon:NoSchedule", v1.TaintNodeDiskPressure+":NoSchedule").Obj()
	l := &law{pod: testkit.Pod("p").Obj(), nodes: []*v1.Node{plain, marked}}
	taint := testkit.Taints("maintenance=soon:NoSchedule")[0]
	for _, c := range []struct {
		n    *v1.Node
		want string
	}{{marked, ""}, {notReady, whyNotOpen}, {leaving, whyLeaves}, {theirs, whyMark}, {both, taintRows[3].why}} {
		require.Equal(t, c.want, l.untaint(c.n, taint), c.n.Name)
		require.Equal(t, c.want, l.mark(c.n, taint), c.n.Name)
	}
	alone := &law{pod: l.pod, nodes: []*v1.Node{node("one", "team=x:NoSchedule").Obj(), node("other", "team=x:NoSchedule").Obj()}}
	team := testkit.Taints("team=x:NoSchedule")[0]
	require.Equal(t, whyPool, alone.untaint(alone.nodes[0], team))
	swept := &law{pod: testkit.Pod("p").NodeSelector("pool=a").Obj(), nodes: []*v1.Node{marked}}
	require.Empty(t, swept.untaint(marked, taint), "a maintenance is a mark, also of the only node of a pool")
	why, _ := swept.tolerate(taint)
	require.Equal(t, whyMaintenance, why)
	master := node("cp", roleControlPlane+":NoSchedule").Obj()
	role := testkit.Taints(roleControlPlane + ":NoSchedule")[0]
	require.Empty(t, (&law{pod: l.pod, nodes: []*v1.Node{master}}).untaint(master, role), "every node is a control plane")
	require.NotEmpty(t, (&law{pod: l.pod, nodes: []*v1.Node{master, plain}}).untaint(master, role))
}

// Labels: those that state facts never; those of a pool on nodes that are like the nodes of the pool; and none goes.
func TestLabelsOfTheLaw(t *testing.T) {
	ssd := testkit.Node("ssd").Label("disk", "ssd").Label(v1.LabelTopologyZone, "a").Capacity("cpu=4").Obj()
	like, big := testkit.Node("like").Capacity("cpu=4").Obj(), testkit.Node("big").Capacity("cpu=8").Obj()
	tainted := testkit.Node("tainted").Capacity("cpu=4").Taint("x:NoSchedule").Obj()
	l := &law{pod: testkit.Pod("p").Obj(), nodes: []*v1.Node{ssd, like, big, tainted}}
	value, zoneA := "ssd", "a"
	require.Empty(t, l.label(like, "disk", &value, nil))
	require.Equal(t, whyNoPool, l.label(big, "disk", &value, nil))
	require.Equal(t, whyNoPool, l.label(tainted, "disk", &value, nil))
	require.Equal(t, whyTaken, l.label(ssd, "disk", nil, nil))
	require.Equal(t, whyFact, l.label(like, v1.LabelTopologyZone, &zoneA, nil))
	require.Equal(t, whyFact, l.label(like, "disk", &value, []string{"disk"}), "a topology key of the pod")
	for _, key := range []string{"kubernetes.io/arch", "node-role.kubernetes.io/worker", "topology.ebs.csi.aws.com/zone", "nvidia.com/gpu.product", "feature.node.kubernetes.io/x", "failure-domain.beta.kubernetes.io/zone"} {
		require.Equal(t, whyFact, l.label(like, key, &value, nil), key)
	}
}

// forbidden returns the words that no advice about a node with a taint may have: the key beside a verb of the API.
func forbidden(text string, key string) bool {
	if !strings.Contains(text, key) {
		return false
	}
	return strings.Contains(text, "tolerate ") || strings.Contains(text, "remove the taint")
}

// Random clusters have every row of the law on the only node on which the pod would fit: no change and no relaxation tolerates or
// removes the taint, cordons stay, and Dropped says why.
func TestNoForbiddenChange(t *testing.T) {
	dropped := 0
	for seed := range uint64(testkit.Rounds(10)) {
		for k, r := range taintRows {
			for _, key := range samples(r) {
				b := testkit.NewBytes(testkit.RandomBytes(seed*1000+uint64(k), 200))
				o, pod := random(b)
				pod.Spec.TopologySpreadConstraints, pod.Spec.Affinity, pod.Spec.NodeSelector = nil, nil, nil
				for _, n := range o.Nodes { // full, and without room for the pod
					n.Status.Allocatable = testkit.Resources("cpu=100m,memory=64Mi,pods=10")
				}
				only := testkit.Node("only").Capacity("cpu=64,memory=64Gi").Taint(key + "=v:" + testkit.Pick(b, "NoSchedule", "NoExecute")).Obj()
				if r.kind == cordon {
					only.Spec.Unschedulable = true
				}
				o.Nodes = append(o.Nodes, only)
				s, err := cluster.New(o)
				require.NoError(t, err)
				d, err := Relax(Input{Snapshot: s}, pod, Options{Size: 2, Nodes: 5})
				require.NoError(t, err)
				for _, x := range d.Relaxations {
					require.False(t, forbidden(x.Text(), key), "seed %d: %s", seed, x.Text())
				}
				for _, x := range d.Changes {
					require.False(t, forbidden(x.Text(), key), "seed %d: %s", seed, x.Text())
				}
				if d.Node != "" {
					continue
				}
				text, err := json.Marshal(d.Dropped)
				require.NoError(t, err)
				if r.kind != cordon {
					require.Contains(t, string(text), key, "seed %d", seed)
					dropped++
				}
			}
		}
	}
	require.Greater(t, dropped, testkit.Rounds(250))
}

// A change of a pod is one of its owner; what the API server refuses is made again.
func TestOwners(t *testing.T) {
	type test struct {
		name, why string
		pod       *v1.Pod
		want      string
	}
	deployment := testkit.Pod("web-1").Owner("apps/v1", "ReplicaSet", "web-5d9").NodeSelector("disk=tape").Obj()
	deployment.Labels = map[string]string{"pod-template-hash": "5d9"}
	testkit.Run(t, []test{
		{"bare pod", "its selector never changes", testkit.Pod("p").NodeSelector("disk=tape").Obj(), "Pod default/p, made again: drop spec.nodeSelector[disk] (disk=tape)"},
		{"Deployment", "the hash in the names", deployment, "Deployment default/web: drop spec.template.spec.nodeSelector[disk] (disk=tape)"},
		{"StatefulSet", "its template", testkit.Pod("db-0").Owner("apps/v1", "StatefulSet", "db").NodeSelector("disk=tape").Obj(), "StatefulSet default/db: drop spec.template.spec.nodeSelector[disk] (disk=tape)"},
		{"Job", "its template never changes", testkit.Pod("j-x").Owner("batch/v1", "Job", "j").NodeSelector("disk=tape").Obj(), "Job default/j, made again: drop spec.template.spec.nodeSelector[disk] (disk=tape)"},
		{"another controller", "its fields are not known", testkit.Pod("r-x").Owner("ray.io/v1", "RayCluster", "r").NodeSelector("disk=tape").Obj(), "the pods of RayCluster default/r: drop spec.nodeSelector[disk] (disk=tape)"},
	}, func(t *testing.T, c test) {
		d := relax(t, cluster.Objects{Nodes: five()}, c.pod, Options{Cost: only(DropSelector)})
		require.Len(t, d.Relaxations, 1)
		require.Equal(t, c.want, d.Relaxations[0].Text())
	})
	set := testkit.Pod("agent-x").Owner("apps/v1", "DaemonSet", "agent").RequireNodes(v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n1"}}}}).Request("cpu=2").Obj()
	d := relax(t, cluster.Objects{Nodes: five()[:2], Pods: []*v1.Pod{running("a", "n1", "cpu=3")}}, set, Options{})
	for _, r := range d.Relaxations {
		require.NotContains(t, fmt.Sprint(r.Text()), "nodeAffinity")
		require.NotContains(t, r.Text(), "add a node")
	}
	require.NotEmpty(t, d.Relaxations)
}

// A pod with a controller never leaves for good, and neither does a more important pod. One that is as important is no advice where room is the
// cause (C50).
func TestWhoLeavesForGood(t *testing.T) {
	type test struct {
		name, why                      string
		pod                            *v1.Pod
		relaxations, remedies, dropped int
	}
	a := testkit.Pod("a").On("n1").Request("cpu=3")
	testkit.Run(t, []test{
		{"less important", "it may leave", a.Obj(), 1, 1, 0},
		{"as important", "the pool needs room", testkit.Pod("a").On("n1").Request("cpu=3").Priority(1).Obj(), 1, 0, 1},
		{"more important", "it stays", testkit.Pod("a").On("n1").Request("cpu=3").Priority(5).Obj(), 0, 0, 1},
		{"with a controller", "it comes back", testkit.Pod("a").On("n1").Request("cpu=3").Owner("apps/v1", "ReplicaSet", "w").Obj(), 0, 0, 1},
	}, func(t *testing.T, c test) {
		d := relax(t, cluster.Objects{Nodes: five()[:1], Pods: []*v1.Pod{c.pod}}, testkit.Pod("web").Priority(1).Request("cpu=2").Obj(), Options{Cost: only(RemovePods)})
		require.Len(t, d.Relaxations, c.relaxations)
		require.Len(t, d.Remedies, c.remedies)
		require.Len(t, d.Dropped, c.dropped)
	})
}

// Of the pods that wait beside the pod a nil one is none, and one of the same owner is a sibling.
func TestPendingSiblings(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Capacity("cpu=1").Obj()}})
	require.NoError(t, err)
	pod := testkit.Pod("p").Owner("apps/v1", "StatefulSet", "db").Request("cpu=2").Obj()
	for name, want := range map[string]bool{"db": true, "other": false} {
		other := testkit.Pod("q").Owner("apps/v1", "StatefulSet", name).Obj()
		d, err := begin(Input{Snapshot: s, Pending: []*v1.Pod{nil, other}}, pod, Options{})
		require.NoError(t, err)
		require.Equal(t, want, d.law.sibling, name)
	}
}

// Requests change in place within the QoS class alone: of a pod with resources of its own these decide.
func TestGuaranteed(t *testing.T) {
	both := func(requests, limits string) *v1.ResourceRequirements {
		return &v1.ResourceRequirements{Requests: testkit.Resources(requests), Limits: testkit.Resources(limits)}
	}
	for _, c := range []struct {
		container, pod *v1.ResourceRequirements
		want           bool
	}{
		{both("cpu=1,memory=1Gi", "cpu=1,memory=1Gi"), nil, true},
		{both("cpu=1", "cpu=1,memory=1Gi"), nil, true},
		{both("cpu=1", "cpu=1"), nil, false},
		{both("cpu=1", "cpu=2,memory=1Gi"), nil, false},
		{both("cpu=1", ""), both("cpu=3,memory=1Gi", "cpu=3,memory=1Gi"), true},
		{both("cpu=1,memory=1Gi", "cpu=1,memory=1Gi"), both("cpu=1,memory=1Gi", "cpu=2,memory=1Gi"), false},
	} {
		require.Equal(t, c.want, guaranteed(&v1.Pod{Spec: v1.PodSpec{Resources: c.pod, Containers: []v1.Container{{Resources: *c.container}}}}))
	}
}
