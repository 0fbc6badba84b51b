package dump

import (
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/planning/workload"
	"github.com/podberth/podberth/resources"
)

// fewest is how many equal pods are made in any case: a short answer has each of them.
const fewest = 1000

// room returns how many pods equal to a pod are enough to decide about any number of them: twice as many as the nodes hold if they are
// empty, and one, or fewest. Those beyond get no node, even if each node gets another beside it: the first ones take it. That holds as long as no pod
// takes nodes away from the first ones, so that all pods are made when one that waits has a higher priority, and as long as nothing but the
// scheduler counts them, so that all are made in a namespace with a quota. made are first pods of all workloads, which wait too. It asks for a scheduler that looks at resources (NodeResourcesFit).
func (o *Objects) room(made []*v1.Pod) func(pod *v1.Pod) int {
	highest := math.MinInt
	for _, p := range slices.Concat(o.Pods, made) {
		if Pending(p) {
			highest = max(highest, o.priority(p))
		}
	}
	return func(pod *v1.Pod) int {
		quota := func(q *v1.ResourceQuota) bool { return q.Namespace == pod.Namespace }
		if o.priority(pod) < highest || slices.ContainsFunc(o.ResourceQuotas, quota) {
			return math.MaxInt
		}
		total, requests := 0, overhead.Requests(pod, overhead.Options{})
		for _, n := range o.Nodes {
			total += holdsEmpty(n, requests)
		}
		return max(2*total+1, fewest)
	}
}

// most bounds what one node holds, so that no sum is too large for an int.
const most = math.MaxInt32

// holdsEmpty returns how many pods with these requests a node holds if it is empty.
func holdsEmpty(n *v1.Node, requests v1.ResourceList) int {
	pods := n.Status.Allocatable[v1.ResourcePods]
	out := min(pods.Value(), most)
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		asked, has := resources.Value(name, requests[name]), resources.Value(name, n.Status.Allocatable[name])
		if asked > 0 {
			out = min(out, has/asked)
		}
	}
	return int(out)
}

// priority returns the priority that a pod has or gets. A pod whose class is not there has the highest one: nothing is known of it.
func (o *Objects) priority(pod *v1.Pod) int {
	if pod.Spec.Priority != nil {
		return int(*pod.Spec.Priority)
	}
	admitted, err := admission.AdmitPriority(&v1.Pod{Spec: v1.PodSpec{PriorityClassName: pod.Spec.PriorityClassName}}, o.PriorityClasses)
	if err != nil {
		return math.MaxInt32
	}
	return int(*admitted.Spec.Priority)
}

// TellCounted warns of the pods that Expand counted.
func (o *Objects) TellCounted(counted []workload.Counted) {
	for _, c := range counted {
		ref := c.Pod.OwnerReferences[0]
		o.Warnings.Add(fmt.Sprintf("%s %s/%s: %d of its pods are counted and not made: the nodes have no room for them", ref.Kind, c.Pod.Namespace, ref.Name, c.More))
	}
}
