package overhead_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
)

// A pod of the documentation runs in a virtual machine: its runtime class adds 250m and 120Mi.
func Example() {
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "kata-fc"}, Handler: "kata-fc", Overhead: &nodev1.Overhead{
		PodFixed: v1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("120Mi")}}}
	pod := testkit.Pod("test-pod").Limit("cpu=2,memory=200Mi").Obj()
	pod.Spec.RuntimeClassName = &class.Name

	pod, err := overhead.AdmitRuntimeClass(overhead.Default(pod), []*nodev1.RuntimeClass{class})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, part := range overhead.Explain(pod, overhead.Options{}) {
		fmt.Println(part)
	}
	cgroup := overhead.PodCgroup(pod, overhead.CgroupOptions{})
	fmt.Println(overhead.QoS(pod), "cpu.shares", cgroup.Shares, "memory limit", *cgroup.MemoryBytes)
	// Output:
	// cpu 2250m: the containers 2 + overhead 250m
	// memory 320Mi: the containers 200Mi + overhead 120Mi
	// Guaranteed cpu.shares 2304 memory limit 335544320
}

func ExampleAppendRequests() {
	schema := &resources.Schema{}
	row := make(resources.Vector, 0, 8)
	for _, pod := range []*v1.Pod{
		testkit.Pod("web").Request("cpu=500m,memory=256Mi").Obj(),
		testkit.Pod("gpu").Request("cpu=4,memory=16Gi,example.com/gpu=1").Obj(),
	} {
		row = overhead.AppendRequests(row[:0], schema, pod, overhead.Options{})
		fmt.Println(pod.Name, row.Describe(schema))
	}
	// Output:
	// web cpu=500m memory=268435456
	// gpu cpu=4000m memory=17179869184 example.com/gpu=1
}

func ExampleNonZero() {
	cpu, memory := overhead.NonZero(testkit.Pod("db").Request("memory=1Gi").Obj())
	fmt.Println(cpu, memory)
	// Output: 100 1073741824
}

func ExampleAllocatable() {
	allocatable, err := overhead.Allocatable(
		v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("10Gi")},
		overhead.Reservations{
			System:       v1.ResourceList{"memory": resource.MustParse("1.5Gi")},
			EvictionHard: map[string]string{"memory.available": "500Mi"},
		})
	fmt.Println(allocatable.Cpu(), allocatable.Memory(), err)
	// Output: 4 8204Mi <nil>
}

func ExampleOOMOrder() {
	pod := testkit.Pod("web").Request("memory=1Gi").Obj()
	adj, err := overhead.OOMScoreAdj(pod, &pod.Spec.Containers[0], 10<<30)
	if err != nil {
		fmt.Println(err)
		return
	}
	order, err := overhead.OOMOrder([]overhead.Process{
		{Name: "db", MemoryBytes: 6 << 30, OOMScoreAdj: overhead.GuaranteedOOMScore},
		{Name: "web", MemoryBytes: 2 << 30, OOMScoreAdj: adj},
	}, 10<<30)
	fmt.Println(adj, order[0].Name, err)
	// Output: 900 web <nil>
}

// A pod beside what its node offers, as kubectl describe node prints it.
func ExampleDescribeResources() {
	pod := testkit.Pod("db").Request("cpu=500m,memory=2Gi").Limit("memory=4Gi").Obj()
	fmt.Print(overhead.DescribeResources(overhead.Requests(pod, overhead.Options{}), overhead.Limits(pod, overhead.Options{}),
		v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi")}))
	// Output:
	// Resource  Requests    Limits
	//   --------  --------    ------
	//   cpu       500m (12%)  0 (0%)
	//   memory    2Gi (25%)   4Gi (50%)
}

// Overhead is charged to the namespace's quota as well.
func ExampleCheckQuota() {
	pod := testkit.Pod("web").Request("cpu=500m").Obj()
	pod.Spec.Overhead = v1.ResourceList{"cpu": resource.MustParse("250m")}
	hard := v1.ResourceList{"requests.cpu": resource.MustParse("2")}
	used := v1.ResourceList{"requests.cpu": resource.MustParse("1500m")}
	fmt.Println(overhead.CheckQuota("team", hard, used, pod, testkit.Epoch))
	// Output: pods "web" is forbidden: exceeded quota: team, requested: requests.cpu=750m, used: requests.cpu=1500m, limited: requests.cpu=2
}

// What a runtime class adds to the tolerations; what another one covers already is left out.
func ExampleMergeTolerations() {
	pod := []v1.Toleration{{Key: "kata", Operator: v1.TolerationOpEqual, Value: "v", Effect: v1.TaintEffectNoSchedule}, {Key: "gpu", Operator: v1.TolerationOpExists}}
	class := []v1.Toleration{{Key: "kata", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}}
	for _, t := range overhead.MergeTolerations(pod, class) {
		fmt.Printf("%s %s %q\n", t.Key, t.Operator, t.Effect)
	}
	// Output:
	// gpu Exists ""
	// kata Exists "NoSchedule"
}

// The cgroup of a pod in which one container has no CPU limit: shares, no quota.
func ExamplePodCgroup() {
	pod := overhead.Default(testkit.Pod("web").Request("cpu=500m").Limit("memory=256Mi").Obj())
	g := overhead.PodCgroup(pod, overhead.CgroupOptions{})
	fmt.Println(g.Shares, g.Weight, g.QuotaMicros == nil, *g.MemoryBytes)
	// Output: 512 20 true 268435456
}

func ExampleValidateQuantities() {
	pod := testkit.Pod("web").Request("cpu=-1").Obj()
	for _, err := range overhead.ValidateQuantities(pod, field.NewPath("spec")) {
		fmt.Println(err)
	}
	// Output: spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0
}
