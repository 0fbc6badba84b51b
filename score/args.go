package score

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/release"
)

// MaxScore is the largest score of a plugin after normalization. The smallest is 0.
const MaxScore = 100

// The values of [Strategy.Type].
const (
	LeastAllocated           = "LeastAllocated"           // a node scores more when it is emptier with the pod
	MostAllocated            = "MostAllocated"            // a node scores more when it is fuller with the pod
	RequestedToCapacityRatio = "RequestedToCapacityRatio" // a shape gives the score of each utilization
)

// Resource is a resource and its weight in the average of a node. Weight 0 means 1.
type Resource struct {
	Name   string `json:"name"`
	Weight int64  `json:"weight,omitempty"`
}

// Point is one point of a shape: a node with Utilization percent in use (0 to 100) has Score (0 to 10).
type Point struct {
	Utilization int32 `json:"utilization"`
	Score       int32 `json:"score"`
}

// Ratio is the parameter of [RequestedToCapacityRatio]. Between two points the score is interpolated in integers. Before the
// first point and after the last point it is constant.
type Ratio struct {
	Shape []Point `json:"shape"`
}

// Strategy is how NodeResourcesFit scores. Type is [LeastAllocated], [MostAllocated] or [RequestedToCapacityRatio]. When there is
// a Strategy its Type has no default.
type Strategy struct {
	Type                     string     `json:"type,omitempty"`
	Resources                []Resource `json:"resources,omitempty"` // empty: cpu and memory, weight 1 each
	RequestedToCapacityRatio *Ratio     `json:"requestedToCapacityRatio,omitempty"`
}

// FitArgs are the arguments of NodeResourcesFit, with the fields of kubescheduler.config.k8s.io/v1. The zero value is
// v1.37's default: [LeastAllocated] over cpu and memory. The two ignored lists concern only the filter.
type FitArgs struct {
	IgnoredResources      []string  `json:"ignoredResources,omitempty"`
	IgnoredResourceGroups []string  `json:"ignoredResourceGroups,omitempty"`
	ScoringStrategy       *Strategy `json:"scoringStrategy,omitempty"`
}

// BalanceArgs are the arguments of NodeResourcesBalancedAllocation. The zero value is v1.37's default: cpu and memory. The
// weight of a resource must be 1; 0 means 1 (rule C6.5).
type BalanceArgs struct {
	Resources []Resource `json:"resources,omitempty"`
	// Release is the release whose formula counts (rule L5.1).
	Release release.Version `json:"-"`
}

// defaultStrategy is the strategy of arguments that name none. It is valid.
var defaultStrategy = Strategy{Type: LeastAllocated, Resources: []Resource{{string(v1.ResourceCPU), 1}, {string(v1.ResourceMemory), 1}}}

// defaultFitArgs returns args with the defaults of the configuration API (rule C11.1): a missing strategy is LeastAllocated
// over cpu and memory, an empty resource list is cpu and memory, a weight of 0 is 1. The type of an existing strategy has
// no default. args is not modified.
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
