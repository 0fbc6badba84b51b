package podgroup

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	own "github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/release"
)

// alone reports whether the situation is about a pod without a group.
func (w *world) alone() bool {
	_, ok := own.Of(w.s.Queued[0])
	return !ok
}

// single decides about a pod without a group on one path, and prints it as outcome does.
func (w *world) single(c *chances) string {
	pod := w.s.Queued[0]
	o := placement.Options{Tie: c.take}
	d := w.placer.Decide(pod, o)
	if d.Placed() {
		return pod.Name + " -> " + d.Node + "\nleave: "
	}
	r := w.placer.Preempt(pod, d.Failure, o, placement.PreemptOptions{Budgets: w.o.Preempt.Budgets, Now: w.o.Preempt.Now, Groups: &w.s.Gates})
	end := preemption.PostFilterOutcome{Preemption: r.Message}
	nominated := pod.Status.NominatedNodeName
	var gone []string
	switch {
	case r.Outcome == preemption.Success:
		equal := equals(r)
		chosen := equal[c.take(len(equal))]
		end = preemption.PostFilterOutcome{Node: chosen.Node, Victims: len(chosen.Victims)}
		nominated = chosen.Node
		for _, v := range chosen.Victims {
			if v.Pod.DeletionTimestamp == nil {
				gone = append(gone, v.Pod.Name)
			}
		}
	case r.ClearNomination:
		nominated = ""
	}
	line := fmt.Sprintf("%s: %s %s", pod.Name, d.Failure.Text(), preemption.PostFilterText(release.Current, end))
	if nominated != "" {
		line += " @" + nominated
	}
	slices.Sort(gone)
	return line + "\nleave: " + strings.Join(gone, " ")
}

// equals returns the candidates among which kube-scheduler chooses by chance.
func equals(r preemption.Result) (out []preemption.Candidate) {
	for _, c := range r.Candidates {
		if value(c) == value(r.Candidate) {
			out = append(out, c)
		}
	}
	return out
}

// value is what the choice among candidates compares, by the priorities and starts of the pods themselves.
func value(c preemption.Candidate) string {
	sum, highest := int64(0), podinfo.Priority(c.Victims[0].Pod)
	most := slices.MaxFunc(c.Victims, func(a, b preemption.Victim) int { return cmp.Compare(podinfo.Priority(a.Pod), podinfo.Priority(b.Pod)) })
	var first *v1.Pod
	for _, v := range c.Victims {
		sum += int64(podinfo.Priority(v.Pod)) + math.MaxInt32 + 1
		if podinfo.Priority(v.Pod) == podinfo.Priority(most.Pod) && (first == nil || v.Pod.Status.StartTime.Before(first.Status.StartTime)) {
			first = v.Pod
		}
	}
	return fmt.Sprint(c.Violations, highest, sum, len(c.Victims), first.Status.StartTime)
}
