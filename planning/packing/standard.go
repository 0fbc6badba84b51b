package packing

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

// standard plays kube-scheduler: it decides about the queue in order, with preemption. Victims leave at once, are made again, and
// are decided about again after the queue. Pods without a node are tried again while anything changes. Nominated pods hold room.
type standard struct {
	placer      *placement.Placer
	nominations *placement.Nominations
	budgets     *disruption.Budgets
	in          *Input

	of     map[*v1.Pod]int // items by pod, as it runs or is made again
	model  *model
	broken bool // a preemption broke a budget
	next   int
}

// play returns where kube-scheduler leaves every item, and whether it broke a disruption budget.
func (m *model) play(in *Input, profile placement.Profile) (at []int, broken bool) {
	s := &standard{in: in, model: m, of: map[*v1.Pod]int{}}
	fork := in.Snapshot.Fork()
	s.placer, s.nominations = must.Get(placement.NewPlacer(fork, profile)), placement.NewNominations(fork, m.queue)
	s.budgets = disruption.NewBudgets(in.budgets(), disruption.BudgetOptions{})
	at = make([]int, len(m.items))
	var queue []int
	for k := range m.items {
		it := &m.items[k]
		at[k] = it.home
		s.of[it.pod] = k
		if it.running != nil {
			s.of[it.running] = k
		} else {
			queue = append(queue, k)
		}
	}
	for {
		var left []int
		changed := false
		for len(queue) > 0 {
			k := queue[0]
			queue = queue[1:]
			placed, victims := s.attempt(k, at)
			if !placed {
				left = append(left, k)
				continue
			}
			changed = true
			queue = append(queue, victims...)
			slices.SortStableFunc(queue, func(a, b int) int { return cmp.Compare(m.items[a].tier, m.items[b].tier) })
		}
		if !changed {
			break
		}
		queue = left
	}
	return at, s.broken || m.breaks(at)
}

// breaks reports whether more running pods of a budget are off their nodes than the budget allows. All items are at home.
func (m *model) breaks(at []int) bool {
	away := make([]int32, len(m.allowed))
	for k := range m.items {
		if it := &m.items[k]; at[k] != it.home {
			for _, b := range it.budgets {
				if away[b]++; away[b] > m.allowed[b] {
					return true
				}
			}
		}
	}
	return false
}

// attempt decides about one item. victims are the items that left for it.
func (s *standard) attempt(k int, at []int) (placed bool, victims []int) {
	pod := s.model.items[k].pod
	d := s.decide(pod)
	if !d.Placed() && d.Failure.Err == nil {
		seen := s.nominations.Of(pod)
		r := s.placer.Preempt(seen, d.Failure, s.nominations.Options(pod, 0), placement.PreemptOptions{Budgets: s.budgets, Now: s.in.Now})
		s.nominations.Failed(pod, r)
		if r.Outcome != preemption.Success {
			return false, nil
		}
		s.broken = s.broken || r.Violations > 0
		for _, v := range r.Victims {
			must.Do(s.placer.Forget(v.Pod))
			out := s.of[v.Pod]
			at[out] = -1
			victims = append(victims, out)
		}
		d = s.decide(pod)
	}
	if d.Placed() || d.Failure.Err != nil {
		s.nominations.Nominate(pod, "")
	}
	if !d.Placed() {
		return false, nil
	}
	must.Do(s.placer.Assume(pod, d))
	at[k] = d.Slot
	return true, victims
}

// decide decides about a pod with its nomination.
func (s *standard) decide(pod *v1.Pod) placement.Decision {
	d := s.placer.Decide(s.nominations.Of(pod), s.nominations.Options(pod, s.next))
	s.next = d.Next
	return d
}

// name returns the pod's name with its namespace.
func (it *item) name() string { return podinfo.Name(it.pod) }
