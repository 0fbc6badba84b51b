package compare

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/planning/packing"
)

// Packing carries out a plan of package planning/packing for the pending pods: all pods that the plan moves or evicts leave, and
// kube-scheduler decides about every pod that gets a node, in the order of the actions. The pods are nominated to their nodes.
func (s *Side) Packing(c *gen.Cluster) ([]Difference, error) {
	w, err := s.Load(c)
	if err != nil {
		return nil, err
	}
	plan, err := packing.Pack(packing.Input{Snapshot: w.Snapshot, Pending: c.Pending, Now: gen.Now}, packing.Options{Steps: 300, Seed: uint64(c.Seed)})
	if err != nil {
		return nil, err
	}
	s.Seen.Compared("packing/plan")
	if plan.LeaveIt {
		s.Seen.Produced("packing", "kube-scheduler is enough")
		return nil, nil
	}
	rest := *c
	rest.Pods = slices.DeleteFunc(slices.Clone(c.Pods), func(p *v1.Pod) bool {
		return slices.ContainsFunc(plan.Actions, func(a packing.Action) bool { return a.From != "" && a.Pod == p.Namespace+"/"+p.Name })
	})
	if _, err := s.Load(&rest); err != nil {
		return nil, err
	}
	for _, a := range plan.Actions {
		switch {
		case a.To == "":
			s.Seen.Produced("packing", "an eviction")
			continue
		case a.From != "":
			s.Seen.Produced("packing", "a move")
		default:
			s.Seen.Produced("packing", "a first node")
		}
		pod := a.Placed.DeepCopy()
		pod.Status.NominatedNodeName = a.To
		attempt, err := s.Real.Attempt(pod)
		if err != nil {
			return nil, err
		}
		host := attempt.Result.SuggestedHost
		if attempt.Err != nil {
			host = attempt.Err.Error()
		}
		if !same(s, "packing/accepted", fmt.Sprintf("%s with %v", a.Pod, plan.Actions), a.To, host) {
			break // what follows would start from another cluster
		}
		if err := s.Real.Assume(pod, a.To); err != nil {
			return nil, err
		}
	}
	return s.differences, nil
}
