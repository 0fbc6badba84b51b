package rollout

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// skews returns how evenly the workloads of some pods are spread now, by workload and constraint. A domain is a value of the key
// on a node.
func (x *run) skews(items []*item) []Skew {
	out := []Skew{}
	seen := map[*unit]bool{}
	for _, it := range items {
		if it.unit == nil || seen[it.unit] {
			continue
		}
		seen[it.unit] = true
		for i := range it.obj.Spec.TopologySpreadConstraints {
			c := &it.obj.Spec.TopologySpreadConstraints[i]
			out = append(out, Skew{it.unit.String(), c.TopologyKey, x.skew(it.unit, c.TopologyKey), c.MaxSkew, c.WhenUnsatisfiable == v1.DoNotSchedule})
		}
	}
	slices.SortStableFunc(out, func(a, b Skew) int { return cmp.Or(cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Key, b.Key)) })
	return out
}

// skew returns the largest number of pods of a workload in one domain minus the smallest.
func (x *run) skew(u *unit, key string) int {
	ids, domains, _ := x.snapshot.Domains(key)
	if domains == 0 {
		return 0
	}
	count := make([]int, domains)
	for _, it := range x.ofUnit[u] {
		if it.node == "" || it.seen.DeletionTimestamp != nil {
			continue
		}
		if id := ids[x.snapshot.Slot(it.node)]; id >= 0 {
			count[id]++
		}
	}
	return slices.Max(count) - slices.Min(count)
}
