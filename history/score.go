package history

import (
	"math"
	"math/bits"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
)

// scorer returns the raw score of a slot. A free slot has no resources.
type scorer func(i int) int64

// Raw returns s(i).
func (s scorer) Raw(i int) int64 { return s(i) }

// FreeShare is the score of NodeResourcesFit before v1.33, 0 to 100. It differs from that of v1.37 for
// RequestedToCapacityRatio only: the utilization is 100 minus the free share in percent, truncated, so that 3 of 8 is 38
// percent and not 37. The error is that of [score.CompileAllocation]. A nil pod is an empty pod. Nil rows panic.
func FreeShare(pod *v1.Pod, args score.FitArgs, rows score.Rows) (placement.Scorer, error) {
	e, err := score.CompileAllocation(pod, args)
	if err != nil {
		return nil, err
	}
	s := e.On(rows)
	if args.ScoringStrategy == nil || args.ScoringStrategy.Type != score.RequestedToCapacityRatio {
		return s, nil
	}
	shape := args.ScoringStrategy.RequestedToCapacityRatio.Shape
	return scorer(func(i int) int64 {
		var m mean
		for _, r := range s.Explain(i) {
			if r.Allocatable == 0 {
				continue
			}
			if n := interpolate(shape, utilization(r.Requested, r.Allocatable), 10); n > 0 {
				m.add(n, r.Weight)
			}
		}
		return m.rounded()
	}), nil
}

// ZeroToTen is the score of NodeResourcesFit before scores went to 100 (about v1.17), 0 to 10. It differs from [FreeShare]:
//
//  1. scores of a shape are not multiplied by 10;
//  2. a resource that the pod does not ask for counts;
//  3. a resource that the node does not have counts as full;
//  4. a resource over capacity scores 0 under MostAllocated.
//
// ZeroToTen reproduces older documents. Do not add its scores to scores of 0 to 100. The error is that of
// [score.CompileAllocation]. A nil pod is an empty pod.
func ZeroToTen(pod *v1.Pod, args score.FitArgs, rows score.Rows) (placement.Scorer, error) {
	if _, err := score.CompileAllocation(pod, args); err != nil {
		return nil, err
	}
	s := score.Strategy{Type: score.LeastAllocated}
	if args.ScoringStrategy != nil {
		s = *args.ScoringStrategy
	}
	if len(s.Resources) == 0 {
		s.Resources = []score.Resource{{Name: "cpu"}, {Name: "memory"}}
	}
	asked := requestOf(pod)
	return scorer(func(i int) int64 {
		var m mean
		for _, r := range s.Resources {
			used, allocatable := amounts(rows, i, v1.ResourceName(r.Name))
			n := toTen(&s, resources.Add(used, asked(v1.ResourceName(r.Name))), allocatable)
			if s.Type != score.RequestedToCapacityRatio || n > 0 {
				m.add(n, max(r.Weight, 1))
			}
		}
		if s.Type == score.RequestedToCapacityRatio {
			return m.rounded()
		}
		return m.truncated()
	}), nil
}

// toTen returns the score of one resource, 0 to 10.
func toTen(s *score.Strategy, requested, allocatable int64) int64 {
	switch {
	case s.Type == score.RequestedToCapacityRatio:
		return interpolate(s.RequestedToCapacityRatio.Shape, utilization(requested, allocatable), 1)
	case full(requested, allocatable):
		return 0
	case s.Type == score.MostAllocated:
		return share(requested, 10, allocatable)
	}
	return share(allocatable-requested, 10, allocatable)
}

// full reports whether a resource is over capacity, or not there.
func full(requested, allocatable int64) bool { return allocatable == 0 || requested > allocatable }

// utilization returns 100 minus the free share in percent, truncated. A full resource is used to 100 percent.
func utilization(requested, allocatable int64) int64 {
	if full(requested, allocatable) {
		return 100
	}
	return 100 - share(allocatable-requested, 100, allocatable)
}

// interpolate returns the score of a utilization by the two points around it, times scale. Divisions truncate toward zero.
func interpolate(shape []score.Point, percent, scale int64) int64 {
	for i, p := range shape {
		if percent > int64(p.Utilization) {
			continue
		}
		if i == 0 {
			return int64(p.Score) * scale
		}
		q := shape[i-1]
		from, rise := int64(q.Score)*scale, int64(p.Score-q.Score)*scale
		return from + rise*(percent-int64(q.Utilization))/int64(p.Utilization-q.Utilization)
	}
	return int64(shape[len(shape)-1].Score) * scale
}

// mean is a weighted mean.
type mean struct{ sum, weights int64 }

func (m *mean) add(n, weight int64) { m.sum, m.weights = m.sum+n*weight, m.weights+weight }

// truncated needs weights.
func (m *mean) truncated() int64 { return m.sum / m.weights }

// rounded is 0 without weights.
func (m *mean) rounded() int64 {
	if m.weights == 0 {
		return 0
	}
	return int64(math.Round(float64(m.sum) / float64(m.weights)))
}

// requestOf returns what the pod counts with: its requests, and 100m cpu and 200Mi memory for containers without a request.
func requestOf(pod *v1.Pod) func(v1.ResourceName) int64 {
	cpu, memory := overhead.NonZeroIncoming(pod)
	list := map[v1.ResourceName]int64{}
	overhead.Each(pod, overhead.Options{IgnorePodLevel: true}, func(name v1.ResourceName, n int64) {
		if name == v1.ResourceEphemeralStorage || resources.IsScalar(name) {
			list[name] = n
		}
	})
	list[v1.ResourceCPU], list[v1.ResourceMemory] = cpu, memory
	return func(name v1.ResourceName) int64 { return list[name] }
}

// amounts returns what the pods of slot i ask for and what its node offers. Both are 0 for an unknown resource.
func amounts(rows score.Rows, i int, name v1.ResourceName) (used, allocatable int64) {
	cpu, memory := rows.NonZero(i)
	switch name {
	case v1.ResourceCPU:
		return cpu, rows.Allocatable(i).At(resources.CPU)
	case v1.ResourceMemory:
		return memory, rows.Allocatable(i).At(resources.Memory)
	}
	at, ok := rows.Schema().Column(name)
	if !ok || name != v1.ResourceEphemeralStorage && !resources.IsScalar(name) {
		return
	}
	return rows.Requested(i).At(at), rows.Allocatable(i).At(at)
}

// share returns n * limit / of, truncated toward zero. A result that is larger than an int64, which negative amounts can have, is the
// largest int64. of must not be 0.
func share(n, limit, of int64) int64 {
	hi, lo := bits.Mul64(magnitude(n), uint64(limit))
	q := uint64(math.MaxInt64)
	if d := magnitude(of); hi < d {
		exact, _ := bits.Div64(hi, lo, d)
		q = min(q, exact)
	}
	if (n < 0) != (of < 0) {
		return -int64(q)
	}
	return int64(q)
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}
