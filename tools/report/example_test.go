package report_test

import (
	"fmt"
	"math/big"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/tools/report"
)

func ExampleColumns() {
	fmt.Print(report.Columns([]string{"POD", "NODE"}, [][]string{{"web", "n1"}, {"db", "n3"}}))
	// Output:
	// POD   NODE
	// web   n1
	// db    n3
}

func ExampleData() {
	out, err := report.Data("yaml", map[string]string{"pod": "web", "node": "n1"})
	if err != nil {
		panic(err)
	}
	fmt.Print(string(out))
	// Output:
	// node: n1
	// pod: web
}

func ExampleAmount() {
	fmt.Println(report.Amount(v1.ResourceCPU, big.NewInt(1500)))
	fmt.Println(report.Amount(v1.ResourceMemory, big.NewInt(3<<30)))
	fmt.Println(report.Short("7.123456Gi"), report.Short("12345678901"))
	// Output:
	// 1500m
	// 3Gi
	// 7.1Gi 11.5Gi
}

// The tables of "kubectl describe node".
func ExampleDescribePods() {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("1Gi")},
		Limits:   v1.ResourceList{"cpu": resource.MustParse("500m")},
	}}}}}
	pod.Namespace, pod.Name = "default", "web"
	offered := v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi")}
	fmt.Print(report.DescribePods([]*v1.Pod{pod}, offered, func(*v1.Pod) string { return "36m" }))
	fmt.Println()
	fmt.Print(report.DescribeResources(overhead.Requests(pod, overhead.Options{}), overhead.Limits(pod, overhead.Options{}), offered))
	// Output:
	//   Namespace  Name  CPU Requests  CPU Limits  Memory Requests  Memory Limits  Age
	//   ---------  ----  ------------  ----------  ---------------  -------------  ---
	//   default    web   500m (12%)    500m (12%)  1Gi (12%)        0 (0%)         36m
	//
	//   Resource  Requests    Limits
	//   --------  --------    ------
	//   cpu       500m (12%)  500m (12%)
	//   memory    1Gi (12%)   0 (0%)
}
