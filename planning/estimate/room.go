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
	node := c.snapshot.Node(i)
	var why *reason
	var err error
	if leader != nil && c.heeds {
		defer c.worker.trials().Reset()
		why, err = c.begin(i, leader)
	} else {
		why, err = c.worker.first.check(node, i)
	}
	if err != nil || why != nil {
		return 0, why, err
	}
	n, v := c.byResources(i, limit, leader)
	if v == 0 {
		return n, nil, nil
	}
	fit, at := c.worker.later.fit()
	if fit.Partial(v) { // the texts need the amounts
		return c.trial(i, limit, leader)
	}
	why, err = c.worker.later.reason(node, filter.Rejection{Predicate: uint16(at), Verdict: v}, i)
	return n, why, err
}

// byResources returns how many workers the filter of resources alone allows, and what it says of the next one; 0 at the limit.
func (c *counter) byResources(i, limit int, leader *side) (int, resources.Verdict) {
	fit, _ := c.worker.later.fit()
	if fit == nil {
		return limit, 0
	}
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
		return n, 0
	}
	return n, verdict(n)
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

// trials returns the what-if for the first copy, and makes those of the side.
func (s *side) trials() preemption.WhatIf {
	if s.firstTrial == nil {
		s.firstTrial = s.first.WhatIf(placement.Options{})
		s.laterTrial = s.firstTrial
		if s.later != s.first {
			s.laterTrial = s.later.WhatIf(placement.Options{})
		}
	}
	return s.firstTrial
}

// begin lets the leader come, if there is one, and returns why the first worker cannot. The caller resets the what-if.
func (c *counter) begin(i int, leader *side) (*reason, error) {
	node, s := c.snapshot.Node(i), c.worker
	if s.first.outside(node) {
		return s.first.check(node, i)
	}
	w := s.trials()
	if leader != nil {
		w.Add(leader.whole, i)
	}
	return s.first.judge(w, node, i)
}

// trial counts by letting copies come in a what-if.
func (c *counter) trial(i, limit int, leader *side) (int, *reason, error) {
	if limit == 0 {
		return 0, nil, nil
	}
	node, s := c.snapshot.Node(i), c.worker
	w := s.trials()
	defer w.Reset()
	if why, err := c.begin(i, leader); err != nil || why != nil {
		return 0, why, err
	}
	if s.later != s.first {
		w = s.laterTrial
		defer w.Reset()
		if leader != nil {
			w.Add(leader.whole, i)
		}
	}
	if times, ok := w.(multiple); ok && s.later.steady() {
		return c.halves(times, i, limit, leader)
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

// multiple is a what-if to which many copies of a pod come at once.
type multiple interface {
	preemption.WhatIf
	AddTimes(p *v1.Pod, i, n int)
}

// halves counts as trial does, when one worker has come, but does not ask about each copy: what refuses a steady pod refuses it when more copies
// have come. Most often the first number that is asked about is the answer, or the one that the resources allow.
func (c *counter) halves(w multiple, i, limit int, leader *side) (int, *reason, error) {
	node, s := c.snapshot.Node(i), c.worker
	var last *reason // why high is the last
	low, high, top := 1, limit, 0
	for k := 0; low < high; k++ {
		n := low + (high-low)/2
		switch k {
		case 0:
			n = low
		case 1:
			top, _ = c.byResources(i, limit, leader)
			n = min(max(top-1, low), high-1)
		case 2:
			n = min(max(top, low), high-1)
		}
		w.Reset()
		if leader != nil {
			w.Add(leader.whole, i)
		}
		w.AddTimes(s.copy, i, n)
		why, err := s.later.judge(w, node, i)
		switch {
		case err != nil:
			return n, nil, err
		case why != nil:
			high, last = n, why
		default:
			low = n + 1
		}
	}
	return high, last, nil
}

// judge returns why the filters refuse the slot with the changes of a trial, nil when they allow it.
func (a *asked) judge(w preemption.WhatIf, node *v1.Node, i int) (*reason, error) {
	answer := w.Check(i)
	if answer.Verdict == 0 {
		return nil, nil
	}
	return a.explained(node, filter.Rejection(answer), func() ([]string, bool, error) {
		if err := w.Err(i, answer); err != nil {
			return nil, false, err
		}
		texts, complete := w.Reasons(i, answer)
		return texts, complete, nil
	})
}

// readyAtOnce is the most copies of a worker that have their claims before they are placed.
const readyAtOnce = 1000

// placing counts by placing copies, and takes them back. Their claims stay for the next node: a claim that comes or goes makes the filters read all
// pods again.
func (c *counter) placing(i, limit int, leader *side) (int, *reason, error) {
	bound, _ := c.byResources(i, limit, leader)
	for len(c.ready) < min(bound+1, limit, readyAtOnce) {
		more, err := c.copyWithClaims(len(c.ready))
		if err != nil {
			return 0, nil, err
		}
		c.ready = append(c.ready, more)
	}
	defer c.snapshot.Rollback(c.snapshot.Mark())
	if leader != nil {
		if why, err := c.place(leader.first.pod, leader.first.pod, i); err != nil || why != nil {
			return 0, why, err
		}
	}
	for n := range limit {
		var more *v1.Pod
		var err error
		if n < len(c.ready) {
			more = c.ready[n]
		} else if more, err = c.copyWithClaims(n); err != nil {
			return 0, nil, err
		}
		if why, err := c.place(more, c.worker.later.pod, i); err != nil || why != nil {
			return n, why, err
		}
	}
	return limit, nil, nil
}

// copyWithClaims returns the worker that comes after n others. The first has rules that the others lack.
func (c *counter) copyWithClaims(n int) (*v1.Pod, error) {
	pod := c.worker.later.pod
	if n == 0 {
		pod = c.worker.first.pod
	}
	more := copies.Of(c.snapshot, pod, n+2, nil)
	return more, copies.SetClaims(c.snapshot, more)
}

// place places a pod on slot i, or returns why it does not fit. It stays there with the rules of the pod rest.
func (c *counter) place(pod, rest *v1.Pod, i int) (*reason, error) {
	a, err := c.prepare(pod)
	if err != nil {
		return nil, err
	}
	if why, err := a.check(c.snapshot.Node(i), i); err != nil || why != nil {
		return why, err
	}
	stays := *rest
	stays.ObjectMeta, stays.Status = pod.ObjectMeta, pod.Status
	return nil, c.placer.Assume(&stays, a.Decision(i))
}
