package compare

import (
	"fmt"
	"math/rand"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/preemption/optimal"
)

// Preemption compares, for each pending pod that fits nowhere: whether it may preempt, the victims and broken budgets of each
// node in order, the node chosen, and the whole message with what the PostFilter plugins say. Pods that fit are placed.
func (s *Side) Preemption(c *gen.Cluster) ([]Difference, error) {
	w, err := s.Load(c)
	if err != nil {
		return nil, err
	}
	nominated, err := s.nominate(c)
	if err != nil {
		return nil, err
	}
	o := placement.Options{}
	if len(nominated) > 0 {
		o.Nominated = func(i int) []*v1.Pod { return nominated[w.Snapshot.Node(i).Name] }
	}
	budgets := disruption.NewBudgets(c.PodDisruptionBudgets, disruption.BudgetOptions{})
	for k, pod := range c.Pending {
		a, err := s.Real.Attempt(pod)
		if err != nil {
			return nil, err
		}
		d := w.Plan.Decide(pod, o)
		if a.Fit() == nil {
			node, err := s.outcome(w, pod, o, d, a.Result, a.Err)
			if err != nil {
				return nil, err
			}
			if node != "" && pod.Status.NominatedNodeName == "" {
				// Victims without a start time are compared by the clock, which is read again for each comparison.
				started := pod.DeepCopy()
				at := metav1.NewTime(gen.Epoch.Add(time.Duration(100+k) * time.Second))
				started.Status.StartTime = &at
				if err := s.assume(w, started, node); err != nil {
					return nil, err
				}
			}
			continue
		}
		if d.Placed() || d.Failure.Err != nil {
			same(s, "outcome", "pod "+pod.Name, "rejected", outcome(d))
			continue
		}
		// Some searches begin in the middle and stop early.
		from, args := 0, config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 10, MinCandidateNodesAbsolute: 100}
		if r := rand.New(rand.NewSource(c.Seed + int64(k))); r.Intn(3) == 0 {
			from = r.Intn(5)
			args.MinCandidateNodesPercentage, args.MinCandidateNodesAbsolute = int32(r.Intn(4)*25), int32(1+r.Intn(3))
		}
		po := placement.PreemptOptions{Budgets: budgets, Now: gen.Now}
		po.Options.Offset, po.Options.Release = from, s.Release
		po.Options.Candidates = preemption.CandidateArgs{MinPercentage: &args.MinCandidateNodesPercentage, MinAbsolute: &args.MinCandidateNodesAbsolute}
		if err := s.preempt(w, pod, a, from, args, d, w.Plan.Preempt(pod, d.Failure, o, po)); err != nil {
			return nil, err
		}
	}
	return s.differences, nil
}

// node compares the nodes for which victims leave. Where podberth chose by name, kube-scheduler leaves the choice to chance: then its
// candidate must be as good as podberth's by all other criteria.
func (s *Side) node(area, what, theirs string, ours preemption.Result) {
	s.Seen.Compared(area)
	if theirs == ours.Node {
		return
	}
	search, err := optimal.New(optimal.Options{})
	k := slices.IndexFunc(ours.Candidates, func(c preemption.Candidate) bool { return c.Node == theirs })
	if err != nil || k < 0 || ours.Criterion != preemption.SmallestName ||
		optimal.Compare(search.Of(ours.Candidates[k], gen.Now), search.Of(ours.Candidate, gen.Now), optimal.DefaultOrder()) != 0 {
		s.differ(area, "%s: kube-scheduler chooses %s, podberth %s by %s (%v)", what, theirs, ours.Node, ours.Criterion, err)
		return
	}
	s.Seen.Produced("preemption", "another node of equal victims")
}

func (s *Side) preempt(w *World, pod *v1.Pod, a *real.Attempt, from int, args config.DefaultPreemptionArgs, d placement.Decision, ours preemption.Result) error {
	what := fmt.Sprintf("pod %s/%s", pod.Namespace, pod.Name)
	pre := w.Plan.Prepare(pod).Pre
	theirs, err := a.PreemptFrom(from, args)
	if err != nil {
		return fmt.Errorf("preemption of %s: %w", what, err)
	}
	// A PreFilter plugin before DynamicResources ended the attempt, so that the PostFilter of DynamicResources does not find what its
	// PreFilter would have left.
	stopped := pre.Code == filter.Error || pre.Code == filter.UnschedulableAndUnresolvable
	if !theirs.Eligible {
		s.Seen.Produced("preemption", theirs.Why)
		same(s, "preemption/eligible", what, theirs.Why, ours.Message)
	}
	same(s, "preemption/outcome", what, len(theirs.Candidates) > 0, ours.Outcome == preemption.Success)
	if theirs.Failed != nil {
		same(s, "preemption/error", what, anyClaim(theirs.Failed.Error()), anyClaim(errText(ours.Err)))
		return nil
	}
	var list []string
	for _, c := range ours.Candidates {
		v := real.Victims{Node: c.Node, Violations: c.Violations}
		for _, x := range c.Victims {
			v.Pods = append(v.Pods, x.Pod.Namespace+"/"+x.Pod.Name)
		}
		list = append(list, fmt.Sprint(v))
	}
	var real []string
	for _, c := range theirs.Candidates {
		real = append(real, fmt.Sprint(c))
		s.Seen.Produced("preemption", fmt.Sprintf("%d victims", min(len(c.Pods), 4)))
		s.Seen.Produced("preemption", fmt.Sprintf("%d violations", min(c.Violations, 2)))
	}
	if !same(s, "preemption/candidates", what, strings.Join(real, "\n"), strings.Join(list, "\n")) {
		return nil
	}
	if len(theirs.Candidates) > 0 {
		if ours.Criterion != preemption.SmallestName { // which kube-scheduler leaves to chance
			s.Seen.Produced("preemption", "chosen by "+string(ours.Criterion))
		}
		s.node("preemption/node", what, theirs.Chosen, ours)
		return nil
	}
	m := d.Failure.Message
	m.PostFilter = preemption.PostFilterText(s.Release, preemption.PostFilterOutcome{Stopped: stopped, Preemption: ours.Message})
	full := a.PostFilter()
	s.Seen.Message(full)
	same(s, "preemption/message", what, full, m.String())
	return nil
}

// notOwner names the claim that ends an attempt. It is the first of the node's pods, whose order follows from the removal of victims.
var notOwner = regexp.MustCompile(`PVC \S+ was not created for pod \S+ \(pod is not owner\)$`)

func anyClaim(text string) string {
	return notOwner.ReplaceAllLiteralString(text, "PVC … was not created for pod … (pod is not owner)")
}
