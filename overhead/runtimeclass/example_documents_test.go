package runtimeclass_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/overhead/runtimeclass"
)

// The documentation's test-pod under kata-fc: 500m and 1500m cpu, twice 100Mi, and the overhead of 250m and 120Mi make 2250m and
// 320Mi.
func Example_kataOverhead() {
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "kata-fc"}, Handler: "kata-fc", Overhead: &nodev1.Overhead{
		PodFixed: v1.ResourceList{"memory": resource.MustParse("120Mi"), "cpu": resource.MustParse("250m")},
	}}
	container := func(name, cpu string) v1.Container {
		amounts := v1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("100Mi")}
		return v1.Container{Name: name, Resources: v1.ResourceRequirements{Limits: amounts}}
	}
	name := "kata-fc"
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "test-pod"}, Spec: v1.PodSpec{
		RuntimeClassName: &name, Containers: []v1.Container{container("busybox-ctr", "500m"), container("nginx-ctr", "1500m")},
	}}
	admitted, err := runtimeclass.Admit(overhead.Default(pod), []*nodev1.RuntimeClass{class})
	if err != nil {
		fmt.Println(err)
		return
	}
	asks := overhead.Requests(admitted, overhead.Options{})
	fmt.Println(asks.Cpu(), asks.Memory())
	// Output: 2250m 320Mi
}
