package runtimeclass_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/overhead/runtimeclass"
)

func kata() *nodev1.RuntimeClass {
	return &nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "kata-fc"},
		Handler:    "kata-fc",
		Overhead: &nodev1.Overhead{PodFixed: v1.ResourceList{
			"cpu": resource.MustParse("250m"), "memory": resource.MustParse("120Mi"),
		}},
		Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{"runtime": "kata"}},
	}
}

// A pod gets overhead and node selector of its RuntimeClass.
func ExampleAdmit() {
	name := "kata-fc"
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{RuntimeClassName: &name}}
	admitted, err := runtimeclass.Admit(pod, []*nodev1.RuntimeClass{kata()})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(admitted.Spec.Overhead.Cpu(), admitted.Spec.Overhead.Memory(), admitted.Spec.NodeSelector)

	_, err = runtimeclass.Admit(pod, nil)
	fmt.Println(err)
	// Output:
	// 250m 120Mi map[runtime:kata]
	// pods "web" is forbidden: pod rejected: RuntimeClass "kata-fc" not found
}
