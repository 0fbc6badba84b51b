package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// advised returns the remedies for a pod with others that wait.
func advised(t *testing.T, o cluster.Objects, scalers []*autoscalingv2.HorizontalPodAutoscaler, pod *v1.Pod, others ...*v1.Pod) []string {
	t.Helper()
	s, err := cluster.New(o)
	require.NoError(t, err)
	d, err := Relax(Input{Snapshot: s, Pending: append(others, pod), Autoscalers: scalers}, pod, Options{Cost: only(Scale, Strategy, Policy)})
	require.NoError(t, err)
	return d.Advice()
}

// The owner gets as many pods as run, when its controller takes those away that wait.
func TestScale(t *testing.T) {
	one := func(kind, name, owner, hash string) testkit.PodBuilder {
		b := testkit.Pod(name).Labels("app=a").RequireApart(v1.LabelHostname, "app=a").Owner("apps/v1", kind, owner)
		if hash != "" {
			b = b.Labels("app=a,pod-template-hash=" + hash)
		}
		return b
	}
	scaler := func(least int32) []*autoscalingv2.HorizontalPodAutoscaler {
		return []*autoscalingv2.HorizontalPodAutoscaler{nil, {ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "h"},
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "d"}, MinReplicas: &least, MaxReplicas: 9}}}
	}
	type test struct {
		name, why    string
		running, pod *v1.Pod
		other        *v1.Pod
		scalers      []*autoscalingv2.HorizontalPodAutoscaler
		want         []string
	}
	testkit.Run(t, []test{
		{"StatefulSet", "the last pods wait", one("StatefulSet", "db-0", "db", "").On("n").Obj(), one("StatefulSet", "db-2", "db", "").Obj(), one("StatefulSet", "db-1", "db", "").Obj(), nil,
			[]string{"StatefulSet default/db: spec.replicas 1: default/db-1 and default/db-2 go away"}},
		{"a first pod waits", "the controller would take away the one that runs", one("StatefulSet", "db-3", "db", "").On("n").Obj(), one("StatefulSet", "db-1", "db", "").Obj(), nil, nil, nil},
		{"Deployment", "pods without a node go first", one("ReplicaSet", "d-x", "d-1", "1").On("n").Obj(), one("ReplicaSet", "d-y", "d-1", "1").Obj(), nil, nil,
			[]string{"Deployment default/d: spec.replicas 1: default/d-y goes away"}},
		{"autoscaled", "the autoscaler would set the replicas again", one("ReplicaSet", "d-x", "d-1", "1").On("n").Obj(), one("ReplicaSet", "d-y", "d-1", "1").Obj(), nil, scaler(1),
			[]string{"HorizontalPodAutoscaler default/h: spec.maxReplicas 1: default/d-y goes away"}},
		{"autoscaled with a bound", "minReplicas is larger", one("ReplicaSet", "d-x", "d-1", "1").On("n").Obj(), one("ReplicaSet", "d-y", "d-1", "1").Obj(), nil, scaler(2), nil},
		{"nobody runs", "no replicas at all are no remedy", testkit.Pod("z").Labels("app=a").On("n").Obj(), one("StatefulSet", "db-1", "db", "").Obj(), nil, nil, nil},
		{"Job", "its pods run in turns", testkit.Pod("j-a").Labels("app=a").Owner("batch/v1", "Job", "j").On("n").Obj(), testkit.Pod("j-b").Labels("app=a").RequireApart(v1.LabelHostname, "app=a").Owner("batch/v1", "Job", "j").Obj(), nil, nil,
			[]string{"Job default/j: spec.parallelism 1: its pods run in turns, 1 at a time"}},
	}, func(t *testing.T, c test) {
		o := cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Capacity("cpu=4").Obj()}, Pods: []*v1.Pod{c.running}}
		require.Equal(t, c.want, advised(t, o, c.scalers, c.pod, c.other))
	})
}

