package lint

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/overhead"
)

// A crowd is a workload with more than mostReplicas replicas. No replica of a crowd for which the nodes have no room is made: the numbers say
// so at once.

// crowd reports whether a workload is a crowd.
func (w *work) crowd() bool { return w.replicas > mostReplicas }

// roomFor returns how many pods of a workload the nodes that they can reach hold, with what other pods of at least their priority leave free:
// more of them never run, and fewer may fit, because only amounts are counted. O(nodes and running pods).
func (c *checker) roomFor(w *work) int {
	room := 0
	for _, n := range c.left(w) {
		room += max(0, times(w, n))
	}
	return room
}

// left returns the nodes that a workload can reach, and in their allocatable amounts what other pods of at least its priority leave free. The
// nodes are not to be changed. Workloads with replicas that run get copies of those nodes alone.
func (c *checker) left(w *work) []*v1.Node {
	least := podinfo.Priority(w.pod)
	k := leftKey{c.reach(w), least}
	all, known := c.lefts[k]
	if !known {
		taken := map[string][]*v1.Pod{}
		for _, p := range c.in.Cluster.Pods {
			if counts(p, least) {
				taken[p.Spec.NodeName] = append(taken[p.Spec.NodeName], p)
			}
		}
		for _, n := range k.reach.reachable {
			all = append(all, changed(n, taken[n.Name], (*resource.Quantity).Sub))
		}
		if c.lefts == nil {
			c.lefts = map[leftKey][]*v1.Node{}
		}
		c.lefts[k] = all
	}
	own, replicas := labels.SelectorFromSet(w.pod.Labels), map[string][]*v1.Pod{}
	for _, p := range c.in.Cluster.Pods {
		if p.Namespace == w.pod.Namespace && counts(p, least) && own.Matches(labels.Set(p.Labels)) { // it is one of the replicas, or counted as one
			replicas[p.Spec.NodeName] = append(replicas[p.Spec.NodeName], p)
		}
	}
	if len(replicas) == 0 {
		return all
	}
	out := slices.Clone(all)
	for i, n := range out {
		if mine := replicas[n.Name]; len(mine) > 0 {
			out[i] = changed(n, mine, (*resource.Quantity).Add)
		}
	}
	return out
}

// leftKey says who asks what is left.
type leftKey struct {
	*reach
	priority int32
}

// counts reports whether a pod runs and has at least a priority.
func counts(p *v1.Pod, least int32) bool {
	return p.Spec.NodeName != "" && !cluster.Finished(p) && podinfo.Priority(p) >= least
}

// changed returns a copy of a node whose allocatable amounts are changed by what pods ask for.
func changed(n *v1.Node, pods []*v1.Pod, change func(*resource.Quantity, resource.Quantity)) *v1.Node {
	out := *n
	out.Status.Allocatable = n.Status.Allocatable.DeepCopy()
	for _, p := range pods {
		requests := overhead.Requests(p, overhead.Options{})
		requests[v1.ResourcePods] = resource.MustParse("1")
		for name, has := range out.Status.Allocatable {
			if q, ok := requests[name]; ok {
				change(&has, q)
				out.Status.Allocatable[name] = has
			}
		}
	}
	return &out
}
