package score

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Scores of a plugin lie in [MinScore, MaxScore] after normalization.
const (
	MinScore = 0
	MaxScore = 100
)

// StrategyType names how NodeResourcesFit scores a node.
type StrategyType string

// The strategies of NodeResourcesFit.
const (
	LeastAllocated           StrategyType = "LeastAllocated"           // the emptier the node with the pod, the better
	MostAllocated            StrategyType = "MostAllocated"            // the fuller, the better
	RequestedToCapacityRatio StrategyType = "RequestedToCapacityRatio" // a shape says what a utilization is worth
)

// Resource is a resource with its weight in the average of a node. Weight 0 stands for 1.
type Resource struct {
	Name   string `json:"name"`
	Weight int64  `json:"weight,omitempty"`
}

// Point of a shape: a node utilized to Utilization percent (0 to 100) is worth Score (0 to 10).
type Point struct {
	Utilization int32 `json:"utilization"`
	Score       int32 `json:"score"`
}

// Ratio is the parameter of RequestedToCapacityRatio. Between two points the score is interpolated in integers; beyond
// the first and the last point it is constant.
type Ratio struct {
	Shape []Point `json:"shape"`
}

// Strategy says how NodeResourcesFit scores. Type has no default once a strategy is given.
type Strategy struct {
	Type                     StrategyType `json:"type,omitempty"`
	Resources                []Resource   `json:"resources,omitempty"` // empty: cpu and memory, weight 1 each
	RequestedToCapacityRatio *Ratio       `json:"requestedToCapacityRatio,omitempty"`
}

// FitArgs are the arguments of NodeResourcesFit, field by field those of kubescheduler.config.k8s.io/v1. The zero value
// is v1.36's default: LeastAllocated over cpu and memory. The two ignored lists concern the filter only.
type FitArgs struct {
	IgnoredResources      []string  `json:"ignoredResources,omitempty"`
	IgnoredResourceGroups []string  `json:"ignoredResourceGroups,omitempty"`
	ScoringStrategy       *Strategy `json:"scoringStrategy,omitempty"`
}

// BalanceMode names a formula of NodeResourcesBalancedAllocation.
type BalanceMode int

// The formulas, the newest first.
const (
	// Improvement (v1.36): how much the pod betters the balance of the node; 75 when it changes nothing.
	Improvement BalanceMode = iota
	// Absolute (v1.22 to v1.35): the balance of the node with the pod.
	Absolute
	// Difference (before v1.22): 1 - |cpu - memory|, and 0 for a node that would be full. It counts 100m and 200Mi for
	// containers without requests, does not skip best-effort pods, and looks at no other resources.
	Difference
	// VolumeVariance is Difference of the alpha gate BalanceAttachedNodeVolumes: 1 - variance of the shares of cpu, memory
	// and attached volumes on nodes whose volume limit is known (see VolumeRows), Difference on all others.
	VolumeVariance
)

// BalanceArgs are the arguments of NodeResourcesBalancedAllocation. The zero value is v1.36's default: Improvement over
// cpu and memory. The weight of a resource must be 1, or 0 for 1.
type BalanceArgs struct {
	Resources []Resource  `json:"resources,omitempty"`
	Mode      BalanceMode `json:"-"`
}

// Arithmetic chooses integer arithmetic of an earlier release.
type Arithmetic int

const (
	// Hundred is v1.36's: scores 0 to 100, utilization requested*100/allocatable.
	Hundred Arithmetic = iota
	// FreeShare is that of the releases before v1.33: as Hundred, but RequestedToCapacityRatio computes utilization as 100
	// minus the truncated free share, so that 3 of 8 is 38 percent.
	FreeShare
	// ZeroToTen is that of the releases before scores went to 100 (about v1.17): every score 0 to 10, utilization as in
	// FreeShare, shape scores not scaled, resources that the pod does not ask for or the node lacks not left out, and 0 for
	// an overcommitted resource under MostAllocated. It reproduces the older documents; do not add such scores to others.
	ZeroToTen
)

// Options of the resource scores. The zero value is v1.36.
type Options struct {
	Arithmetic Arithmetic
}

func (o Options) max() int64 {
	if o.Arithmetic == ZeroToTen {
		return 10
	}
	return MaxScore
}

// DefaultFitArgs returns args as the configuration API defaults them: a missing strategy is LeastAllocated over cpu and
// memory, an empty resource list is cpu and memory, a weight of 0 is 1. The type of a strategy that is present is not
// defaulted. args is not modified.
func DefaultFitArgs(args FitArgs) FitArgs {
	s := Strategy{Type: LeastAllocated}
	if args.ScoringStrategy != nil {
		s = *args.ScoringStrategy
	}
	s.Resources = defaultResources(s.Resources)
	args.ScoringStrategy = &s
	return args
}

// DefaultBalanceArgs returns args as the configuration API defaults them: cpu and memory when no resource is named,
// weight 1 for weight 0. args is not modified.
func DefaultBalanceArgs(args BalanceArgs) BalanceArgs {
	args.Resources = defaultResources(args.Resources)
	return args
}

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
