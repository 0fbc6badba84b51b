package edit_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/taints"
	"github.com/podberth/podberth/taints/edit"
)

// kubectl taint nodes n2 dedicated=batch:NoSchedule spot-
func ExampleParse() {
	n2 := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2"}}
	n2.Spec.Taints = []v1.Taint{{Key: "spot", Value: "true", Effect: v1.TaintEffectPreferNoSchedule}}
	command, err := edit.Parse([]string{"dedicated=batch:NoSchedule", "spot-"})
	if err != nil {
		fmt.Println(err)
		return
	}
	list, outcome, err := command.Apply(n2)
	fmt.Println("node/n2", outcome, list[0].ToString(), len(list), err)
	// Output: node/n2 modified dedicated=batch:NoSchedule 1 <nil>
}

// The node lifecycle controller mirrors conditions as taints. A node that is short of disk takes no new pods and keeps
// the pods that it has.
func ExampleMirrorConditions() {
	n1 := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	n1.Status.Conditions = []v1.NodeCondition{
		{Type: v1.NodeReady, Status: v1.ConditionTrue}, {Type: v1.NodeDiskPressure, Status: v1.ConditionTrue},
	}
	n1, added, removed := edit.MirrorConditions(n1, time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))
	fmt.Println(len(added), len(removed), taints.Untolerated(n1, nil, taints.Options{}).ToString())
	fmt.Println(taints.Compile(nil, taints.Options{}).Deadline(n1.Spec.Taints).Stay == taints.NoTaint)
	// Output:
	// 1 0 node.kubernetes.io/disk-pressure:NoSchedule
	// true
}
