// Command pieces decides about pods with the single packages, without package placement: each piece can be imported alone.
// It reads from top to bottom: a node cache of one's own, the filters, the scores, the decision, the victims, the kubelet.
//
//	go run ./examples/pieces
package main

import (
	"fmt"
	"iter"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/eviction/pressure"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/spread"
	"github.com/podberth/podberth/taints"
)

// 1. A node cache of one's own. Three methods show the nodes and their pods. Four more say what the nodes offer and what
// their pods request. Each package asks for some of these methods, and none asks for a type.

type cache struct {
	nodes       []*v1.Node
	pods        [][]*v1.Pod        // of each node
	schema      resources.Schema   // the columns of the vectors
	allocatable []resources.Vector // of each node
}

func (c *cache) add(nodes ...*v1.Node) {
	for _, n := range nodes {
		c.nodes, c.pods = append(c.nodes, n), append(c.pods, nil)
		c.allocatable = append(c.allocatable, resources.FromList(&c.schema, n.Status.Allocatable))
	}
}

func (c *cache) Len() int                           { return len(c.nodes) }
func (c *cache) Node(i int) *v1.Node                { return c.nodes[i] }
func (c *cache) Pods(i int) iter.Seq[*v1.Pod]       { return slices.Values(c.pods[i]) }
func (c *cache) Schema() *resources.Schema          { return &c.schema }
func (c *cache) Allocatable(i int) resources.Vector { return c.allocatable[i] }

func (c *cache) Requested(i int) resources.Vector {
	sum := make(resources.Vector, c.schema.Len())
	for pod := range c.Pods(i) {
		requests := overhead.AppendRequests(nil, &c.schema, pod, overhead.Options{UseStatus: true})
		sum = sum.Grow(len(requests))
		sum.Add(requests)
		sum[resources.Pods]++
	}
	return sum
}

func (c *cache) NonZero(i int) (cpuMilli, memoryBytes int64) {
	for pod := range c.Pods(i) {
		cpu, memory := overhead.NonZero(pod, release.Current)
		cpuMilli, memoryBytes = cpuMilli+cpu, memoryBytes+memory
	}
	return cpuMilli, memoryBytes
}

// 2. The filters. Each is compiled for the pod and then put over the cluster: the taint matcher, the resources, the skew. The
// list is in the order of kube-scheduler: the first filter that rejects a node gives the reason.

func filters(pod *v1.Pod, c *cache) (filter.Predicates, error) {
	tolerations := taints.Compile(pod.Spec.Tolerations, taints.Options{})
	ps := filter.Predicates{tolerations.OnCordon(c), tolerations.On(c), filter.CompileFit(pod, filter.FitOptions{}).On(c)}
	hard, err := spread.CompileHard(pod, spread.Options{})
	if err == nil && !hard.Skip() {
		ps = append(ps, hard.Count(c))
	}
	return ps, err
}

// 3. The scores. A shape gives each utilization of a node a score: this shape likes nodes that are 80 percent full. The second
// score dislikes soft taints and has three times the weight. The arguments are constant and right, so must does not panic.

var shape = []score.Point{{Utilization: 0, Score: 0}, {Utilization: 80, Score: 10}, {Utilization: 100, Score: 4}}

var packing = score.FitArgs{ScoringStrategy: &score.Strategy{
	Type: score.RequestedToCapacityRatio, Resources: []score.Resource{{Name: "cpu", Weight: 2}, {Name: "memory", Weight: 1}},
	RequestedToCapacityRatio: &score.Ratio{Shape: shape},
}}

func totals(pod *v1.Pod, c *cache, feasible []int) []int64 {
	fit, tainted := must(score.CompileAllocation(pod, packing)).On(c), taints.Compile(pod.Spec.Tolerations, taints.Options{}).On(c)
	shape, soft := score.Column{Plugin: fit.Name(), Weight: 1}, score.Column{Plugin: tainted.Name(), Weight: 3}
	var names []string
	for _, i := range feasible {
		names = append(names, c.nodes[i].Name)
		shape.Scores = append(shape.Scores, fit.Raw(i)) // 0 to 100 already
		soft.Raw = append(soft.Raw, tainted.Raw(i))
	}
	for _, raw := range soft.Raw {
		soft.Scores = append(soft.Scores, tainted.Normalize(raw, slices.Min(soft.Raw), slices.Max(soft.Raw)))
	}
	return must(score.Totals(names, []score.Column{shape, soft}, nil))
}

// 4. The decision: the feasible node with the largest total, or kube-scheduler's message when there is none.

type decision struct {
	slot int    // -1: no node
	why  string // the total of the node, or why there is none
}

