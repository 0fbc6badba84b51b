package filter_test

import (
	"fmt"
	"iter"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
)

// snapshot is a caller's own node cache with the few methods that the filters read.
type snapshot struct {
	nodes  []*v1.Node
	pods   [][]*v1.Pod
	schema *resources.Schema
}

func (s *snapshot) Len() int                  { return len(s.nodes) }
func (s *snapshot) Node(i int) *v1.Node       { return s.nodes[i] }
func (s *snapshot) Schema() *resources.Schema { return s.schema }
func (s *snapshot) Pods(i int) iter.Seq[*v1.Pod] {
	return func(yield func(*v1.Pod) bool) {
		for _, p := range s.pods[i] {
			if !yield(p) {
				return
			}
		}
	}
}

func (s *snapshot) Allocatable(i int) resources.Vector {
	return resources.FromList(s.schema, s.nodes[i].Status.Allocatable)
}

func (s *snapshot) Requested(i int) resources.Vector {
	sum := make(resources.Vector, s.schema.Len())
	for _, p := range s.pods[i] {
		r := overhead.AppendRequests(nil, s.schema, p, overhead.Options{UseStatus: true})
		sum = sum.Grow(len(r))
		sum.Add(r)
		sum[resources.Pods]++
	}
	return sum
}

func exampleNode(name, zone, cpu, gpus string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelTopologyZone: zone}},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			"cpu": resource.MustParse(cpu), "memory": resource.MustParse("16Gi"), "pods": resource.MustParse("110"), "nvidia.com/gpu": resource.MustParse(gpus),
		}},
	}
}

func examplePod(name, cpu string, gpus int64) *v1.Pod {
	requests := v1.ResourceList{"cpu": resource.MustParse(cpu)}
	if gpus > 0 {
		requests["nvidia.com/gpu"] = *resource.NewQuantity(gpus, resource.DecimalSI)
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: requests}}}},
	}
}

// cluster returns five nodes in three zones, on which web and db-1 run.
func cluster() *snapshot {
	s := &snapshot{
		nodes: []*v1.Node{
			exampleNode("n1", "a", "4", "0"), exampleNode("n2", "a", "4", "0"), exampleNode("n3", "b", "4", "0"),
			exampleNode("n4", "b", "8", "2"), exampleNode("n5", "c", "4", "0"),
		},
		pods:   make([][]*v1.Pod, 5),
		schema: new(resources.Schema),
	}
	s.schema.Intern("nvidia.com/gpu")
	web := examplePod("web", "3", 0)
	web.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 80, ContainerPort: 80}}
	s.pods[0], s.pods[3] = []*v1.Pod{web}, []*v1.Pod{examplePod("db", "2", 1)}
	return s
}

// Where can a second web pod go, and why not elsewhere?
func Example() {
	c := cluster()
	web := examplePod("web-2", "2", 0)
	web.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 80, ContainerPort: 80}}
	ps := filter.Predicates{filter.CompilePorts(web).On(c), filter.CompileFit(web, filter.FitOptions{}).On(c)}

	order := filter.ScanOrder(c)
	found := filter.Search{Candidates: order, Limit: filter.NumToFind(len(order), filter.Sampling{})}.Run(ps, nil)
	for _, i := range found.Feasible {
		fmt.Println("fits", c.nodes[i].Name)
	}
	for _, count := range found.Rejected.Counts(ps) {
		fmt.Println(count.Nodes, count.Reason)
	}
	// Output:
	// fits n3
	// fits n5
	// fits n2
	// fits n4
	// 1 node(s) didn't have free ports for the requested pod ports
}

// What is the message of a pod that fits on no node?
func ExampleMessage() {
	c := cluster()
	gpu := examplePod("gpu", "5", 2)
	fit := filter.CompileFit(gpu, filter.FitOptions{}).On(c)
	ps := filter.Predicates{fit}
	found := filter.Search{Candidates: filter.ScanOrder(c)}.Run(ps, nil)
	fmt.Println(filter.Message{Nodes: 5, Reasons: found.Rejected.Counts(ps), PostFilter: "no new claims to deallocate, " +
		"preemption: 0/5 nodes are available: 1 No preemption victims found for incoming pod, 4 Preemption is not helpful for scheduling."})
	for _, x := range fit.Explain(3) {
		fmt.Printf("n4: %s (requested %d, used %d, capacity %d)\n", x.Reason, x.Requested, x.Used, x.Capacity)
	}
	// Output:
	// 0/5 nodes are available: 4 Insufficient cpu, 5 Insufficient nvidia.com/gpu. no new claims to deallocate, preemption: 0/5 nodes are available: 1 No preemption victims found for incoming pod, 4 Preemption is not helpful for scheduling.
	// n4: Insufficient nvidia.com/gpu (requested 2, used 1, capacity 2)
}

// What does one node lack for a pod?
func ExampleLacks() {
	db := examplePod("db-2", "3", 0)
	for _, x := range filter.Lacks(db, exampleNode("n1", "a", "4", "0"), []*v1.Pod{examplePod("web", "3", 0)}, filter.FitOptions{}) {
		fmt.Println(x.Reason, x.Unresolvable)
	}
	// Output: Insufficient cpu false
}

// kube-scheduler scans one node of each zone in turn.
func ExampleScanOrder() {
	c := cluster()
	for _, i := range filter.ScanOrder(c) {
		fmt.Print(c.nodes[i].Name, " ")
	}
	// Output: n1 n3 n5 n2 n4
}

func ExampleNumToFind() {
	for _, n := range []int{99, 250, 1000, 5000, 6000} {
		fmt.Print(filter.NumToFind(n, filter.Sampling{}), " ")
	}
	// Output: 99 120 420 500 300
}

func ExampleGated() {
	p := examplePod("web-3", "1", 0)
	p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/quota"}}
	fmt.Println(filter.Gated(p))
	// Output: waiting for scheduling gates: [example.com/quota] true
}

// The last GPU of n4 is not free for another pod while one is nominated to it.
func ExamplePredicates_TwoPass() {
	c := cluster()
	gpu, nominated := examplePod("gpu", "1", 1), examplePod("gpu-0", "1", 1)
	fit := filter.CompileFit(gpu, filter.FitOptions{}).On(c)
	ps, trials := filter.Predicates{fit}, []filter.Trial{fit.NewTrial()}
	fmt.Println(ps.First(3).Verdict == 0)
	r := ps.TwoPass(trials, 3, []*v1.Pod{nominated}, nil)
	fmt.Println(ps.Reasons(r, 3), ps.Code(r))
	// Output:
	// true
	// [Insufficient nvidia.com/gpu] Unschedulable
}

// Two PreFilter plugins leave n3. The reason of the other nodes names both plugins.
func ExamplePreFilters() {
	var f filter.PreFilters
	f.Add(filter.PreFilterResult{Plugin: "NodePorts", Code: filter.Skip})
	f.Add(filter.PreFilterResult{Plugin: "NodeAffinity", Nodes: []string{"n1", "n3"}})
	f.Add(filter.PreFilterResult{Plugin: "VolumeBinding", Nodes: []string{"n3", "n4"}})
	fmt.Println(f.Code, f.Nodes)
	fmt.Println(f.LeftOut())
	// Output:
	// Success [n3]
	// [node(s) didn't satisfy plugin(s) [NodeAffinity VolumeBinding]]
}
