package history

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
)

// Profile118 returns the default profile of v1.18 for placement: its score plugins by their names then, in their order, with
// weight 1 each but 10000 for [NodePreferAvoidPods]. Its filters are those of v1.37 that v1.18 had, in the order of v1.37.
//
// limit is the highest score that a plugin gives. It was 100 in v1.18, and 10 in releases up to about v1.16. With another limit than
// 100, plugins that v1.37 still has give their score of today times limit / 100, truncated. The scores that changed since are
//
//   - NodeResourcesBalancedAllocation: Difference,
//   - NodeResourcesLeastAllocated: the free share of cpu and memory; a resource that the node does not have scores 0 and counts. Both
//     plugins count a cpu of the pod's overhead as a millicpu, rounded up,
//   - DefaultPodTopologySpread: [SelectorSpread],
//   - NodePreferAvoidPods,
//   - PodTopologySpread: linear in the number of matching pods, and without default constraints,
//   - ImageLocality: 1000 MiB in all are the best score, not 1000 MiB a container,
//   - InterPodAffinity: normalized from 0, not from the smallest score, when no score is below 0.
//
// Extenders give 0 to 10, which [score.Totals] scales by 10. Work for equal pods is not kept.
func Profile118(limit int64) placement.Profile {
	today := placement.DefaultProfile()
	out := placement.Profile{SchedulerName: today.SchedulerName}
	for _, p := range today.Filters {
		if p.Name != "DynamicResources" && p.Name != "NodeDeclaredFeatures" {
			out.Filters = append(out.Filters, p)
		}
	}
	spread := selectorSpread(nil, limit)
	spread.Name = "DefaultPodTopologySpread"
	add := func(weight int64, p *placement.Plugin) {
		out.Scores = append(out.Scores, placement.Weighted{Plugin: p, Weight: weight})
	}
	still := func(name string) *placement.Plugin {
		at := slices.IndexFunc(today.Scores, func(w placement.Weighted) bool { return w.Name == name })
		return scaled(today.Scores[at].Plugin, limit)
	}
	rows := func(name string, scorer func(pod *v1.Pod, rows score.Rows) placement.Scorer) *placement.Plugin {
		return &placement.Plugin{Name: name, Score: func(pod *v1.Pod, c placement.Cluster) (placement.Scorer, error) { return scorer(pod, c), nil }}
	}
	add(1, rows("NodeResourcesBalancedAllocation", func(pod *v1.Pod, rows score.Rows) placement.Scorer {
		return Difference(milliOverhead(pod), rows, limit)
	}))
	add(1, rows("ImageLocality", func(pod *v1.Pod, c score.Rows) placement.Scorer { return imageTotal(pod, c.(placement.Cluster), limit) }))
	affinity := still("InterPodAffinity")
	add(1, &placement.Plugin{Name: affinity.Name, Score: func(pod *v1.Pod, c placement.Cluster) (placement.Scorer, error) {
		s, err := affinity.Score(pod, c)
		if s == nil || err != nil {
			return nil, err
		}
		return fromZero{s.(scaledScore)}, nil
	}})
	add(1, rows("NodeResourcesLeastAllocated", func(pod *v1.Pod, rows score.Rows) placement.Scorer {
		return leastAllocated(milliOverhead(pod), rows, limit)
	}))
	add(1, still("NodeAffinity"))
	add(10000, scaled(NodePreferAvoidPods(), limit))
	add(1, spread)
	add(1, still("TaintToleration"))
	add(1, softConstraints(limit))
	return out
}

// milliOverhead returns the pod with the overhead that the resource scores of v1.18 saw: they took whole cpus, rounded up, for
// millicpus. The overhead of running pods was right.
func milliOverhead(pod *v1.Pod) *v1.Pod {
	cpu, ok := pod.Spec.Overhead[v1.ResourceCPU]
	if !ok {
		return pod
	}
	out := *pod
	out.Spec.Overhead = maps.Clone(pod.Spec.Overhead)
	out.Spec.Overhead[v1.ResourceCPU] = *resource.NewMilliQuantity(cpu.Value(), resource.DecimalSI)
	return &out
}

// leastAllocated is the mean of the free shares of cpu and memory, 0 to limit.
func leastAllocated(pod *v1.Pod, rows score.Rows, limit int64) placement.Scorer {
	asked := requestOf(pod)
	return scorer(func(i int) int64 {
		var m mean
		for _, name := range [...]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
			used, allocatable := amounts(rows, i, name)
			var free int64
			if requested := resources.Add(used, asked(name)); allocatable > 0 && requested <= allocatable {
				free = share(allocatable-requested, limit, allocatable)
			}
			m.add(free, 1)
		}
		return m.truncated()
	})
}

// scaled returns a score plugin with scores of 0 to limit, and without work for equal pods.
func scaled(p *placement.Plugin, limit int64) *placement.Plugin {
	return &placement.Plugin{Name: p.Name, Score: func(pod *v1.Pod, c placement.Cluster) (placement.Scorer, error) {
		s, err := p.Score(pod, c)
		if s == nil || err != nil {
			return nil, err
		}
		return scaledScore{s, limit}, nil
	}}
}

// scaledScore passes all optional interfaces of a scorer on.
type scaledScore struct {
	placement.Scorer
	limit int64
}

// Normalize scales what the scorer normalizes to.
func (s scaledScore) Normalize(raw, lo, hi int64) int64 {
	if n, ok := s.Scorer.(placement.Normalizer); ok {
		raw = n.Normalize(raw, lo, hi)
	}
	return raw * s.limit / score.MaxScore
}

// Weigh passes the feasible nodes on.
func (s scaledScore) Weigh(slots, counts []int32) {
	if w, ok := s.Scorer.(placement.Weigher); ok {
		w.Weigh(slots, counts)
	}
}

// Ignored reports whether the scorer leaves the node out.
func (s scaledScore) Ignored(i int) bool {
	g, ok := s.Scorer.(interface{ Ignored(i int) bool })
	return ok && g.Ignored(i)
}

// fromZero normalizes as if a node had the raw score 0.
type fromZero struct{ scaledScore }

// Normalize counts 0 among the raw scores.
func (s fromZero) Normalize(raw, lo, hi int64) int64 {
	return s.scaledScore.Normalize(raw, min(lo, 0), max(hi, 0))
}
