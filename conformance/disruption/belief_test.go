package disruption_test

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/disruption"
)

// belief is a status that podberth's rules allow at this moment. The controller asks the pods in random order for their
// controllers and fails with the first that has none: then there are several, until the real status tells which it is.
type belief struct {
	status  policyv1.PodDisruptionBudgetStatus
	recheck time.Time // when the controller checks again by itself; zero: never
}

// orders are orders of the pods that together give every outcome: each pod is once the first to fail and once the last.
func (w *cluster) orders() [][]*v1.Pod {
	var found, lost []*v1.Pod
	for _, p := range w.list() {
		if owner := metav1.GetControllerOf(p); owner != nil {
			if _, _, err := w.work(p, *owner); err != nil {
				lost = append(lost, p)
				continue
			}
		}
		found = append(found, p)
	}
	out := [][]*v1.Pod{slices.Concat(found, lost)}
	for i, p := range lost {
		others := slices.Delete(slices.Clone(lost), i, i+1)
		out = append(out, slices.Concat([]*v1.Pod{p}, found, others))
	}
	return out
}

// sync lets the controller of a belief look at the budget.
func (w *cluster) sync(b belief, now time.Time) (out []belief) {
	budget := *w.pdb
	budget.Status = b.status
	for _, pods := range w.orders() {
		x := disruption.Sync(&budget, pods, w.work, now)
		next := belief{x.Status, b.recheck}
		if !x.Recheck.IsZero() && (next.recheck.IsZero() || x.Recheck.Before(next.recheck)) {
			next.recheck = x.Recheck
		}
		out = append(out, next)
	}
	return distinct(out)
}

func distinct(list []belief) (out []belief) {
	seen := map[string]bool{}
	for _, b := range list {
		if key := text(b.status) + b.recheck.String(); !seen[key] {
			seen[key] = true
			out = append(out, b)
		}
	}
	return out
}

// advance lets time pass: the controller looks again when an eviction runs out, and once more, since it runs out after that
// moment, not at it.
func (w *cluster) advance(b belief, end time.Time) (out []belief) {
	at := b.recheck
	if at.IsZero() || at.After(end) {
		return []belief{b}
	}
	w.Count("recheck")
	b.recheck = time.Time{}
	for _, next := range w.sync(b, at) {
		if next.recheck.Equal(at) {
			next.recheck = at.Add(1)
		}
		out = append(out, w.advance(next, end)...)
	}
	return distinct(out)
}

func (w *cluster) each(f func(belief) []belief) {
	var out []belief
	for _, b := range w.beliefs {
		out = append(out, f(b)...)
	}
	w.beliefs = distinct(out)
}
