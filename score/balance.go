package score

import (
	"errors"
	"math"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// Balance is the score of NodeResourcesBalancedAllocation compiled for one pod. It is immutable and safe for concurrent
// use.
type Balance struct{ balancing }

// balancing is what evaluator and state have in common.
type balancing struct {
	mode    BalanceMode
	options Options
	cols    []column
	skip    bool
	pair    bool // cpu and memory in this order, by exact requests: the default
}

// CompileBalance prepares the score of NodeResourcesBalancedAllocation for a pod. args are defaulted (DefaultBalanceArgs)
// and checked (ValidateBalanceArgs); the error is the list of what is wrong, and then the evaluator is nil.
//
// The pod counts with its exact requests, those at pod level and its overhead included; in the modes Difference and
// VolumeVariance with 100m and 200Mi for containers without requests. nil is an empty pod.
// Rule: documentation, "Scheduler Configuration" (NodeResourcesBalancedAllocation).
func CompileBalance(pod *v1.Pod, args BalanceArgs, o Options) (*Balance, error) {
	args = DefaultBalanceArgs(args)
	if errs := ValidateBalanceArgs(args, nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	b := balancing{mode: args.Mode, options: o}
	if args.Mode >= Difference {
		b.cols = columns(defaultResources(nil), fitRequest(pod), true, true)
		return &Balance{b}, nil
	}
	if o.Arithmetic == ZeroToTen {
		return nil, errors.New("scores of 0 to 10 are older than this balance formula: use mode Difference or VolumeVariance")
	}
	b.cols = columns(args.Resources, exactRequest(pod), false, false)
	b.skip = true
	for _, c := range b.cols {
		b.skip = b.skip && c.request == 0
	}
	b.pair = len(b.cols) == 2 && b.cols[0].name == v1.ResourceCPU && b.cols[1].name == v1.ResourceMemory
	return &Balance{b}, nil
}

// Skip reports whether the plugin leaves the pod out of scoring: the pod asks for none of the resources. Overhead counts.
func (b *Balance) Skip() bool { return b.skip }

// Count resolves the resources against the columns of a cluster. O(resources): the rows are read by Raw.
func (b *Balance) Count(rows Rows) *BalanceState {
	s := &BalanceState{balancing: b.balancing, view: newView(rows, b.cols)}
	s.volumes, _ = rows.(VolumeRows)
	return s
}

// BalanceState scores the nodes of one cluster. Its answer for a slot depends on that slot's rows only. Safe for
// concurrent use while the rows are not written to.
type BalanceState struct {
	balancing
	view    view
	volumes VolumeRows
}

// Dynamic reports whether the score of a slot can change by events on others: never.
func (s *BalanceState) Dynamic() bool { return false }

// AppendSignature appends the raw score itself: all of it belongs to the slot.
func (s *BalanceState) AppendSignature(dst []int32, i int) []int32 {
	return append(dst, int32(s.Raw(i)))
}

// Raw returns the score of slot i, 0 to 100; it needs no normalization. When Skip reports true the plugin does not score,
// and Raw is without meaning. O(resources), no allocation.
func (s *BalanceState) Raw(i int) int64 {
	return s.RawOf(i, s.view.rows.Allocatable(i), s.view.rows.Requested(i))
}

// RawOf is Raw(i) for a caller who has the rows of slot i at hand.
func (s *BalanceState) RawOf(i int, alloc, used resources.Vector) int64 {
	if s.pair && s.mode == Improvement && len(alloc) > resources.Memory && alloc[resources.CPU] != 0 && alloc[resources.Memory] != 0 {
		return s.improvement(alloc, used)
	}
	n := s.view.node(i)
	switch s.mode {
	case Absolute:
		return s.balance(&n).With
	case Difference:
		return s.difference(&n)
	case VolumeVariance:
		return s.variance(&n)
	}
	b := s.balance(&n)
	return 50 + (50+b.With-b.Without)/2
}

// improvement is Raw for a node that has cpu and memory, the only resources, without the branches of the general case.
func (s *BalanceState) improvement(alloc, used resources.Vector) int64 {
	cpu, memory := float64(alloc[resources.CPU]), float64(alloc[resources.Memory])
	c, m := used.At(resources.CPU), used.At(resources.Memory)
	with := even(part(resources.Add(c, s.view.cols[0].request), cpu), part(resources.Add(m, s.view.cols[1].request), memory))
	return 50 + (50+with-even(part(c, cpu), part(m, memory)))/2
}

// part returns the share of a resource in use, at most 1.
func part(used int64, alloc float64) float64 {
	f := float64(used) / alloc
	if f > 1 {
		return 1
	}
	return f
}

// even returns the balance of two shares.
func even(a, b float64) int64 { return int64(float64(1-math.Abs((a-b)/2)) * MaxScore) }

// BalanceParts are the numbers behind the score of a node: its balance with the pod and without, 50 to 100.
type BalanceParts struct {
	With, Without int64
}

// Explain returns the balance of slot i with the pod and without it, by the standard deviation of the shares in use, as
// the modes Improvement and Absolute see it.
func (s *BalanceState) Explain(i int) BalanceParts {
	n := s.view.node(i)
	return s.balance(&n)
}

// balance returns 100 minus the standard deviation, in percent, of the shares in use of the resources that the node has.
func (s *BalanceState) balance(n *node) BalanceParts {
	var with, without moments
	for k := range s.view.cols {
		if w, wo, ok := s.fractions(n, &s.view.cols[k]); ok {
			with.add(w)
			without.add(wo)
		}
	}
	if with.count > 2 {
		with.mean, without.mean = with.sum/float64(with.count), without.sum/float64(with.count)
		s.squares(n, &with, &without)
	}
	return BalanceParts{with.percent(), without.percent()}
}

// moments gathers fractions for their standard deviation.
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

// squares computes the variances. The fractions are computed a second time rather than kept: the number of resources has
// no limit and evaluation must not allocate.
func (s *BalanceState) squares(n *node, with, without *moments) {
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

// fractions returns the share in use of a resource with the pod and without.
func (s *BalanceState) fractions(n *node, c *column) (with, without float64, ok bool) {
	alloc, used := s.view.amounts(n, c)
	if alloc == 0 {
		return 0, 0, false
	}
	all := float64(alloc)
	return part(resources.Add(used, c.request), all), part(used, all), true
}

// old returns the shares of cpu and memory, 1 for a node without; false when one of them is used up.
func (s *BalanceState) old(n *node) (cpu, memory float64, ok bool) {
	f := [2]float64{1, 1}
	for k := range s.view.cols {
		c := &s.view.cols[k]
		if alloc, used := s.view.amounts(n, c); alloc != 0 {
			f[c.at] = float64(resources.Add(used, c.request)) / float64(alloc)
		}
	}
	return f[resources.CPU], f[resources.Memory], f[0] < 1 && f[1] < 1
}

func (s *BalanceState) difference(n *node) int64 {
	cpu, memory, ok := s.old(n)
	if !ok {
		return 0
	}
	return int64(float64(1-math.Abs(cpu-memory)) * float64(s.options.max()))
}

func (s *BalanceState) variance(n *node) int64 {
	var requested, allocatable int64
	if s.volumes != nil {
		requested, allocatable = s.volumes.Volumes(n.slot)
	}
	if allocatable <= 0 {
		return s.difference(n)
	}
	cpu, memory, ok := s.old(n)
	volumes := float64(requested) / float64(allocatable)
	if !ok || volumes >= 1 {
		return 0
	}
	mean := (cpu + memory + volumes) / 3
	c, m, v := cpu-mean, memory-mean, volumes-mean
	variance := (float64(c*c) + float64(m*m) + float64(v*v)) / 3
	return int64(float64(1-variance) * float64(s.options.max()))
}