func decide(pod *v1.Pod, c *cache) (decision, error) {
	none := decision{-1, filter.NoNodes}
	ps, err := filters(pod, c)
	if err != nil || c.Len() == 0 {
		return none, err
	}
	found := filter.Search{Candidates: filter.ScanOrder(c)}.Run(ps, nil)
	switch len(found.Feasible) {
	case 0:
		none.why = filter.Message{Nodes: len(c.nodes), Reasons: found.Rejected.Counts(ps)}.String()
		return none, found.Err
	case 1:
		return decision{found.Feasible[0], "the only one"}, nil
	}
	sums := totals(pod, c, found.Feasible)
	best := score.Best(sums, nil)
	return decision{found.Feasible[best], fmt.Sprint("total ", sums[best])}, nil
}

// 5. The victims of a pod that no node takes. Package preemption asks for many pods: does the new pod fit if this
// one leaves? The filters answer, over the cluster without that pod. Disruption budgets say which pods should stay.

func victims(pod *v1.Pod, c *cache, pdbs []*policyv1.PodDisruptionBudget, now time.Time) (preemption.Result, error) {
	ps, err := filters(pod, c)
	if err != nil {
		return preemption.Result{}, err
	}
	said := make([]preemption.Rejection, c.Len()) // Unresolvable: no pod can help
	for i := range said {
		if ps.First(i).Verdict&resources.Unresolvable == 0 {
			said[i] = preemption.Resolvable
		}
	}
	what := preemption.WhatIfOver(c, func(view preemption.Cluster, i int) []string {
		ps := must(filters(pod, c.as(view))) // they compiled above
		return ps.Reasons(ps.First(i), i)
	})
	budgets := disruption.NewBudgets(pdbs, disruption.BudgetOptions{})
	return preemption.Preempt(preemption.Request{Pod: pod, Cluster: c, WhatIf: what, Rejections: said, Budgets: budgets, Now: now}), nil
}

// as returns the cache with the pods of a view.
func (c *cache) as(view preemption.Cluster) *cache {
	other := *c
	other.pods = nil
	for i := range c.nodes {
		other.pods = append(other.pods, slices.Collect(view.Pods(i)))
	}
	return &other
}

// 6. The story. Pods come one after the other. For one of them another pod has to leave. Then memory runs short on a node.

func main() {
	c := new(cache)
	c.add(node("n1", "a"), node("n2", "b"), node("n3", "b", v1.Taint{Key: "old", Effect: v1.TaintEffectPreferNoSchedule}))
	db := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}} // allows no disruption: db is no victim
	db.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
	for _, p := range []*v1.Pod{pod("db", 1, "3", 0), pod("web", 1, "1", 0), pod("web", 2, "1", 0), pod("web", 3, "1", 0),
		pod("job", 1, "2", 10), pod("log", 1, "4", 50), pod("pay", 1, "3", 100)} {
		d := must(decide(p, c))
		if d.slot < 0 {
			fmt.Println(p.Name, "finds no node:", d.why)
			fmt.Print(must(spread.CompileHard(p, spread.Options{})).Count(c).Report()[0])
			r := must(victims(p, c, []*policyv1.PodDisruptionBudget{&db}, time.Unix(0, 0)))
			if r.Outcome != preemption.Success {
				fmt.Println("  nobody makes room:", r.Message)
				continue
			}
			for _, v := range r.Victims {
				fmt.Printf("  %s leaves %s (%s)\n", v.Pod.Name, r.Node, r.Criterion)
				c.pods[r.Slot] = slices.DeleteFunc(c.pods[r.Slot], func(p *v1.Pod) bool { return p == v.Pod })
			}
			d = must(decide(p, c))
		}
		c.pods[d.slot] = append(c.pods[d.slot], p)
		fmt.Printf("%s goes to %s: %s\n", p.Name, c.nodes[d.slot].Name, d.why)
	}
	like := score.ShapeAt(shape)
	fmt.Println("the shape gives a node that is 40, 80 and 100 percent full", like(40), like(80), like(100))
	uses := func(bytes uint64) pressure.PodStats { return pressure.PodStats{WorkingSetBytes: &bytes} }
	stats := map[types.UID]pressure.PodStats{"web-2": uses(1280 << 20), "pay-1": uses(7 << 30)}
	for _, r := range pressure.Rank("memory.available", "single", c.pods[1], stats, pressure.Options{}) {
		fmt.Printf("the kubelet of n2 evicts %s: requests %d MiB and uses %d MiB\n", r.Pod.Name, r.Request>>20, r.Usage>>20)
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func node(name, zone string, taints ...v1.Taint) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelTopologyZone: zone}}, Spec: v1.NodeSpec{Taints: taints}}
	n.Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("10")}
	return n
}

// pod returns a pod of an app. Each zone may have one pod of the app more than the emptiest zone: none, with less than 3 zones.
func pod(app string, number int, cpu string, priority int32) *v1.Pod {
	name, three := fmt.Sprint(app, "-", number), int32(3)
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), Labels: map[string]string{"app": app}}}
	requests := v1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("1Gi")}
	p.Spec = v1.PodSpec{Priority: &priority, Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: requests}}}}
	p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, MinDomains: &three, TopologyKey: v1.LabelTopologyZone,
		WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}}}
	return p
}
