package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
)

// utilization returns how full sets of nodes are with the members of a group, whatever the strategy of the arguments is (rule PG4.7).
// Pod-level resources of members do not count. An extended resource counts if a member asks for it.
func utilization(args score.FitArgs, c Cluster, members []*v1.Pod) func(slots []int) int64 {
	scored := []score.Resource{{Name: string(v1.ResourceCPU)}, {Name: string(v1.ResourceMemory)}}
	if args.ScoringStrategy != nil && len(args.ScoringStrategy.Resources) > 0 {
		scored = args.ScoringStrategy.Resources
	}
	type scoredResource struct {
		name   v1.ResourceName
		column int
		amount podgroup.Amount // of the members
	}
	var all []scoredResource
	for _, r := range scored {
		x := scoredResource{name: v1.ResourceName(r.Name), amount: podgroup.Amount{Weight: max(r.Weight, 1)}}
		for _, pod := range members {
			x.amount.Requested += requestOf(pod, x.name)
		}
		basic := x.name == v1.ResourceCPU || x.name == v1.ResourceMemory
		if !basic && x.amount.Requested == 0 {
			continue
		}
		known := false
		if x.column, known = c.Schema().Column(x.name); known {
			all = append(all, x)
		}
	}
	amounts := make([]podgroup.Amount, len(all))
	return func(slots []int) int64 {
		for k := range all {
			amounts[k] = all[k].amount
		}
		for _, i := range slots {
			allocatable, requested := c.Allocatable(i), c.Requested(i)
			cpu, memory := c.NonZero(i)
			for k := range all {
				a, column := &amounts[k], all[k].column
				a.Allocatable += allocatable.At(column)
				switch column {
				case resources.CPU:
					a.Requested += cpu
				case resources.Memory:
					a.Requested += memory
				default:
					a.Requested += requested.At(column)
				}
			}
		}
		return podgroup.Utilization(amounts)
	}
}

// requestOf returns what a member counts with.
func requestOf(pod *v1.Pod, name v1.ResourceName) (amount int64) {
	switch name {
	case v1.ResourceCPU:
		amount, _ = overhead.NonZeroIncoming(pod)
		return amount
	case v1.ResourceMemory:
		_, amount = overhead.NonZeroIncoming(pod)
		return amount
	}
	overhead.Each(pod, overhead.Options{IgnorePodLevel: true}, func(n v1.ResourceName, value int64) {
		if n == name {
			amount = value
		}
	})
	return amount
}
