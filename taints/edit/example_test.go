package edit_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

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

// Who leaves n1 when its kubelet cannot be reached?
func ExampleImpact() {
	n1 := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	pod := func(name string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{NodeName: "n1"}}
	}
	web := pod("web")
	db := edit.WithDefaultSeconds(pod("db"), edit.DefaultSeconds{})
	agent := edit.WithDaemonSet(pod("agent"))
	taint := v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}
	for _, d := range edit.Impact(n1, taint, []*v1.Pod{web, db, agent}, taints.Options{}) {
		fmt.Println(d.Pod.Name, "leaves after", d.After.After)
	}
	// Output:
	// web leaves after 0s
	// db leaves after 5m0s
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

// With the admission plugin ExtendedResourceToleration, pods that ask for a GPU tolerate the taint of that name.
func ExampleWithExtendedResources() {
	gpu := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	gpu.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{"cpu": resource.MustParse("1"), "nvidia.com/gpu": resource.MustParse("2")},
	}}}
	for _, t := range edit.WithExtendedResources(gpu).Spec.Tolerations {
		fmt.Println(t.Key, t.Operator, t.Effect)
	}
	// Output: nvidia.com/gpu Exists NoSchedule
}

func ExampleValidateTolerations() {
	seconds := int64(60)
	list := []v1.Toleration{{Key: "gpu", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule, TolerationSeconds: &seconds}}
	for _, err := range edit.ValidateTolerations(list, field.NewPath("spec", "tolerations"), taints.Options{}) {
		fmt.Println(err)
	}
	// Output: spec.tolerations[0].effect: Invalid value: "NoSchedule": effect must be 'NoExecute' when `tolerationSeconds` is set
}
