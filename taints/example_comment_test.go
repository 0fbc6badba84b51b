package taints_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/taints"
)

// readable is what taints read of a cluster.
type readable interface {
	Len() int
	Node(i int) *v1.Node
}

// decide is the program of the package comment.
func decide(pod *v1.Pod, snapshot readable, node *v1.Node) {
	ev := taints.Compile(pod.Spec.Tolerations, taints.Options{}) // once for equal pods
	tainted, cordoned := ev.On(snapshot), ev.OnCordon(snapshot)  // the filters TaintToleration and NodeUnschedulable
	for i := range snapshot.Len() {
		if cordoned.Check(i) == 0 && tainted.Check(i) == 0 { // slot i is feasible
			fmt.Println(i, tainted.Raw(i)) // soft taints that are not tolerated
		}
	}
	d := ev.Deadline(node.Spec.Taints) // stay, leave at once, or leave after d.After
	fmt.Println(d.After, d.Stay == taints.Limited)
}

// two is a cluster of one's own: for taints two methods are enough.
type two [2]*v1.Node

func (two) Len() int              { return 2 }
func (t two) Node(i int) *v1.Node { return t[i] }

// The pod tolerates that its node fails, for five minutes, and does not tolerate maintenance.
func ExampleCompile() {
	tainted := func(name string, list ...v1.Taint) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodeSpec{Taints: list}}
	}
	wait := int64(300)
	pod := &v1.Pod{Spec: v1.PodSpec{Tolerations: []v1.Toleration{
		{Key: v1.TaintNodeNotReady, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &wait},
	}}}
	maintenance := v1.Taint{Key: "maintenance", Effect: v1.TaintEffectNoSchedule}
	old := v1.Taint{Key: "old", Effect: v1.TaintEffectPreferNoSchedule}
	failed := v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute}
	decide(pod, two{tainted("n1", maintenance), tainted("n2", old)}, tainted("n3", failed))
	// Output:
	// 1 1
	// 5m0s true
}
