package compare

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/placement"
)

// Sequence schedules all pending pods one after the other, each from the cluster that the ones before have left, with one
// plan that keeps what it can. Both follow kube-scheduler's choices. From time to time a running pod leaves.
func (s *Side) Sequence(c *gen.Cluster) ([]Difference, error) {
	w, err := s.Load(c)
	if err != nil {
		return nil, err
	}
	next := 0
	for k, pod := range c.Pending {
		if k%17 == 16 && len(c.Pods) > k/17 {
			// When two pods share a host port on a node and one of them leaves, kube-scheduler takes the port for free.
			if gone := c.Pods[k/17]; !hostPorts(gone) && w.Snapshot.Pod(gone.Namespace, gone.Name) != nil && w.Snapshot.Remove(gone) == nil {
				if err := s.Real.Remove(gone); err != nil {
					return nil, err
				}
			}
		}
		result, theirErr := s.Real.Schedule(pod)
		o := placement.Options{Next: next}
		d := w.Plan.Decide(pod, o)
		next = d.Next
		if d.Feasible > 0 && d.Evaluated < d.Nodes { // kube-scheduler continues after the nodes that it needed
			next = (o.Next + evaluated(w, pod, o, d)) % d.Nodes
		}
		node, err := s.outcome(w, pod, o, d, result, theirErr)
		if err != nil {
			return nil, err
		}
		if len(s.differences) > 0 {
			s.differences[len(s.differences)-1].Text += fmt.Sprintf(" (pod %d of %d)", k, len(c.Pending))
			break // what follows would start from different clusters
		}
		if node != "" {
			if err := s.assume(w, pod, node); err != nil {
				return nil, err
			}
		}
	}
	return s.differences, nil
}

// Repeat replaces the pending pods with a sequence of n pods: replicas of a few templates in turn.
func Repeat(c *gen.Cluster, n int) *gen.Cluster {
	d := *c
	d.Pending = nil
	for k := range n {
		if len(c.Pending) == 0 {
			break
		}
		p := c.Pending[(k/3+k%2)%len(c.Pending)].DeepCopy()
		p.Name = fmt.Sprintf("s%d", k)
		p.UID = types.UID(fmt.Sprintf("%s-%d", p.UID, k))
		d.Pending = append(d.Pending, p)
	}
	return &d
}

func hostPorts(pod *v1.Pod) bool {
	for _, list := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			for _, p := range list[i].Ports {
				if p.HostPort > 0 {
					return true
				}
			}
		}
	}
	return false
}
