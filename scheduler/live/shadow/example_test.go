package shadow_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/scheduler/config"
	"github.com/podberth/podberth/scheduler/live/shadow"
)

func Example() {
	c, err := config.Load([]byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"))
	if err != nil {
		panic(err)
	}
	s, err := shadow.New(c, nil, nil, func(r shadow.Report) {
		fmt.Println(r.Pod, r.Verdict, r.Node, r.Would)
		for _, x := range r.Rejections {
			fmt.Println(" ", x.Plugin, x.Reasons)
		}
	}, func(err error) { panic(err) })
	if err != nil {
		panic(err)
	}
	for name, cpu := range map[string]string{"n1": "1", "n2": "4"} {
		s.AddNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{
			Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourcePods: resource.MustParse("10")},
		}})
	}
	for _, node := range []string{"n2", "n1"} { // another scheduler binds two pods
		waiting := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-" + node, UID: "1"}, Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}},
		}}}}
		s.AddPod(waiting)
		bound := waiting.DeepCopy()
		bound.Spec.NodeName = node
		s.UpdatePod(waiting, bound)
	}
	// Output:
	// default/web-n2 same n2 n2
	// default/web-n1 rejected n1 n2
	//   NodeResourcesFit [Insufficient cpu]
}
