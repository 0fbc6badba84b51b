package compare

import (
	"maps"
	"math/rand"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

// PreemptExtended compares preemption with extenders that leave out nodes and victims, add victims, fail, or name nobody: the
// node, or the message.
func (s *Side) PreemptExtended(c *gen.Cluster) ([]Difference, error) {
	w, err := s.Load(c)
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewSource(c.Seed))
	budgets := disruption.NewBudgets(c.PodDisruptionBudgets, disruption.BudgetOptions{})
	for _, pod := range c.Pending {
		a, err := s.Real.Attempt(pod)
		if err != nil {
			return nil, err
		}
		if a.Fit() == nil {
			continue
		}
		po := placement.PreemptOptions{Budgets: budgets, Now: gen.Now, Options: preemption.Options{Release: s.Release}}
		var theirs []fwk.Extender
		for range 1 + r.Intn(2) {
			e := &extender{seed: r.Int63(), ignorable: r.Intn(2) == 0, fails: r.Intn(6) == 0, interested: true, victims: w.victims}
			theirs = append(theirs, e)
			po.Extenders = append(po.Extenders, preemption.Extender{Name: extenderName, Ignorable: e.ignorable, Process: e.process})
		}
		if err := s.preemptExtended(pod, a, theirs, w.Plan.Preempt(pod, w.Plan.Decide(pod, placement.Options{}).Failure, placement.Options{}, po)); err != nil {
			return nil, err
		}
	}
	return s.differences, nil
}

func (s *Side) preemptExtended(pod *v1.Pod, a *real.Attempt, theirs []fwk.Extender, ours preemption.Result) error {
	what := "pod " + pod.Namespace + "/" + pod.Name
	node, status, err := a.PreemptWith(theirs)
	if err != nil {
		return err
	}
	s.Seen.Produced("extender/preemption", status.Code().String())
	same(s, "extender/preemption", what+" code", status.Code().String(), string(ours.Outcome))
	s.Seen.Compared("extender/preemption")
	if status.IsSuccess() {
		s.node("extender/preemption", what, node, ours)
		return nil
	}
	text, message := status.Message(), ours.Message
	if strings.HasPrefix(text, "expected at least one victim") { // of several nodes kube-scheduler names any
		text, message = normalText(text), normalText(message)
	}
	if same(s, "extender/preemption", what+" message", text, message) {
		s.Seen.Message("preemption: " + status.Message())
	}
	return nil
}

// victims are the pods of a node in the order of their names. An extender may name any of them.
func (w *World) victims(node string) (out []*v1.Pod) {
	for p := range w.Snapshot.Pods(w.Snapshot.Slot(node)) {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *v1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// change returns the victims of one node after the extender; keep is false if the extender leaves out the node.
func (e *extender) change(node string, pods []*v1.Pod, violations int64) (_ []*v1.Pod, _ int64, keep bool) {
	switch e.roll(node, 8) {
	case 0:
		return nil, 0, false
	case 1:
		return nil, violations, true
	case 2:
		return pods[:1], violations, true
	case 3:
		return e.victims(node), violations, true
	case 4:
		return pods, int64(e.roll(node+"violations", 3)), true
	case 5:
		return append([]*v1.Pod{pods[0]}, pods...), violations, true // a victim named twice
	}
	return pods, violations, true
}

func (e *extender) ProcessPreemption(_ *v1.Pod, in map[string]*extenderv1.Victims, _ fwk.NodeInfoLister) (map[string]*extenderv1.Victims, error) {
	if e.fails {
		return nil, errExtender
	}
	out := map[string]*extenderv1.Victims{}
	for _, node := range slices.Sorted(maps.Keys(in)) {
		if pods, violations, keep := e.change(node, in[node].Pods, in[node].NumPDBViolations); keep {
			out[node] = &extenderv1.Victims{Pods: pods, NumPDBViolations: violations}
		}
	}
	return out, nil
}

// process is the same for podberth.
func (e *extender) process(_ *v1.Pod, in []preemption.Candidate) (out []preemption.ExtenderVictims, err error) {
	if e.fails {
		return nil, errExtender
	}
	for _, c := range in {
		var pods []*v1.Pod
		for _, v := range c.Victims {
			pods = append(pods, v.Pod)
		}
		pods, violations, keep := e.change(c.Node, pods, c.Violations)
		if !keep {
			continue
		}
		x := preemption.ExtenderVictims{Node: c.Node, Violations: violations}
		for _, p := range pods {
			x.UIDs = append(x.UIDs, p.UID)
		}
		out = append(out, x)
	}
	return out, nil
}
