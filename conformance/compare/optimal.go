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

// Optimal holds the best victims against kube-scheduler's choice for the first pending pod that fits nowhere and for which kube-scheduler finds
// victims among all nodes. kube-scheduler must place the pod on the node when the victims are gone. The best victims must not be
// worse in the default order of criteria than kube-scheduler's, if kube-scheduler places the pod when kube-scheduler's victims are gone.
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
		return s.differences, s.better(c, w, pod, search, theirs, ours)
	}
	return s.differences, nil
}

// better compares the values of both choices, and asks kube-scheduler about the cluster without the victims.
func (s *Side) better(c *gen.Cluster, w *World, pod *v1.Pod, search *optimal.Search, theirs real.Preemption, ours preemption.Result) error {
	what := fmt.Sprintf("pod %s/%s", pod.Namespace, pod.Name)
	same(s, "optimal/proof", what, true, search.Proof().Optimal)
	candidate := s.candidate(c, w, theirs)
	real, best, found := search.Of(candidate, gen.Now), search.Of(ours.Candidate, gen.Now), ours.Outcome == preemption.Success
	if found {
		text, err := s.without(c, pod, ours.Candidate)
		if err != nil {
			return err
		}
		same(s, "optimal/accepted", fmt.Sprintf("%s on %s without the victims", what, ours.Node), "", text)
	}
	d := optimal.Compare(best, real, optimal.DefaultOrder())
	if !found || d > 0 {
		text, err := s.without(c, pod, candidate)
		if err != nil || text != "" {
			s.Seen.Found("best victims", "kube-scheduler's victims give no room")
			return err
		}
	}
	if !same(s, "optimal/found", what, true, found) {
		return nil
	}
	s.Seen.Compared("optimal/values")
	switch {
	case d > 0:
		s.differ("optimal/values", "%s: kube-scheduler's victims on %s have %v, podberth's on %s are worse: %v", what, candidate.Node, real, ours.Node, best)
	case d == 0:
		s.Seen.Found("best victims", "as good as kube-scheduler's")
	default:
		s.gain(real, best)
	}
	return nil
}

// gain counts by how much the best victims are better.
func (s *Side) gain(real, best optimal.Values) {
	s.Seen.Found("best victims", "better than kube-scheduler's")
	for _, criterion := range optimal.DefaultOrder() {
		if best[criterion] != real[criterion] {
			s.Seen.Found("best victims", "better by "+criterion.String())
			break
		}
	}
	if n := real[optimal.Violations] - best[optimal.Violations]; n > 0 {
		s.Seen.Found("best victims", fmt.Sprintf("%d budgets kept", n))
	}
	if n := real[optimal.Victims] - best[optimal.Victims]; n > 0 {
		s.Seen.Found("best victims", fmt.Sprintf("%d victims saved", n))
	}
}

// candidate returns kube-scheduler's choice as a candidate of podberth.
func (s *Side) candidate(c *gen.Cluster, w *World, theirs real.Preemption) preemption.Candidate {
	chosen := theirs.Candidates[slices.IndexFunc(theirs.Candidates, func(v real.Victims) bool { return v.Node == theirs.Chosen })]
	candidate := preemption.Candidate{Node: chosen.Node, Slot: w.Snapshot.Slot(chosen.Node), Violations: chosen.Violations}
	for _, name := range chosen.Pods {
		k := slices.IndexFunc(c.Pods, func(p *v1.Pod) bool { return p.Namespace+"/"+p.Name == name })
		candidate.Victims = append(candidate.Victims, preemption.Victim{Placed: preemption.Placed{Pod: c.Pods[k], Slot: candidate.Slot}})
	}
	return candidate
}

// without asks kube-scheduler whether the pod fits on the candidate's node when the victims are gone. The result is empty if the
// pod does, and says why not otherwise. A nominated node is tried before all others.
func (s *Side) without(c *gen.Cluster, pod *v1.Pod, candidate preemption.Candidate) (string, error) {
	found := s.differences
	if _, err := s.Load(withoutVictims(c, candidate.Victims)); err != nil {
		return "", err
	}
	s.differences = found
	nominated := pod.DeepCopy()
	nominated.Status.NominatedNodeName = candidate.Node
	a, err := s.Real.Attempt(nominated)
	switch {
	case err != nil:
		return "", err
	case a.Err != nil:
		return a.Err.Error(), nil
	case a.Result.SuggestedHost != candidate.Node:
		return "the pod goes to " + a.Result.SuggestedHost, nil
	}
	return "", nil
}

// withoutVictims returns the cluster without some pods.
func withoutVictims(c *gen.Cluster, victims []preemption.Victim) *gen.Cluster {
	rest := *c
	rest.Pods = slices.DeleteFunc(slices.Clone(c.Pods), func(p *v1.Pod) bool {
		return slices.ContainsFunc(victims, func(v preemption.Victim) bool { return v.Pod == p })
	})
	return &rest
}
