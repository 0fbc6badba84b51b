package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/score"
)

// utilization is how full a set of nodes is with the members of a group, whatever the strategy of the arguments is (rule PG4.7).
// Pod-level resources of members do not count. An extended resource counts if a member asks for it.
func utilization(args score.FitArgs, c Cluster, slots []int, members []*v1.Pod) int64 {
	scored := []score.Resource{{Name: string(v1.ResourceCPU)}, {Name: string(v1.ResourceMemory)}}
	if args.ScoringStrategy != nil && len(args.ScoringStrategy.Resources) > 0 {
		scored = args.ScoringStrategy.Resources
	}
	var amounts []podgroup.Amount
	for _, r := range scored {
		a := podgroup.Amount{Weight: max(r.Weight, 1)}
		for _, pod := range members {
			a.Requested += requestOf(pod, v1.ResourceName(r.Name))
		}
		name := v1.ResourceName(r.Name)
		basic := name == v1.ResourceCPU || name == v1.ResourceMemory
		if !basic && a.Requested == 0 {
			continue
		}
		column, known := c.Schema().Column(name)
		if !known {
			continue
		}
		for _, i := range slots {
			a.Allocatable += c.Allocatable(i).At(column)
			cpu, memory := c.NonZero(i)
			switch name {
			case v1.ResourceCPU:
				a.Requested += cpu
			case v1.ResourceMemory:
				a.Requested += memory
			default:
				a.Requested += c.Requested(i).At(column)
			}
		}
		amounts = append(amounts, a)
	}
	return podgroup.Utilization(amounts)
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
