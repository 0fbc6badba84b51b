package compare

import (
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/podberth/podberth/placement"
)

// decide compares one attempt: the outcome, how many nodes were looked at, the whole message and the plugins that wait for
// events. It returns the node that kube-scheduler chose, "" for none.
func (s *Side) decide(w *World, pod *v1.Pod, o placement.Options) (string, error) {
	result, theirErr := s.Real.Schedule(pod)
	return s.outcome(w, pod, o, w.Plan.Decide(pod, o), result, theirErr)
}

func (s *Side) outcome(w *World, pod *v1.Pod, o placement.Options, d placement.Decision, result scheduler.ScheduleResult, theirErr error) (string, error) {
	what := fmt.Sprintf("pod %s/%s", pod.Namespace, pod.Name)
	var fit *framework.FitError
	switch {
	case theirErr == nil:
		s.Seen.Produced("outcome", "Scheduled")
		if !same(s, "outcome", what, "placed", outcome(d)) {
			return "", nil
		}
		same(s, "outcome", what+" feasible nodes", result.FeasibleNodes, d.Feasible)
		same(s, "outcome", what+" evaluated nodes", result.EvaluatedNodes, evaluated(w, pod, o, d))
		s.choice(w, pod, o, d, result.SuggestedHost)
		return result.SuggestedHost, nil
	case errors.Is(theirErr, scheduler.ErrNoNodesAvailable):
		s.Seen.Produced("outcome", "no nodes")
		s.Seen.Message(theirErr.Error())
		if d.Failure == nil {
			s.differ("outcome", "%s: kube-scheduler has no nodes, podberth places", what)
			return "", nil
		}
		same(s, "message", what, theirErr.Error(), d.Failure.Text())
	case errors.As(theirErr, &fit):
		s.Seen.Produced("outcome", "Unschedulable")
		if !same(s, "outcome", what, "rejected", outcome(d)) {
			return "", nil
		}
		same(s, "message", what, fit.Error(), d.Failure.Text())
		s.Seen.Message(fit.Error())
		same(s, "rejecters", what, sorted(fit.Diagnosis.UnschedulablePlugins.UnsortedList()), sorted(d.Failure.Rejecters))
		for _, p := range d.Failure.Rejecters {
			s.Seen.Produced("rejecter", p)
		}
	default:
		s.Seen.Produced("outcome", "Error")
		if d.Failure == nil || d.Failure.Err == nil {
			s.differ("outcome", "%s: kube-scheduler fails with %v, podberth does not", what, theirErr)
			return "", nil
		}
		same(s, "error", what, theirErr.Error(), sameError(w, pod, o, theirErr, d.Failure.Err).Error())
	}
	return "", nil
}

// sameError returns the error of a node that equals kube-scheduler's, or ours if there is none. kube-scheduler filters nodes side
// by side: when filters fail on several nodes, chance decides whose error it reports. podberth reports that of the first node.
func sameError(w *World, pod *v1.Pod, o placement.Options, theirs, ours error) error {
	a := w.Plan.Prepare(pod)
	for i, v := range a.Verdicts(nil, o) {
		if v == placement.NotAsked() { // no filter was asked about the slot
			continue
		}
		if err := a.Predicates.Err(v, i); err != nil && err.Error() == theirs.Error() {
			return err
		}
	}
	return ours
}

func outcome(d placement.Decision) string {
	switch {
	case d.Placed():
		return "placed"
	case d.Failure.Err != nil:
		return "error: " + d.Failure.Err.Error()
	}
	return "rejected"
}

// choice checks that kube-scheduler's node has podberth's best total. Among nodes of equal total both may choose
// differently; Options.Tie exists for this.
func (s *Side) choice(w *World, pod *v1.Pod, o placement.Options, d placement.Decision, host string) {
	s.Seen.Compared("choice")
	if d.Node == host {
		return
	}
	a := w.Plan.Prepare(pod)
	found := a.Search(o)
	_, totals, err := a.Scores(found.Feasible)
	if err != nil {
		s.differ("choice", "pod %s: %v", pod.Name, err)
		return
	}
	at := slices.IndexFunc(found.Feasible, func(i int) bool { return w.Snapshot.Node(i).Name == host })
	if at < 0 {
		s.differ("choice", "pod %s: kube-scheduler takes %s, podberth finds it not feasible", pod.Name, host)
		return
	}
	if totals[at] != slices.Max(totals) {
		s.differ("choice", "pod %s: kube-scheduler takes %s with total %d, podberth %s with %d", pod.Name, host, totals[at], d.Node, slices.Max(totals))
	}
	if mine := slices.Index(found.Feasible, d.Slot); mine < 0 || totals[mine] != slices.Max(totals) || d.Total != slices.Max(totals) {
		s.differ("reuse", "pod %s: decided %s with total %d; asked anew the best total is %d", pod.Name, d.Node, d.Total, slices.Max(totals))
	}
	s.Seen.Produced("choice", "tie")
}

// evaluated returns kube-scheduler's count of evaluated nodes when the search stops early. Its worker goes on after the
// last feasible node that it needs, up to the next feasible node, and drops that node.
func evaluated(w *World, pod *v1.Pod, o placement.Options, d placement.Decision) int {
	n := d.Evaluated
	if pod.Status.NominatedNodeName != "" || n >= d.Nodes {
		return n
	}
	a := w.Plan.Prepare(pod)
	candidates := a.Candidates()
	for ; n < len(candidates); n++ {
		if a.Predicates.First(candidates[(o.Next+n)%len(candidates)]).Verdict == 0 {
			break
		}
	}
	return n
}
