package score

import (
	"errors"
	"math"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// Balance is the score of NodeResourcesBalancedAllocation compiled for one pod. It is immutable and safe for concurrent
// use.
type Balance struct {
	mode    BalanceMode
	options Options
	cols    []column
	skip    bool
}

// CompileBalance prepares the score of NodeResourcesBalancedAllocation for a pod. args are defaulted (DefaultBalanceArgs)
// and checked (ValidateBalanceArgs); the error is the list of what is wrong, and then the evaluator is nil.
//
// The pod counts with its exact requests, those at pod level and its overhead included; in the modes Difference and
// VolumeVariance with 100m and 200Mi for containers without requests. nil is an empty pod.
func CompileBalance(pod *v1.Pod, args BalanceArgs, o Options) (*Balance, error) {
	args = DefaultBalanceArgs(args)
	if errs := ValidateBalanceArgs(args, nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	b := &Balance{mode: args.Mode, options: o}
	if args.Mode >= Difference {
		b.cols = columns(defaultResources(nil), fitRequest(pod), true, true)
		return b, nil
	}
	if o.Arithmetic == ZeroToTen {
		return nil, errors.New("scores of 0 to 10 are older than this balance formula: use mode Difference or VolumeVariance")
	}
	b.cols = columns(args.Resources, exactRequest(pod), false, false)
	b.skip = true
	for _, c := range b.cols {
		b.skip = b.skip && c.request == 0
	}
	return b, nil
}

// Skip reports whether the plugin leaves the pod out of scoring: the pod asks for none of the resources. Overhead counts.
func (b *Balance) Skip() bool { return b.skip }

// Count resolves the resources against the columns of a cluster. O(resources): the rows are read by Raw.
func (b *Balance) Count(rows Rows) *BalanceState {
	s := &BalanceState{Balance: *b, view: newView(rows, b.cols)}
	s.volumes, _ = rows.(VolumeRows)
	return s
}

// BalanceState scores the nodes of one cluster. Its answer for a slot depends on that slot's rows only. Safe for
// concurrent use while the rows are not written to.
type BalanceState struct {
	Balance
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
	n := s.view.node(i)
	switch s.mode {
	case Absolute:
		return s.balance(&n, true)
	case Difference:
		return s.difference(&n)
	case VolumeVariance:
		return s.variance(&n)
	}
	return 50 + (50+s.balance(&n, true)-s.balance(&n, false))/2
}

// BalanceParts are the numbers behind the score of a node: its balance with the pod and without, 50 to 100.
type BalanceParts struct {
	With, Without int64
}

// Explain returns the balance of slot i with the pod and without it, by the standard deviation of the shares in use, as
// the modes Improvement and Absolute see it.
func (s *BalanceState) Explain(i int) BalanceParts {
	n := s.view.node(i)
	return BalanceParts{s.balance(&n, true), s.balance(&n, false)}
}

// balance returns 100 minus the standard deviation, in percent, of the shares in use of the resources that the node has.
func (s *BalanceState) balance(n *node, with bool) int64 {
	var first, second, sum float64
	var count int
	for k := range s.view.cols {
		f, ok := s.fraction(n, &s.view.cols[k], with)
		if !ok {
			continue
		}
		switch count {
		case 0:
			first = f
		case 1:
			second = f
		}
		sum += f
		count++
	}
	var std float64
	switch {
	case count == 2:
		std = math.Abs((first - second) / 2)
	case count > 2:
		std = s.deviation(n, with, sum/float64(count), count)
	}
	return int64(float64(1-std) * MaxScore)
}

// deviation is the population standard deviation. The fractions are computed a second time rather than kept: the number
// of resources has no limit and evaluation must not allocate.
func (s *BalanceState) deviation(n *node, with bool, mean float64, count int) float64 {
	var sum float64
	for k := range s.view.cols {
		if f, ok := s.fraction(n, &s.view.cols[k], with); ok {
			d := f - mean
			sum += float64(d * d) // the conversion forbids a fused multiply-add, so that all CPUs agree
		}
	}
	return math.Sqrt(sum / float64(count))
}

func (s *BalanceState) fraction(n *node, c *column, with bool) (float64, bool) {
	alloc, used := s.view.amounts(n, c)
	if alloc == 0 {
		return 0, false
	}
	if with {
		used = plus(used, c.request)
	}
	return min(1, float64(used)/float64(alloc)), true
}

// old returns the shares of cpu and memory, 1 for a node without; false when one of them is used up.
func (s *BalanceState) old(n *node) (cpu, memory float64, ok bool) {
	f := [2]float64{1, 1}
	for k := range s.view.cols {
		c := &s.view.cols[k]
		if alloc, used := s.view.amounts(n, c); alloc != 0 {
			f[c.at] = float64(plus(used, c.request)) / float64(alloc)
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
