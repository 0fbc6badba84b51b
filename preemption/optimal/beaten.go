package optimal

import (
	"slices"

	"github.com/podberth/podberth/internal/nodeorder"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/resources"
)

// plainOrder is the order that beaten knows. In another order beaten proves nothing, and the search goes on.
var plainOrder = []Criterion{HighestPriority, PrioritySum, Victims, Start}

// ranked reports whether only the criteria of plainOrder are left to be better in. In the other criteria the best victims have the
// value 0, which no victims are below.
func (s *Search) ranked() bool {
	at := 0
	for _, c := range s.order {
		switch {
		case at < len(plainOrder) && c == plainOrder[at]:
			at++
		case s.best[c] != 0:
			return false
		}
	}
	return at == len(plainOrder)
}

// beaten reports whether no victims on the node of the problem are better than the best victims so far, because the pods that
// could leave in their place free too little. Every pod of the node up to the limit may leave. The filters are asked about what
// the pods of the node would ask for. O(pods up to the limit x resources).
func (s *Search) beaten(p *preemption.Problem, w without) bool {
	c, ok := p.Cluster.(interface {
		Requested(i int) resources.Vector
	})
	if !ok || !s.ranked() {
		return false
	}
	r, ok := s.rows.of(p)
	if !ok {
		return false
	}
	used, top := c.Requested(p.Slot), int32(s.best[HighestPriority])
	// The best victims break no budget then.
	kept := p.Ledger != nil && (s.o.NeverViolate || slices.Contains(s.order, Violations))
	if kept {
		r.draw(p)
	}
	s.may = s.may[:0]
	for k := 0; k < len(r.pods) && r.pods[k].priority <= top; k++ {
		if !kept || !r.pods[k].breaks { // alone worse than the best victims
			s.may = append(s.may, int32(k))
		}
	}
	return s.short(r, func(n, count int) bool { return w.Without(p.Slot, s.least(r, used, n, count)).Verdict != 0 })
}

// short reports whether no better victims are among the pods s.may, which are in the order of the row. short reports whether
// count of the first n pods free too little.
//
//   - Pods below the highest priority of the best victims would be better, however many they are.
//   - With a pod of this priority, a smaller sum of priorities or number of victims would be better.
//   - With the same sum and number, a later start would be better.
func (s *Search) short(r *row, short func(n, count int) bool) bool {
	top, best := int32(s.best[HighestPriority]), &s.best
	below, later := 0, 0
	for _, k := range s.may {
		switch q := &r.pods[k]; {
		case q.priority < top:
			below++
			later++
		case q.start > -best[Start]:
			later++
		}
	}
	// The smallest sum of so many pods, of which one has the priority top.
	sum, count, tie := nodeorder.Weight(top), 0, false
	for n := 1; n <= len(s.may) && sum <= best[PrioritySum]; n++ {
		switch {
		case sum < best[PrioritySum] || int64(n) < best[Victims]:
			count = n
		case int64(n) == best[Victims]:
			tie = true
		}
		sum += nodeorder.Weight(r.pods[s.may[n-1]].priority)
	}
	switch {
	case count > 0 && !short(len(s.may), count):
		return false
	case count < below && !short(below, below): // otherwise short of the larger set says the same
		return false
	}
	return !tie || short(later, int(best[Victims]))
}

// least returns the least that the pods of the slot may ask for without count of the first n pods of s.may, by column.
func (s *Search) least(r *row, used resources.Vector, n, count int) []int64 {
	s.left = append(s.left[:0], used...)
	for c := range min(r.width, len(used)) {
		sum := int64(0)
		if count >= n {
			for _, k := range s.may[:n] {
				sum = resources.Add(sum, r.amounts[int(k)*r.width+c])
			}
		} else {
			sum = s.largest(r, c, n, count)
		}
		s.left[c] = max(0, used[c]-sum)
	}
	return s.left
}

// largest returns the sum of the largest amounts of a column among the first n pods of s.may.
func (s *Search) largest(r *row, c, n, count int) (sum int64) {
	top := s.top[:0] // the largest amounts so far, the smallest of them first
	for _, k := range s.may[:n] {
		amount := r.amounts[int(k)*r.width+c]
		if len(top) == count {
			if count == 0 || amount <= top[0] {
				continue
			}
			at := 1
			for ; at < count && top[at] < amount; at++ {
				top[at-1] = top[at]
			}
			top[at-1] = amount
			continue
		}
		at := len(top)
		for top = append(top, amount); at > 0 && top[at-1] > amount; at-- {
			top[at] = top[at-1]
		}
		top[at] = amount
	}
	for _, amount := range top {
		sum = resources.Add(sum, amount)
	}
	s.top = top
	return sum
}
