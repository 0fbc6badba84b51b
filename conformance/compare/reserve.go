package compare

import (
	"fmt"

	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/placement"
)

// Reserve schedules the pending pods one after the other. A placed pod gets promised volumes, so that later pods find fewer
// volumes.
func (s *Side) Reserve(c *gen.Cluster) ([]Difference, error) {
	w, err := s.Load(c)
	if err != nil {
		return nil, err
	}
	for _, pod := range c.Pending {
		a, err := s.Real.Attempt(pod)
		if err != nil {
			return nil, err
		}
		d := w.Plan.Decide(pod, placement.Options{})
		node, err := s.outcome(w, pod, placement.Options{}, d, a.Result, a.Err)
		if err != nil {
			return nil, err
		}
		if node == "" {
			if len(s.differences) > 0 {
				break
			}
			continue
		}
		d.Node, d.Slot = node, w.Snapshot.Slot(node)
		d.Volumes = w.Plan.Prepare(pod).Volumes(d.Slot)
		if !d.Volumes.Empty() {
			s.Seen.Produced("reserve", "with promises")
		}
		bound := pod.DeepCopy()
		bound.Spec.NodeName = node
		theirs, ours := a.Reserve(node), w.Plan.Assume(bound, d)
		same(s, "reserve", fmt.Sprintf("pod %s/%s on %s", pod.Namespace, pod.Name, node), theirs == nil, ours == nil)
		if theirs != nil || ours != nil {
			break
		}
	}
	return s.differences, nil
}
