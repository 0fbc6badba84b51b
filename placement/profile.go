package placement

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/filter"
)

// Profile says which plugins decide and which rank, in which order and with which weights. The zero value has none: every
// node is feasible and all are equal.
type Profile struct {
	// SchedulerName is the spec.schedulerName of the pods that the profile is for; "" stands for "default-scheduler".
	SchedulerName string
	// Filters are asked about a node in this order; the first that rejects gives the reason.
	Filters []FilterPlugin
	// Scores are summed up in this order.
	Scores []Weighted
	// Sampling says how many feasible nodes are looked for. The zero value is v1.36's: all nodes of a small cluster, a
	// share of those of a large one. AllNodes looks at every node.
	Sampling filter.Sampling
}

// Weighted is a score plugin with the factor of its scores. Weight 0 stands for 1.
type Weighted struct {
	Plugin ScorePlugin
	Weight int64
}

// AllNodes is the sampling that looks at every node, whatever the size of the cluster.
func AllNodes() filter.Sampling {
	all := int32(100)
	return filter.Sampling{Percentage: &all}
}

// DefaultProfile returns v1.36's default-scheduler with default arguments, as far as placement goes: its filters in their
// order and its scores with their weights. Rule: documentation, "Scheduler Configuration", Scheduling plugins.
func DefaultProfile() Profile {
	return Profile{
		SchedulerName: v1.DefaultSchedulerName,
		Filters: []FilterPlugin{
			NodeUnschedulable{}, NodeName{}, TaintToleration{}, NodeAffinity{}, NodePorts{}, NodeResourcesFit{},
			VolumeRestrictions{}, NodeVolumeLimits{}, VolumeBinding{}, VolumeZone{},
			PodTopologySpread{}, InterPodAffinity{}, DynamicResources{}, NodeDeclaredFeatures{},
		},
		Scores: []Weighted{
			{TaintToleration{}, 3}, {NodeAffinity{}, 2}, {NodeResourcesFit{}, 1},
			{PodTopologySpread{}, 2}, {InterPodAffinity{}, 2}, {NodeResourcesBalancedAllocation{}, 1}, {ImageLocality{}, 1},
		},
	}
}

// Validate returns what is wrong with the profile: plugins without a name or twice at one point, negative weights.
func (p Profile) Validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, f := range p.Filters {
		at := path.Child("filters").Index(i)
		if f == nil {
			errs = append(errs, field.Required(at, "a plugin"))
			continue
		}
		errs = append(errs, named(f.Name(), seen, at)...)
	}
	seen = map[string]bool{}
	for i, w := range p.Scores {
		at := path.Child("scores").Index(i)
		if w.Plugin == nil {
			errs = append(errs, field.Required(at.Child("plugin"), "a plugin"))
			continue
		}
		errs = append(errs, named(w.Plugin.Name(), seen, at.Child("plugin"))...)
		if w.Weight < 0 {
			errs = append(errs, field.Invalid(at.Child("weight"), w.Weight, "must not be negative; 0 stands for 1"))
		}
	}
	return append(errs, filter.ValidatePercentage(p.Sampling.Percentage, path.Child("sampling", "percentage"))...)
}

func named(name string, seen map[string]bool, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "a plugin has a name")}
	}
	if seen[name] {
		return field.ErrorList{field.Duplicate(path, name)}
	}
	seen[name] = true
	return nil
}

// Filter returns the filter plugin of that name, nil without one.
func (p Profile) Filter(name string) FilterPlugin {
	for _, f := range p.Filters {
		if f.Name() == name {
			return f
		}
	}
	return nil
}

// weight returns the factor of a score.
func (w Weighted) weight() int64 {
	if w.Weight == 0 {
		return 1
	}
	return w.Weight
}

func preScoreError(plugin string, err error) error {
	return fmt.Errorf("running PreScore plugin %q: %w", plugin, err)
}