// A rollout that waits for its own older pods ends them first, or counts the pods of one revision alone.
func TestStrategy(t *testing.T) {
	of := func(name, hash string) testkit.PodBuilder {
		return testkit.Pod(name).Labels("app=a,pod-template-hash="+hash).Owner("apps/v1", "ReplicaSet", "d-"+hash)
	}
	apart := func(b testkit.PodBuilder) *v1.Pod { return b.RequireApart(v1.LabelHostname, "app=a").Obj() }
	port := func(b testkit.PodBuilder) *v1.Pod { return b.HostPort("", v1.ProtocolTCP, 80).Obj() }
	for name, c := range map[string]struct {
		kind func(b testkit.PodBuilder) *v1.Pod
		want []string
	}{
		"anti-affinity": {apart, []string{
			"Deployment default/d: spec.strategy.rollingUpdate.maxSurge 0: then it goes to n; also: 1 pod fewer while it rolls out",
		}},
		"host port": {port, []string{"Deployment default/d: spec.strategy.rollingUpdate.maxSurge 0: then it goes to n; also: 1 pod fewer while it rolls out"}},
	} {
		o := cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Capacity("cpu=4").Obj()}, Pods: []*v1.Pod{c.kind(of("d-old", "1").On("n"))}}
		require.Equal(t, c.want, advised(t, o, nil, c.kind(of("d-new", "2"))), name)
	}
	one := cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Capacity("cpu=4").Obj()}, Pods: []*v1.Pod{port(of("d-old", "1").On("n"))}}
	require.Empty(t, advised(t, one, nil, port(of("d-new-2", "2")), port(of("d-new-1", "2"))), "its sibling takes the room")
	spread := func(b testkit.PodBuilder) *v1.Pod {
		return b.Spread(1, v1.LabelHostname, v1.DoNotSchedule, "app=a").Request("cpu=1").Obj()
	}
	o := cluster.Objects{Nodes: []*v1.Node{testkit.Node("m").Capacity("cpu=1").Obj(), testkit.Node("n").Capacity("cpu=4").Obj()},
		Pods: []*v1.Pod{spread(of("d-old", "1").On("n")), testkit.Pod("full").On("m").Request("cpu=1").Obj()}}
	list := advised(t, o, nil, spread(of("d-new", "2")))
	require.NotEmpty(t, list)
	require.Equal(t, "Deployment default/d: spec.template.spec.topologySpreadConstraints[0].matchLabelKeys: [pod-template-hash]: then 2 of 2 run; also: 1 pod restarts", list[0])
}

// One node more takes one of four pods, and the owner needs a node for each.
func TestNodesForAllSiblings(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Capacity("cpu=4").Obj()}, Pods: []*v1.Pod{testkit.Pod("x").On("n").Request("cpu=2").Obj()}})
	require.NoError(t, err)
	var pending []*v1.Pod
	for _, name := range []string{"w-0", "w-1", "w-2", "w-3"} {
		pending = append(pending, testkit.Pod(name).Owner("apps/v1", "ReplicaSet", "w").Request("cpu=3").Obj())
	}
	d, err := Relax(Input{Snapshot: s, Pending: pending}, pending[0], Options{})
	require.NoError(t, err)
	require.Equal(t, "add 4 nodes like n: then 4 of 4 run", d.Remedies[0].Text)
}

// A node more has the pods that DaemonSets put there: no node like the one that there is takes a pod that needs all of it.
func TestTooLargeBesideDaemons(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Capacity("cpu=4").Obj()}, Pods: []*v1.Pod{
		testkit.Pod("log").On("n").Owner("apps/v1", "DaemonSet", "log").Request("cpu=500m").Obj(),
	}})
	require.NoError(t, err)
	pod := testkit.Pod("p").Owner("apps/v1", "ReplicaSet", "w").Request("cpu=4").Obj()
	d, err := Relax(Input{Snapshot: s, Pending: []*v1.Pod{pod}}, pod, Options{})
	require.NoError(t, err)
	require.Equal(t, "it asks for cpu 4, and n has 3500m beside the pods of DaemonSets (of 4)", d.Cause.Text)
	require.Equal(t, []string{"ReplicaSet default/w: requests.cpu from 4 to 3500m: then it goes to n; also: delete default/p once: the edit is for new pods", "add a node like n, but with cpu 4500m or more: then it runs there"}, d.Advice())
}
