package lint

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/taints"
)

// reach says to which nodes pods can come. Workloads with the same node selector, required node affinity and tolerations share one: a cluster
// of 5,000 nodes and 5,000 workloads has 25 million pairs, and few reaches.
type reach struct {
	usable    []*v1.Node // that the node selector and required node affinity allow
	reachable []*v1.Node // the usable nodes that no cordon and no taint keeps pods off
	offers    map[v1.ResourceName]offer
}

// offer is what the nodes of a reach have of one resource.
type offer struct {
	largest resource.Quantity // of a usable node, 0 when none has any
	sum     int64             // of the reachable nodes, in whole units
}

// reach returns the reach of a workload.
func (c *checker) reach(w *work) *reach {
	if w.reach == nil {
		w.reach = c.reachOf(w.pod)
	}
	return w.reach
}

func (c *checker) reachOf(p *v1.Pod) *reach {
	decides := v1.PodSpec{NodeSelector: p.Spec.NodeSelector, Tolerations: p.Spec.Tolerations}
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		decides.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution}}
	}
	data, err := decides.Marshal()
	if known := c.shares[string(data)]; known != nil && err == nil {
		return known
	}
	r := &reach{offers: map[v1.ResourceName]offer{}}
	s, _ := affinity.CompileRequired(p) // terms that cannot be converted match nothing, as in v1.37
	for _, n := range c.nodes {
		if !s.Matches(n) {
			continue
		}
		r.usable = append(r.usable, n)
		can := c.open(p, n)
		if can {
			r.reachable = append(r.reachable, n)
		}
		for name, has := range n.Status.Allocatable {
			o := r.offers[name]
			if has.Cmp(o.largest) > 0 {
				o.largest = has
			}
			if can {
				o.sum += has.MilliValue() / 1000
			}
			r.offers[name] = o
		}
	}
	if c.shares == nil {
		c.shares = map[string]*reach{}
	}
	c.shares[string(data)] = r
	return r
}

// usable returns the nodes that a workload's node selector and required node affinity allow. The list is not to be changed.
func (c *checker) usable(w *work) []*v1.Node { return c.reach(w).usable }

// reachable returns the nodes that the pods of a workload can come to as far as the specification, cordon and taints decide. The list is not to
// be changed.
func (c *checker) reachable(w *work) []*v1.Node { return c.reach(w).reachable }

// cordoned is a node with the taint of a cordoned node.
var cordoned = &v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule}}}}

// open reports whether a pod may come to a node as far as cordon and taints decide.
func (c *checker) open(p *v1.Pod, n *v1.Node) bool {
	return (len(n.Spec.Taints) == 0 || taints.Untolerated(n, p.Spec.Tolerations, c.in.Plugins.Taints) == nil) &&
		(!n.Spec.Unschedulable || taints.Untolerated(cordoned, p.Spec.Tolerations, c.in.Plugins.Taints) == nil)
}
