package placement

import (
	"cmp"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/spread"
	"github.com/podberth/podberth/taints"
	"github.com/podberth/podberth/volumes"
	volumetracker "github.com/podberth/podberth/volumes/tracker"
)

// Profile lists the filters and the scores in their order, with the weights. The zero value has none: every node is feasible
// and all nodes are equal.
type Profile struct {
	// SchedulerName is the spec.schedulerName of the profile's pods; "" means "default-scheduler".
	SchedulerName string
	// Filters check a node in this order. The first filter that rejects gives the reason.
	Filters []*Plugin
	// Scores are added up in this order.
	Scores []Weighted
	// Volumes follows the volumes of the cluster, and has what attempts have reserved. Plans that place pods in the same cluster,
	// such as those of several profiles, must have the same Volumes. nil: the plan makes one.
	Volumes *volumetracker.Tracker
	// Devices follows the claims of devices, and has what attempts have reserved. Plans that place pods in the same cluster must
	// have the same Devices. nil: the plan makes one.
	Devices *tracker.Tracker
	// Sampling limits how many feasible nodes a search looks for. The zero value is v1.37's: all nodes of a small cluster, a
	// share of the nodes of a large one. AllNodes has no limit.
	Sampling filter.Sampling
}

// Weighted is a score plugin and its weight. Weight 0 means 1.
type Weighted struct {
	*Plugin
	Weight int64
}

// AllNodes returns the sampling that checks every node, whatever the size of the cluster.
func AllNodes() filter.Sampling {
	all := int32(100)
	return filter.Sampling{Percentage: &all}
}

// PluginArgs has the arguments of v1.37's plugins, in fields named after the plugins. The zero value has v1.37's defaults.
type PluginArgs struct {
	// Release is the release that the profile follows: its plugins, their order and weights, and the rules of all plugins whose
	// own arguments name no release.
	Release release.Version
	// Taints configures TaintToleration and NodeUnschedulable, and PodTopologySpread unless it has a Matching of its own.
	Taints           taints.Options
	NodeAffinity     affinity.NodeOptions
	NodeResourcesFit FitOptions
	// BalancedAllocation configures NodeResourcesBalancedAllocation.
	BalancedAllocation score.BalanceArgs
	PodTopologySpread  spread.Options
	InterPodAffinity   affinity.PodOptions
	// Volumes configures VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone.
	Volumes volumes.Options
	// Devices configures DynamicResources. Without Devices.Compiler a selector of a claim or class is an error.
	Devices tracker.Options
}

// DefaultProfile returns v1.37's default profile with default arguments: the profile of PluginArgs{}. [PluginArgs] with a Release
// has the default profile of another release.
func DefaultProfile() Profile { return PluginArgs{}.Profile() }

// Profile returns the default profile of the release with these arguments: its filters in their order and its scores with their
// weights. Plugins that decide about no node, such as DefaultBinder, are left out. Rule: documentation, "Scheduler
// Configuration" (Scheduling plugins).
func (a PluginArgs) Profile() Profile {
	out := Profile{SchedulerName: v1.DefaultSchedulerName}
	builtin := a.plugins()
	for _, entry := range plugins.Default(a.Release) {
		p := findPlugin(builtin, entry.Name)
		if p == nil {
			continue
		}
		if entry.At("Filter") {
			out.Filters = append(out.Filters, p)
		}
		if p.Score != nil && entry.At("Score") {
			out.Scores = append(out.Scores, Weighted{p, int64(entry.Weight)})
		}
	}
	return out
}

// Plugin returns the plugin of v1.37 with that name and these arguments. The error is [ErrUnknownPlugin] for a name that
// v1.37 does not have, and for a plugin that decides about no node, such as DefaultBinder.
func (a PluginArgs) Plugin(name string) (*Plugin, error) {
	if p := findPlugin(a.plugins(), name); p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("plugin %q: %w", name, ErrUnknownPlugin)
}

