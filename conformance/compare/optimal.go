package compare

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/preemption/optimal"
)

// Optimal holds the best victims against v1.36's choice for the first pending pod that fits nowhere and for which v1.36 finds
// victims among all nodes. The best victims must not be worse in the default order of criteria, and kube-scheduler's filters
// must accept the pod when they are gone.
func (s *Side) Optimal(c *gen.Cluster) ([]Difference, error) {
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
		a, err := s.Real.Attempt(pod)
		if err != nil {
			return nil, err
		}
		d := w.Plan.Decide(pod, placement.Options{})
		if a.Fit() == nil || d.Placed() || d.Failure.Err != nil {
			continue
		}
		theirs, err := a.Preempt()
		if err != nil {
			return nil, err
		}
		if len(theirs.Candidates) == 0 {
			continue
		}
		ours := w.Plan.Preempt(pod, d.Failure, placement.Options{}, placement.PreemptOptions{
			Budgets: budgets, Now: gen.Now, Options: search.Options(preemption.Options{}),
		})
		s.better(c, w, pod, search, theirs, ours)
		if ours.Outcome == preemption.Success {
			return s.differences, s.accepted(c, pod, ours)
		}
		break
	}
	return s.differences, nil
}

// better compares the values of both choices.
func (s *Side) better(c *gen.Cluster, w *World, pod *v1.Pod, search *optimal.Search, theirs real.Preemption, ours preemption.Result) {
	what := fmt.Sprintf("pod %s/%s", pod.Namespace, pod.Name)
	if !same(s, "optimal/found", what, true, ours.Outcome == preemption.Success) || !same(s, "optimal/proof", what, true, search.Proof().Optimal) {
		return
	}
	chosen := theirs.Candidates[slices.IndexFunc(theirs.Candidates, func(v real.Victims) bool { return v.Node == theirs.Chosen })]
	candidate := preemption.Candidate{Node: chosen.Node, Slot: w.Snapshot.Slot(chosen.Node), Violations: chosen.Violations}
	for _, name := range chosen.Pods {
		k := slices.IndexFunc(c.Pods, func(p *v1.Pod) bool { return p.Namespace+"/"+p.Name == name })
		candidate.Victims = append(candidate.Victims, preemption.Victim{Placed: preemption.Placed{Pod: c.Pods[k], Slot: candidate.Slot}})
	}
	real, best := search.Of(candidate, gen.Now), search.Of(ours.Candidate, gen.Now)
	s.Seen.Compared("optimal/values")
	switch d := optimal.Compare(best, real, optimal.DefaultOrder()); {
	case d < 0:
		s.Seen.Produced("best victims", "better than kube-scheduler's")
	case d == 0:
		s.Seen.Produced("best victims", "as good as kube-scheduler's")
	default:
		s.differ("optimal/values", "%s: kube-scheduler's victims on %s have %v, podberth's on %s are worse: %v", what, chosen.Node, real, ours.Node, best)
	}
}

// accepted asks kube-scheduler whether the pod fits when the victims are gone.
func (s *Side) accepted(c *gen.Cluster, pod *v1.Pod, ours preemption.Result) error {
	without := *c
	without.Pods = slices.DeleteFunc(slices.Clone(c.Pods), func(p *v1.Pod) bool {
		return slices.ContainsFunc(ours.Victims, func(v preemption.Victim) bool { return v.Pod == p })
	})
	found := s.differences
	if _, err := s.Load(&without); err != nil {
		return err
	}
	s.differences = found
	a, err := s.Real.Attempt(pod)
	if err != nil {
		return err
	}
	text := ""
	if fit := a.Fit(); fit != nil {
		text = fit.Error()
	}
	same(s, "optimal/accepted", fmt.Sprintf("pod %s/%s on %s without the victims", pod.Namespace, pod.Name, ours.Node), text, "")
	return nil
}
