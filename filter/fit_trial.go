package filter

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
)

// fitTrial is the Trial of a FitState.
type fitTrial struct {
	s     *fitState
	rows  changedSlots[fitChange]
	known podRows
}

// fitChange is what was added to a slot: a number of pods, and an amount of the resource of each request.
type fitChange struct {
	pods int64
	plus []int64
}

func (s *fitState) NewTrial() Trial {
	known, _ := s.rows.(podRows)
	return &fitTrial{s: s, known: known}
}

// Add takes O(containers of p), or O(requests) when the rows know the pod (podRows).
func (t *fitTrial) Add(p *v1.Pod, i int) { t.change(p, i, 1) }

func (t *fitTrial) Remove(p *v1.Pod, i int) { t.change(p, i, -1) }

func (t *fitTrial) Reset() { t.rows.reset() }

func (t *fitTrial) change(p *v1.Pod, i int, sign int64) {
	row := t.row(i)
	row.pods += sign
	if t.known != nil {
		if v, ok := t.known.PodRequests(p); ok {
			row.apply(t.s.columns, v, sign)
			return
		}
	}
	t.each(p, func(k int, amount int64) { row.plus[k] = resources.Add(row.plus[k], sign*amount) })
}

// each yields what a pod holds of the resource of each request.
func (t *fitTrial) each(p *v1.Pod, yield func(k int, amount int64)) {
	overhead.Each(p, held(t.s.fit.release), func(name v1.ResourceName, value int64) {
		for k := range t.s.columns {
			if t.s.fit.requests[k].resource == name {
				yield(k, value)
			}
		}
	})
}

// Move returns a function that does n times what Add does, or Remove when n is negative. What the pod holds is computed once.
func (t *fitTrial) Move(p *v1.Pod) func(i int, n int32) {
	amounts := make([]int64, len(t.s.columns))
	t.each(p, func(k int, amount int64) { amounts[k] = resources.Add(amounts[k], amount) })
	return func(i int, n int32) {
		row := t.row(i)
		row.pods += int64(n)
		for k, amount := range amounts {
			row.plus[k] = resources.Add(row.plus[k], int64(n)*amount)
		}
	}
}

// Apply pretends that n pods with these requests come to slot i, or leave slot i when n is negative.
func (t *fitTrial) Apply(requests resources.Vector, i int, n int32) {
	row := t.row(i)
	row.pods += int64(n)
	row.apply(t.s.columns, requests, int64(n))
}

func (c *fitChange) apply(columns []int, v resources.Vector, sign int64) {
	for k, column := range columns {
		c.plus[k] = resources.Add(c.plus[k], sign*v.At(column))
	}
}

// row returns the changes of slot i, with a new empty entry the first time. The pointer is valid until the next call.
func (t *fitTrial) row(i int) *fitChange {
	row := t.rows.at(i)
	if row != nil {
		return row
	}
	row = t.rows.add(i)
	row.pods = 0
	if row.plus == nil {
		row.plus = make([]int64, len(t.s.columns))
	}
	clear(row.plus)
	return row
}

// Check takes O(slots changed + requests) and does not allocate.
func (t *fitTrial) Check(i int) resources.Verdict {
	row := t.rows.at(i)
	if row == nil {
		return t.s.Check(i)
	}
	a, u := t.s.rows.Allocatable(i), t.s.rows.Requested(i)
	var v resources.Verdict
	if u.At(resources.Pods)+row.pods+1 > a.At(resources.Pods) {
		v = fitPods
	}
	for k, c := range t.s.columns {
		r := &t.s.fit.requests[k]
		if have := a.At(c); r.value > have-resources.Add(u.At(c), row.plus[k]) {
			v |= r.lack(k, have)
		}
	}
	return v
}

// Amounts returns the length of the list that Missing fills.
func (s *fitState) Amounts() int { return len(s.columns) }

// Missing writes into amounts how much of each request's resource has to become free on slot i so that the
// pod fits, and returns how many pods have to leave. Negative numbers are room to spare. It returns false if the numbers are too large to be
// added, or if the list has another length.
func (s *fitState) Missing(i int, amounts []int64) (pods int64, columns []int, ok bool) {
	if len(amounts) != len(s.columns) {
		return 0, nil, false
	}
	a, u := s.rows.Allocatable(i), s.rows.Requested(i)
	pods = u.At(resources.Pods) + 1 - a.At(resources.Pods)
	ok = small(u.At(resources.Pods)) && small(a.At(resources.Pods))
	for k, c := range s.columns {
		r, have, used := &s.fit.requests[k], a.At(c), u.At(c)
		ok = ok && small(r.value) && small(have) && small(used)
		if amounts[k] = r.value - have + used; r.device && have == 0 {
			amounts[k] = -maxAmount
		}
	}
	return pods, s.columns, ok
}

// maxAmount bounds what Missing adds.
const maxAmount = 1 << 59

func small(amount int64) bool { return -maxAmount <= amount && amount <= maxAmount }
