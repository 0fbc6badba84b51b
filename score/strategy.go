package score

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// MaxScore is the largest score of a plugin after normalization. The smallest is 0.
const MaxScore = 100

// The types of a Strategy.
const (
	LeastAllocated           = "LeastAllocated"           // the emptier the node is with the pod, the better
	MostAllocated            = "MostAllocated"            // the fuller the node is with the pod, the better
	RequestedToCapacityRatio = "RequestedToCapacityRatio" // a shape says what a utilization is worth
)

// Resource is a resource with its weight in the average of a node. Weight 0 is read as 1.
type Resource struct {
	Name   string `json:"name"`
	Weight int64  `json:"weight,omitempty"`
}

// Point is one point of a shape: a node utilized to Utilization percent (0 to 100) is worth Score (0 to 10).
type Point struct {
	Utilization int32 `json:"utilization"`
	Score       int32 `json:"score"`
}

// Ratio is the parameter of RequestedToCapacityRatio. Between two points the score is interpolated in integers. Before the
// first point and after the last point it is constant.
type Ratio struct {
	Shape []Point `json:"shape"`
}

// Strategy says how NodeResourcesFit scores. Type is LeastAllocated, MostAllocated or RequestedToCapacityRatio. It has no
// default when there is a Strategy.
type Strategy struct {
	Type                     string     `json:"type,omitempty"`
	Resources                []Resource `json:"resources,omitempty"` // empty: cpu and memory, weight 1 each
	RequestedToCapacityRatio *Ratio     `json:"requestedToCapacityRatio,omitempty"`
}

// FitArgs are the arguments of NodeResourcesFit, field by field those of kubescheduler.config.k8s.io/v1. The zero value
// is v1.36's default: LeastAllocated over cpu and memory. The two ignored lists concern the filter only.
type FitArgs struct {
	IgnoredResources      []string  `json:"ignoredResources,omitempty"`
	IgnoredResourceGroups []string  `json:"ignoredResourceGroups,omitempty"`
	ScoringStrategy       *Strategy `json:"scoringStrategy,omitempty"`
}

// BalanceArgs are the arguments of NodeResourcesBalancedAllocation. The zero value is v1.36's default: cpu and memory. The
// weight of a resource must be 1; 0 is read as 1.
type BalanceArgs struct {
	Resources []Resource `json:"resources,omitempty"`
}

// defaultFitArgs returns args as the configuration API defaults them: a missing strategy is LeastAllocated over cpu and
// memory, an empty resource list is cpu and memory, a weight of 0 is 1. The type of a strategy that is present is not
// defaulted. args is not modified.
func defaultFitArgs(args FitArgs) FitArgs {
	s := Strategy{Type: LeastAllocated}
	if args.ScoringStrategy != nil {
		s = *args.ScoringStrategy
	}
	s.Resources = defaultResources(s.Resources)
	args.ScoringStrategy = &s
	return args
}

// defaultResources returns cpu and memory for an empty list, and weight 1 for weight 0. list is not modified.
func defaultResources(list []Resource) []Resource {
	if len(list) == 0 {
		return []Resource{{string(v1.ResourceCPU), 1}, {string(v1.ResourceMemory), 1}}
	}
	list = slices.Clone(list)
	for i := range list {
		if list[i].Weight == 0 {
			list[i].Weight = 1
		}
	}
	return list
}
