package taint_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/eviction/taint"
	"github.com/podberth/podberth/internal/testkit"
)

// The running cluster has three zones and five nodes; web has the default tolerations, db holds out for ten minutes, the
// agent is a DaemonSet's pod.
func ExampleForecast() {
	nodes := []*v1.Node{
		testkit.Node("node1").Zone("a").Obj(), testkit.Node("node2").Zone("a").Obj(),
		testkit.Node("node3").Zone("b").Obj(), testkit.Node("node4").Zone("b").Obj(),
		testkit.Node("gpu1").Zone("c").Obj(),
	}
	web := admission.WithDefaultSeconds(testkit.Pod("shop/web").On("node1").Obj(), admission.DefaultSeconds{})
	db := testkit.Pod("shop/db").On("node1").Obj()
	seconds := int64(600)
	db.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds}}
	agent := admission.WithDaemonSet(testkit.Pod("kube-system/agent").On("node1").Obj())
	line, err := taint.Forecast(taint.Input{
		Nodes: nodes, Pods: []*v1.Pod{web, db, agent}, Until: time.Hour,
		Events: []taint.Event{
			{At: metav1.Duration{Duration: 2 * time.Second}, Node: "node1", Heartbeats: taint.HeartbeatsStop},
			{At: metav1.Duration{Duration: 8 * time.Minute}, Node: "node1", Heartbeats: taint.HeartbeatsResume},
		},
	})
	fmt.Print(line)
	fmt.Println(err)
	// Output:
	// AT     NODE   POD       WHAT       CAUSE
	// 2s     node1  -         event      heartbeats stop
	// 55s    node1  -         unknown    Kubelet stopped posting node status.
	// 55s    node1  -         notReady   its pods get Ready=False
	// 55s    node1  -         tainted    node.kubernetes.io/unreachable:NoSchedule
	// 55s    node1  -         tainted    node.kubernetes.io/unreachable:NoExecute
	// 55s    node1  shop/db   started    node.kubernetes.io/unreachable:NoExecute, until 10m55s
	// 55s    node1  shop/web  started    node.kubernetes.io/unreachable:NoExecute, until 5m55s
	// 5m55s  node1  shop/web  evicted    node.kubernetes.io/unreachable:NoExecute: time is up; stays Terminating while the kubelet is silent
	// 8m0s   node1  -         event      heartbeats resume
	// 8m0s   node1  -         untainted  node.kubernetes.io/unreachable:NoSchedule
	// 8m0s   node1  -         untainted  node.kubernetes.io/unreachable:NoExecute
	// 8m0s   node1  shop/db   cancelled  no NoExecute taint is left, until 10m55s
	// <nil>
}

func ExampleTimers() {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	node := testkit.Node("node1").Taint("maintenance:NoExecute").Obj()
	web := testkit.Pod("shop/web").On("node1").Obj()
	seconds := int64(60)
	web.Spec.Tolerations = []v1.Toleration{{Key: "maintenance", Operator: v1.TolerationOpExists, TolerationSeconds: &seconds}}

	timers := taint.NewTimers(taint.Options{})
	timers.SetNode(node, now)
	fmt.Println(timers.SetPod(web, now)[0].Fire.Sub(now))

	web = web.DeepCopy()
	shorter := int64(10)
	web.Spec.Tolerations[0].TolerationSeconds = &shorter
	fmt.Println(len(timers.SetPod(web, now.Add(time.Second))), "actions: a running timer keeps its time")

	due, _ := timers.Next()
	for _, action := range timers.Advance(due) {
		fmt.Println(due.Sub(now), action.Event())
	}
	// Output:
	// 1m0s
	// 0 actions: a running timer keeps its time
	// 1m0s Marking for deletion Pod shop/web
}
