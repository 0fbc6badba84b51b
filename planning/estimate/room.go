package estimate

import (
	"math"
	"math/bits"
	"sort"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/copies"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/resources"
)

// fitter is the filter of resources, which says what it thinks of other amounts than those of a node.
type fitter interface {
	filter.Predicate
	CheckRow(i int, allocatable, requested resources.Vector) resources.Verdict
	Partial(v resources.Verdict) bool
}

// fit returns the filter of resources and its place among the predicates; nil when there is not exactly one.
func (a *asked) fit() (out fitter, at int) {
	for k, p := range a.Predicates {
		if f, ok := p.(fitter); ok {
			if out != nil {
				return nil, 0
			}
			out, at = f, k
		}
	}
	return out, at
}

// requests returns what a pod takes of a node, in the columns of the schema. A resource that no node has is left out: the filter refuses the
// first copy.
func requests(s *cluster.Snapshot, pod *v1.Pod) resources.Vector {
	out := make(resources.Vector, s.Schema().Len())
	overhead.Each(pod, overhead.Options{}, func(name v1.ResourceName, value int64) {
		if column, ok := s.Schema().Column(name); ok {
			out[column] = value
		}
	})
	out[resources.Pods] = 1
	return out
}

// arithmetic counts by asking the filter of resources alone: the others say of each copy what they say of the first.
func (c *counter) arithmetic(i, limit int, leader *side) (int, *reason, error) {
	node, a := c.snapshot.Node(i), c.worker.first
	if why, err := a.check(node, i); err != nil || why != nil {
		return 0, why, err
	}
	fit, at := c.worker.later.fit()
	allocatable, requested := c.snapshot.Allocatable(i), c.snapshot.Requested(i)
	verdict := func(placed int) resources.Verdict {
		c.sum = append(c.sum[:0], requested...).Grow(c.snapshot.Schema().Len())
		if leader != nil {
			addTimes(c.sum, leader.requests, 1)
		}
		addTimes(c.sum, c.worker.requests, uint64(placed))
		return fit.CheckRow(i, allocatable, c.sum)
	}
	n := sort.Search(limit, func(placed int) bool { return verdict(placed) != 0 })
	if n == limit {
		return n, nil, nil
	}
	v := verdict(n)
	if fit.Partial(v) { // the texts need the amounts
		return c.trial(i, limit, leader)
	}
	why, err := c.worker.later.reason(node, filter.Rejection{Predicate: uint16(at), Verdict: v}, i)
	return n, why, err
}

// addTimes adds times x amounts, which are not negative; a sum beyond an int64 stays at its end.
func addTimes(sum, amounts resources.Vector, times uint64) {
	for k, amount := range amounts {
		high, product := bits.Mul64(uint64(max(0, amount)), times)
		if high != 0 || product > math.MaxInt64 {
			product = math.MaxInt64
		}
		sum[k] = resources.Add(sum[k], int64(product))
	}
}

// trial counts by letting copies come in a what-if.
func (c *counter) trial(i, limit int, leader *side) (int, *reason, error) {
	if limit == 0 {
		return 0, nil, nil
	}
	node, s := c.snapshot.Node(i), c.worker
	if s.first.outside(node) {
		why, err := s.first.check(node, i)
		return 0, why, err
	}
	if s.firstTrial == nil {
		s.firstTrial = s.first.WhatIf(placement.Options{})
		s.laterTrial = s.firstTrial
		if s.later != s.first {
			s.laterTrial = s.later.WhatIf(placement.Options{})
		}
	}
	w := s.firstTrial
	defer w.Reset()
	if leader != nil {
		w.Add(leader.whole, i)
	}
	if why, err := s.first.judge(w, node, i); err != nil || why != nil {
		return 0, why, err
	}
	if s.later != s.first {
		w = s.laterTrial
		defer w.Reset()
		if leader != nil {
			w.Add(leader.whole, i)
		}
	}
	for n := 1; ; n++ {
		if n == limit {
			return n, nil, nil
		}
		w.Add(s.copy, i)
		if why, err := s.later.judge(w, node, i); err != nil || why != nil {
			return n, why, err
		}
	}
}

// judge returns why the filters refuse the slot with the changes of a trial, nil when they allow it.
func (a *asked) judge(w preemption.WhatIf, node *v1.Node, i int) (*reason, error) {
	answer := w.Check(i)
	if answer.Verdict == 0 {
		return nil, nil
	}
	if err := w.Err(i, answer); err != nil {
		return nil, err
	}
	texts, _ := w.Reasons(i, answer)
	return a.words(node, a.Predicates[answer.Predicate].Name(), texts), nil
}

// placing counts by placing copies, and takes them back.
func (c *counter) placing(i, limit int, leader *side) (int, *reason, error) {
	defer c.snapshot.Rollback(c.snapshot.Mark())
	if leader != nil {
		if why, err := c.place(leader.first.pod, leader.first.pod, 1, i); err != nil || why != nil {
			return 0, why, err
		}
	}
	pod := c.worker.first.pod
	for n := range limit {
		if why, err := c.place(pod, c.worker.later.pod, n+2, i); err != nil || why != nil {
			return n, why, err
		}
		pod = c.worker.later.pod
	}
	return limit, nil, nil
}

// place places the nth copy of a pod on slot i, or returns why it does not fit. The copy stays there with the rules of the pod rest.
func (c *counter) place(pod, rest *v1.Pod, n, i int) (*reason, error) {
	more := copies.Of(c.snapshot, pod, n, nil)
	if err := copies.SetClaims(c.snapshot, more); err != nil {
		return nil, err
	}
	a, err := c.prepare(more)
	if err != nil {
		return nil, err
	}
	if why, err := a.check(c.snapshot.Node(i), i); err != nil || why != nil {
		return why, err
	}
	stays := *rest
	stays.ObjectMeta, stays.Status = more.ObjectMeta, more.Status
	return nil, c.placer.Assume(&stays, a.Decision(i))
}
