package score

import (
	"math"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/balance"
	"github.com/podberth/podberth/resources"
)

type balanceEvaluator struct {
	balancing
	room usual // of cols
}

// balancing is the common part of evaluator and state.
type balancing struct {
	cols []column
	skip bool
	pair bool // cpu and memory in this order, and the formula of v1.37, which is the default
	// absolute: the formula up to v1.35
	absolute bool
}

// CompileBalance compiles the score of NodeResourcesBalancedAllocation for a pod. Missing fields of args get their
// defaults. The error lists what is wrong with args, in v1.37's words; the evaluator is nil then.
//
// The pod counts with its exact requests, pod-level requests and overhead included (rule C2.3). A nil pod is an empty pod.
// Rule: documentation, "Scheduler Configuration" (NodeResourcesBalancedAllocation).
//
// Skip reports that the pod requests none of the resources. Overhead counts as a request (rule C6.1). On is O(resources), and its state
// reads the rows of the cluster.
func CompileBalance(pod *v1.Pod, args BalanceArgs) (Evaluator[Rows, BalanceState], error) {
	list := defaultStrategy.Resources
	if len(args.Resources) > 0 {
		args.Resources = defaultResources(args.Resources)
		if errs := ValidateBalanceArgs(args, nil); len(errs) > 0 {
			return nil, errs.ToAggregate()
		}
		list = args.Resources
	}
	b := &balanceEvaluator{balancing: balancing{skip: true, absolute: absoluteBalance(args.Release)}}
	b.cols = appendColumns(b.room[:0], list, false)
	exactRequests(pod, b.cols)
	b.cols = requested(b.cols)
	for _, c := range b.cols {
		b.skip = b.skip && c.request == 0
	}
	b.pair = !b.absolute && len(b.cols) == 2 && b.cols[0].name == v1.ResourceCPU && b.cols[1].name == v1.ResourceMemory
	return b, nil
}

func (b *balanceEvaluator) Skip() bool { return b.skip }

func (b *balanceEvaluator) On(rows Rows) BalanceState {
	s := &balanceState{balancing: b.balancing}
	s.view.init(rows, b.cols)
	return s
}

// BalanceState scores the nodes of one cluster. The score of a slot depends only on the rows of that slot. It is safe for
// concurrent use while nobody writes to the rows.
type BalanceState interface {
	// Name returns "NodeResourcesBalancedAllocation".
	Name() string
	// Raw returns the score of slot i, 0 to 100 (rules C6.2 and C6.3). The score needs no normalization. Raw has no meaning
	// when Skip reports true. O(resources), no allocation.
	Raw(i int) int64
	// Explain returns the numbers behind the score of slot i: the balance of the node with the pod and without the pod, each 50
	// to 100. A balance is 100 minus the standard deviation, in percent, of the shares in use of the resources that the node
	// has.
	Explain(i int) (with, without int64)
}

type balanceState struct {
	balancing
	view view
}

func (s *balanceState) Name() string { return "NodeResourcesBalancedAllocation" }

func (s *balanceState) Raw(i int) int64 {
	return s.RawOf(i, s.view.rows.Allocatable(i), s.view.rows.Requested(i))
}

// RawOf is Raw(i) for a caller that has already read the rows of slot i.
func (s *balanceState) RawOf(i int, alloc, used resources.Vector) int64 {
	if s.pair && len(alloc) > resources.Memory && alloc[resources.CPU] != 0 && alloc[resources.Memory] != 0 {
		return s.improvement(alloc, used)
	}
	with, without := s.Explain(i)
	if s.absolute {
		return with
	}
	return balance.Change(with, without)
}

// improvement is Raw for a node with cpu and memory and no other resource, without the branches of the general case.
func (s *balanceState) improvement(alloc, used resources.Vector) int64 {
	cpu, memory := float64(alloc[resources.CPU]), float64(alloc[resources.Memory])
	c, m := used.At(resources.CPU), used.At(resources.Memory)
	with := balance.Of(balance.Share(resources.Add(c, s.view.cols[0].request), cpu), balance.Share(resources.Add(m, s.view.cols[1].request), memory))
	return balance.Change(with, balance.Of(balance.Share(c, cpu), balance.Share(m, memory)))
}

func (s *balanceState) Explain(i int) (with, without int64) {
	n := s.view.node(i)
	var a, b moments // with the pod, and without the pod
	for k := range s.view.cols {
		if w, wo, ok := s.fractions(&n, &s.view.cols[k]); ok {
			a.add(w)
			b.add(wo)
		}
	}
	if a.count > 2 {
		a.mean, b.mean = a.sum/float64(a.count), b.sum/float64(a.count)
		s.squares(&n, &a, &b)
	}
	return a.percent(), b.percent()
}

// moments collects fractions for their standard deviation.
type moments struct {
	count                              int
	first, second, sum, mean, variance float64
}

func (m *moments) add(f float64) {
	switch m.count {
	case 0:
		m.first = f
	case 1:
		m.second = f
	}
	m.sum += f
	m.count++
}

func (m *moments) percent() int64 {
	var std float64
	switch {
	case m.count == 2:
		std = math.Abs((m.first - m.second) / 2)
	case m.count > 2:
		std = math.Sqrt(m.variance)
	}
	return int64(float64(1-std) * MaxScore)
}

// squares computes the variances. It computes the fractions a second time: keeping them would need an allocation, because
// the number of resources has no limit.
func (s *balanceState) squares(n *node, with, without *moments) {
	for k := range s.view.cols {
		if w, wo, ok := s.fractions(n, &s.view.cols[k]); ok {
			d, e := w-with.mean, wo-without.mean
			with.variance += float64(d * d) // the conversion forbids a fused multiply-add, so that all CPUs agree
			without.variance += float64(e * e)
		}
	}
	with.variance /= float64(with.count)
	without.variance /= float64(with.count)
}

// fractions returns the shares of a resource that are in use with the pod and without the pod.
func (s *balanceState) fractions(n *node, c *column) (with, without float64, ok bool) {
	alloc, used := s.view.amounts(n, c)
	if alloc == 0 {
		return 0, 0, false
	}
	all := float64(alloc)
	return balance.Share(resources.Add(used, c.request), all), balance.Share(used, all), true
}