// plugins returns the plugins of v1.37 that decide about nodes. To add one, add its function here.
func (a PluginArgs) plugins() []*Plugin {
	a = a.released()
	return []*Plugin{
		newNodeUnschedulable(a.Taints),
		newNodeName(a.Release),
		newTaintToleration(a.Taints),
		newNodeAffinity(a.NodeAffinity),
		newNodePorts(),
		newNodeResourcesFit(a.NodeResourcesFit, a.Devices),
		newVolumeRestrictions(a.Volumes),
		newNodeVolumeLimits(a.Volumes),
		newVolumeBinding(a.Volumes),
		newVolumeZone(a.Volumes),
		newPodTopologySpread(a.PodTopologySpread),
		newInterPodAffinity(a.InterPodAffinity),
		newDynamicResources(a.Devices),
		newNodeResourcesBalancedAllocation(a.BalancedAllocation, a.Devices),
		newImageLocality(a.Release),
		newNodeDeclaredFeatures(),
	}
}

// findPlugin returns the plugin of that name; nil when the list has none.
func findPlugin(list []*Plugin, name string) *Plugin {
	for _, p := range list {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Validate returns the errors of the profile, by field path: a plugin that is nil or has no name, a plugin twice in one list,
// a plugin in a list for which it has no function, a [Keep] without what it needs, a negative weight.
func (p Profile) Validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, f := range p.Filters {
		at := path.Child("filters").Index(i)
		errs = append(errs, f.validate(seen, f != nil && f.Filter != nil, at)...)
	}
	seen = map[string]bool{}
	for i, w := range p.Scores {
		at := path.Child("scores").Index(i)
		errs = append(errs, w.Plugin.validate(seen, w.Plugin != nil && w.Plugin.Score != nil, at.Child("plugin"))...)
		if w.Weight < 0 {
			errs = append(errs, field.Invalid(at.Child("weight"), w.Weight, "must not be negative; 0 means 1"))
		}
	}
	return append(errs, filter.ValidatePercentage(p.Sampling.Percentage, path.Child("sampling", "percentage"))...)
}

// validate checks one plugin of a list; serves reports whether the plugin has the function of the list.
func (p *Plugin) validate(seen map[string]bool, serves bool, path *field.Path) field.ErrorList {
	if p == nil {
		return field.ErrorList{field.Required(path, "a plugin")}
	}
	errs := named(p.Name, seen, path)
	switch {
	case len(errs) > 0:
	case !serves:
		errs = append(errs, field.Invalid(path, p.Name, "does not serve at this point"))
	case p.Keep != KeepNothing && p.AppendKey == nil:
		errs = append(errs, field.Required(path.Child("appendKey"), "what the plugin reads of a pod"))
	case p.Keep == keepByAllPods && p.states == nil:
		errs = append(errs, field.Invalid(path.Child("keep"), p.Keep, "no plugin of a caller counts the pods of all nodes"))
	case p.Keep == KeepIfSkipped && p.Skips == nil:
		errs = append(errs, field.Required(path.Child("skips"), "of a plugin with KeepIfSkipped"))
	}
	return errs
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

// Filter returns the filter of that name; nil when the profile has none.
func (p Profile) Filter(name string) *Plugin { return findPlugin(p.Filters, name) }

// weight returns the weight of a score.
func (w Weighted) weight() int64 {
	if w.Weight == 0 {
		return 1
	}
	return w.Weight
}

func preScoreError(plugin string, err error) error {
	return fmt.Errorf("running PreScore plugin %q: %w", plugin, err)
}

// Schedules reports whether the profile decides about the pod. An empty name of a scheduler, on either side, is that of the default
// scheduler.
func (p Profile) Schedules(pod *v1.Pod) bool {
	return podinfo.SchedulerName(pod) == cmp.Or(p.SchedulerName, v1.DefaultSchedulerName)
}
