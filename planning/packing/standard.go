package packing

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
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
	groups *podgroup.Gates
	vain   map[int]bool // gangs for which pods left in vain
	broken bool         // a preemption broke a budget
	next   int
}

// play returns where kube-scheduler leaves every item, and whether it broke a disruption budget.
func (m *model) play(in *Input, profile placement.Profile, groups *podgroup.Gates) (at []int, broken bool) {
	s := &standard{in: in, model: m, groups: groups, of: map[*v1.Pod]int{}, vain: map[int]bool{}}
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
			if !it.barred {
				queue = append(queue, k)
			}
		}
	}
	for {
		var left []int
		changed := false
		for len(queue) > 0 {
			k := queue[0]
			queue = queue[1:]
			var placed bool
			var victims []int
			if g := m.items[k].gang; g >= 0 {
				var rest []int
				placed, victims, rest = s.attemptGang(append([]int{k}, queue...), g, at)
				queue = slices.DeleteFunc(queue, func(x int) bool { return m.items[x].gang == g })
				left = append(left, rest...)
			} else if placed, victims = s.attempt(k, at); !placed {
				left = append(left, k)
			}
			if !placed {
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
		r := s.placer.Preempt(seen, d.Failure, s.nominations.Options(pod, 0), placement.PreemptOptions{Budgets: s.budgets, Now: s.in.Now, Groups: s.groups})
		s.nominations.Failed(pod, r)
		if r.Outcome != preemption.Success {
			return false, nil
		}
		s.broken = s.broken || r.Violations > 0
		for _, v := range r.Victims {
			victims = append(victims, s.leave(v.Pod, at))
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

// leave takes a victim off its node and returns its item.
func (s *standard) leave(pod *v1.Pod, at []int) int {
	must.Do(s.placer.Forget(pod))
	k := s.of[pod]
	at[k] = -1
	return k
}

// attemptGang decides about the members of a gang among the items of the queue. rest are those without a node. A gang that has made pods
// leave in vain does not preempt again: the play must end.
func (s *standard) attemptGang(queue []int, gang int, at []int) (placed bool, victims, rest []int) {
	var pods []*v1.Pod
	for _, k := range queue {
		if s.model.items[k].gang == gang {
			pods = append(pods, s.model.items[k].pod)
		}
	}
	o := placement.GroupOptions{Gates: s.model.bonds.gates}
	if !s.vain[gang] {
		o.Preempt = &placement.GroupPreempt{Budgets: s.budgets, Now: s.in.Now}
	}
	o.Options = s.nominations.Options(pods[0], s.next)
	d := s.placer.DecideGroup(pods, o)
	if d.Waiting {
		for _, v := range d.Victims {
			victims = append(victims, s.leave(v.Pod, at))
		}
		s.broken = s.broken || s.model.breaks(at)
		d = s.placer.DecideGroup(pods, o)
	}
	s.next = d.Next
	must.Do(s.placer.AssumeGroup(d))
	for _, m := range d.Members {
		k := s.of[m.Pod]
		if at[k] = -1; m.Placed() {
			at[k], placed = m.Slot, true
		} else {
			rest = append(rest, k)
		}
	}
	s.vain[gang] = len(victims) > 0 && !placed
	return placed || len(victims) > 0, victims, rest
}

// decide decides about a pod with its nomination.
func (s *standard) decide(pod *v1.Pod) placement.Decision {
	d := s.placer.Decide(s.nominations.Of(pod), s.nominations.Options(pod, s.next))
	s.next = d.Next
	return d
}

// name returns the pod's name with its namespace.
func (it *item) name() string { return podinfo.Name(it.pod) }
