package compare

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/preemption/optimal"
)

// Across asks kube-scheduler about the best victims on several nodes, which kube-scheduler itself never looks for: it must place the
// pod when the victims are gone, and must not place the pod on that node when one of them stays.
func (s *Side) Across(c *gen.Cluster) ([]Difference, error) {
	w, err := s.Load(c)
	if err != nil {
		return nil, err
	}
	search, err := optimal.New(optimal.Options{})
	if err != nil {
		return nil, err
	}
	budgets := disruption.NewBudgets(c.PodDisruptionBudgets, disruption.BudgetOptions{})
	for _, pod := range c.Pending {
		d := w.Plan.Decide(pod, placement.Options{})
		if d.Placed() || d.Failure.Err != nil {
			continue
		}
		r := w.Plan.Preempt(pod, d.Failure, placement.Options{}, placement.PreemptOptions{
			Budgets: budgets, Now: gen.Now, Options: search.Options(preemption.Options{CrossNode: &preemption.CrossNode{}}),
		})
		if r.Outcome != preemption.Success || r.Foreign == 0 {
			continue
		}
		what := fmt.Sprintf("pod %s/%s on %s without %d victims", pod.Namespace, pod.Name, r.Node, len(r.Victims))
		if !needsPods(pod) {
			same(s, "across/proof", what, true, search.Proof().Optimal)
		}
		text, err := s.without(c, pod, r.Candidate)
		if err != nil {
			return nil, err
		}
		same(s, "across/accepted", what, "", text)
		for k := range r.Victims {
			fewer := r.Candidate
			fewer.Victims = slices.Delete(slices.Clone(r.Victims), k, k+1)
			text, err := s.without(c, pod, fewer)
			if err != nil {
				return nil, err
			}
			same(s, "across/needed", what+", but with "+r.Victims[k].Pod.Name, false, text == "")
		}
		s.Seen.Found("victims on other nodes", fmt.Sprint(r.Foreign))
		return s.differences, nil
	}
	return s.differences, nil
}

// needsPods reports whether a preemptor may need several pods of other nodes: the search may be cut, and says so.
func needsPods(pod *v1.Pod) bool {
	if a := pod.Spec.Affinity; a != nil && a.PodAffinity != nil && len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 1 {
		return true
	}
	return slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, func(t v1.TopologySpreadConstraint) bool { return t.WhenUnsatisfiable == v1.DoNotSchedule })
}

// Gang asks kube-scheduler about the places of a gang when the victims are gone: it must accept every pod on its node, one after the
// other.
func (s *Side) Gang(c *gen.Cluster) ([]Difference, error) {
	w, err := s.Load(c)
	if err != nil {
		return nil, err
	}
	plan, err := optimal.PlaceGang(optimal.Gang{Snapshot: w.Snapshot, Pods: c.Pending, Now: gen.Now}, optimal.Options{})
	if err != nil {
		return nil, err
	}
	s.Seen.Compared("gang/plan")
	if !plan.Placed {
		s.Seen.Found("gang", "no place")
		return nil, nil
	}
	s.Seen.Found("gang", fmt.Sprintf("%d victims", len(plan.Victims)))
	if _, err := s.Load(withoutVictims(c, plan.Victims)); err != nil {
		return nil, err
	}
	order := make([]int, len(c.Pending))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(preemption.Priority(c.Pending[b]), preemption.Priority(c.Pending[a]))
	})
	for _, k := range order {
		pod := c.Pending[k].DeepCopy()
		pod.Status.NominatedNodeName = plan.Nodes[k]
		a, err := s.Real.Attempt(pod)
		if err != nil {
			return nil, err
		}
		host := a.Result.SuggestedHost
		if a.Err != nil {
			host = a.Err.Error()
		}
		if !same(s, "gang/accepted", fmt.Sprintf("pod %s/%s of %v", pod.Namespace, pod.Name, plan.Nodes), plan.Nodes[k], host) {
			break // what follows would start from another cluster
		}
		if err := s.Real.Assume(pod, plan.Nodes[k]); err != nil {
			return nil, err
		}
	}
	return s.differences, nil
}
