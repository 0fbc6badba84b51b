package podgroup

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit/situation"
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
		equal := w.best(r.Candidates, c)
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

// best are the candidates among which kube-scheduler chooses by chance. A candidate is as important as the first of its victims, and the pods
// of a unit have a random order.
func (w *world) best(list []preemption.Candidate, c *chances) (out []preemption.Candidate) {
	var least worth
	for _, x := range list {
		first := []int32{podinfo.Priority(x.Victims[0].Pod)}
		unit, _, _ := own.UnitOf(w.snapshot, x.Victims[0].Pod, w.s.Gates)
		for _, v := range x.Victims[1:] {
			if other, _, _ := own.UnitOf(w.snapshot, v.Pod, w.s.Gates); unit != nil && other != nil && other.String() == unit.String() {
				first = append(first, podinfo.Priority(v.Pod))
			}
		}
		slices.Sort(first)
		first = slices.Compact(first)
		v := worthOf(x, first[c.take(len(first))])
		switch d := v.compare(least); {
		case out == nil || d < 0:
			least, out = v, []preemption.Candidate{x}
		case d == 0:
			out = append(out, x)
		}
	}
	return out
}

// worth is what the choice among candidates compares, by the priorities and starts of the pods themselves.
type worth struct {
	violations int64
	first      int32
	sum        int64
	pods       int
	start      int64 // of the pods with the highest priority, the earliest
}

func (v worth) compare(o worth) int {
	return cmp.Or(cmp.Compare(v.violations, o.violations), cmp.Compare(v.first, o.first), cmp.Compare(v.sum, o.sum), cmp.Compare(v.pods, o.pods), cmp.Compare(o.start, v.start))
}

func worthOf(c preemption.Candidate, first int32) worth {
	v := worth{violations: c.Violations, first: first, pods: len(c.Victims)}
	highest := int32(math.MinInt32)
	for _, x := range c.Victims {
		p := podinfo.Priority(x.Pod)
		v.sum += int64(p) + math.MaxInt32 + 1
		start := podinfo.Start(x.Pod, situation.Noon).Unix()
		switch {
		case p > highest:
			highest, v.start = p, start
		case p == highest:
			v.start = min(v.start, start)
		}
	}
	return v
}
