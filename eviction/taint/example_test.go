package taint_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/eviction/taint"
)

// node returns a ready node of a zone.
func node(name, zone string, taints ...v1.Taint) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelTopologyZone: zone}},
		Spec:       v1.NodeSpec{Taints: taints},
		Status:     v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
	}
}

// pod returns a pod that tolerates every NoExecute taint for this number of seconds, without limit when it is negative.
func pod(name, node string, seconds int64) *v1.Pod {
	toleration := v1.Toleration{Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}
	if seconds >= 0 {
		toleration.TolerationSeconds = &seconds
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)},
		Spec:       v1.PodSpec{NodeName: node, Tolerations: []v1.Toleration{toleration}},
	}
}

// Five nodes in three zones. The kubelet of n1 is silent for eight minutes. web tolerates the taint for 300 seconds, which
// is the default of admission, db for 600 seconds, and gpu without limit.
func ExampleForecast() {
	line, err := taint.Forecast(taint.Input{
		Nodes: []*v1.Node{node("n1", "a"), node("n2", "a"), node("n3", "b"), node("n4", "b"), node("n5", "c")},
		Pods:  []*v1.Pod{pod("web", "n1", 300), pod("db", "n1", 600), pod("gpu", "n1", -1)}, Until: time.Hour,
		Events: []taint.Event{
			{At: metav1.Duration{Duration: 2 * time.Second}, Node: "n1", Heartbeats: taint.HeartbeatsStop},
			{At: metav1.Duration{Duration: 8 * time.Minute}, Node: "n1", Heartbeats: taint.HeartbeatsResume},
		},
	})
	fmt.Print(line)
	fmt.Println(err)
	// Output:
	// AT     NODE  POD       WHAT       CAUSE
	// 2s     n1    -         event      heartbeats stop
	// 55s    n1    -         unknown    Kubelet stopped posting node status.
	// 55s    n1    -         notReady   its pods get Ready=False
	// 55s    n1    -         tainted    node.kubernetes.io/unreachable:NoSchedule
	// 55s    n1    -         tainted    node.kubernetes.io/unreachable:NoExecute
	// 55s    n1    shop/db   started    node.kubernetes.io/unreachable:NoExecute, until 10m55s
	// 55s    n1    shop/web  started    node.kubernetes.io/unreachable:NoExecute, until 5m55s
	// 5m55s  n1    shop/web  evicted    node.kubernetes.io/unreachable:NoExecute: time is up; stays Terminating while the kubelet is silent
	// 8m0s   n1    -         event      heartbeats resume
	// 8m0s   n1    -         untainted  node.kubernetes.io/unreachable:NoSchedule
	// 8m0s   n1    -         untainted  node.kubernetes.io/unreachable:NoExecute
	// 8m0s   n1    shop/db   cancelled  no NoExecute taint is left, until 10m55s
	// <nil>
}

// A timer keeps its end when the pod's toleration becomes shorter.
func ExampleTimers() {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	timers := taint.NewTimers(taint.Options{})
	timers.SetNode(node("n1", "a", v1.Taint{Key: "maintenance", Effect: v1.TaintEffectNoExecute}), now)
	fmt.Println(timers.SetPod(pod("web", "n1", 60), now)[0].Fire.Sub(now))
	fmt.Println(len(timers.SetPod(pod("web", "n1", 10), now.Add(time.Second))), "actions")

	due, _ := timers.Next()
	for _, action := range timers.Advance(due) {
		fmt.Println(due.Sub(now), action.Event())
	}
	// Output:
	// 1m0s
	// 0 actions
	// 1m0s Marking for deletion Pod shop/web
}
