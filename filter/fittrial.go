package filter

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
)

// fitTrial is the Trial of a FitState. Pods count with what they hold on a node.
type fitTrial struct {
	s     *FitState
	rows  []fitChange
	known podRows
}

// fitChange is what was added to a slot: pods, and of each request's resource.
type fitChange struct {
	slot int
	pods int64
	plus []int64
}

// NewTrial returns a copy to try changes on. It is cheap and independent of other trials. The copy also has the method
// Apply(requests resources.Vector, i int, n int32), for callers that know a pod's requests in the columns of the schema: n
// pods with these requests come to slot i, or leave it when n is negative.
func (s *FitState) NewTrial() Trial {
	known, _ := s.rows.(podRows)
	return &fitTrial{s: s, known: known}
}

// Add pretends that p comes to slot i. It costs O(containers of p), less when the rows know the pod.
func (t *fitTrial) Add(p *v1.Pod, i int) { t.change(p, i, 1) }

// Remove pretends that p leaves slot i. The caller makes sure that p is there.
func (t *fitTrial) Remove(p *v1.Pod, i int) { t.change(p, i, -1) }

// Reset forgets all changes and keeps the memory.
func (t *fitTrial) Reset() { t.rows = t.rows[:0] }

func (t *fitTrial) change(p *v1.Pod, i int, sign int64) {
	row := t.row(i)
	row.pods += sign
	if t.known != nil {
		if v, ok := t.known.PodRequests(p); ok {
			row.apply(t.s.columns, v, sign)
			return
		}
	}
	overhead.Each(p, overhead.Options{UseStatus: true}, func(name v1.ResourceName, value int64) {
		for k := range row.plus {
			if t.s.fit.requests[k].resource == name {
				row.plus[k] = resources.Add(row.plus[k], sign*value)
			}
		}
	})
}

// Apply pretends that n pods with these requests come to slot i, or leave it when n is negative.
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
	for k := range t.rows {
		if t.rows[k].slot == i {
			return &t.rows[k]
		}
	}
	n := len(t.rows)
	if n < cap(t.rows) { // left over from before a Reset
		t.rows = t.rows[:n+1]
	} else {
		t.rows = append(t.rows, fitChange{})
	}
	row := &t.rows[n]
	row.slot, row.pods = i, 0
	if row.plus == nil {
		row.plus = make([]int64, len(t.s.columns))
	}
	clear(row.plus)
	return row
}

// Check is FitState.Check with the changes made. O(slots changed + requests), no allocation.
func (t *fitTrial) Check(i int) resources.Verdict {
	var row *fitChange
	for k := range t.rows {
		if t.rows[k].slot == i {
			row = &t.rows[k]
		}
	}
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
