package lint

import (
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

// left returns the nodes that a workload can reach, and in their allocatable amounts what other pods of at least its priority leave free.
func (c *checker) left(w *work) []*v1.Node {
	own, taken := labels.SelectorFromSet(w.pod.Labels), map[string][]*v1.Pod{}
	for _, p := range c.in.Cluster.Pods {
		replica := p.Namespace == w.pod.Namespace && own.Matches(labels.Set(p.Labels)) // it is one of the replicas, or counted as one
		if p.Spec.NodeName != "" && !replica && !cluster.Finished(p) && podinfo.Priority(p) >= podinfo.Priority(w.pod) {
			taken[p.Spec.NodeName] = append(taken[p.Spec.NodeName], p)
		}
	}
	var out []*v1.Node
	for _, n := range c.reachable(w) {
		left := *n
		left.Status.Allocatable = n.Status.Allocatable.DeepCopy()
		for _, p := range taken[n.Name] {
			requests := overhead.Requests(p, overhead.Options{})
			requests[v1.ResourcePods] = resource.MustParse("1")
			for name, has := range left.Status.Allocatable {
				if q, ok := requests[name]; ok {
					has.Sub(q)
					left.Status.Allocatable[name] = has
				}
			}
		}
		out = append(out, &left)
	}
	return out
}
