package placement

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/filter/volume"
	"github.com/podberth/podberth/internal/plugins"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/spread"
	"github.com/podberth/podberth/taints"
)

// Profile says which plugins decide and which rank, in which order and with which weights. The zero value has none: every
// node is feasible and all are equal.
type Profile struct {
	// SchedulerName is the spec.schedulerName of the pods that the profile is for; "" stands for "default-scheduler".
	SchedulerName string
	// Filters are asked about a node in this order; the first that rejects gives the reason.
	Filters []*Plugin
	// Scores are summed up in this order.
	Scores []Weighted
	// Volumes is what the plan's volume plugins share. Plans that place pods in the same cluster, such as those of several
	// profiles, must share one. nil: the plan makes its own.
	Volumes *Volumes
	// Sampling says how many feasible nodes are looked for. The zero value is v1.36's: all nodes of a small cluster, a
	// share of those of a large one. AllNodes looks at every node.
	Sampling filter.Sampling
}

// Weighted is a score plugin with the factor of its scores. Weight 0 stands for 1.
type Weighted struct {
	*Plugin
	Weight int64
}

// AllNodes is the sampling that looks at every node, whatever the size of the cluster.
func AllNodes() filter.Sampling {
	all := int32(100)
	return filter.Sampling{Percentage: &all}
}

// PluginArgs are arguments of v1.36's plugins, each field named after its plugin. The zero value has v1.36's defaults.
type PluginArgs struct {
	// Taints are those of TaintToleration and NodeUnschedulable.
	Taints           taints.Options
	NodeAffinity     affinity.NodeOptions
	NodeResourcesFit FitOptions
	// BalancedAllocation are those of NodeResourcesBalancedAllocation.
	BalancedAllocation score.BalanceArgs
	PodTopologySpread  spread.Options
	InterPodAffinity   affinity.PodOptions
	// Volumes are those of VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone.
	Volumes volume.Options
}

// DefaultProfile returns v1.36's default profile with default arguments: the profile of PluginArgs{}.
func DefaultProfile() Profile { return PluginArgs{}.Profile() }

// Profile returns v1.36's default profile with these arguments: its filters in their order and its scores with their
// weights. Plugins that decide about no node, such as DefaultBinder, are left out. Rule: documentation, "Scheduler
// Configuration" (Scheduling plugins).
func (a PluginArgs) Profile() Profile {
	out := Profile{SchedulerName: v1.DefaultSchedulerName}
	builtin := a.plugins()
	for _, entry := range plugins.Default() {
		p := find(builtin, entry.Name)
		if p == nil {
			continue
		}
		if p.Filter != nil {
			out.Filters = append(out.Filters, p)
		}
		if p.Score != nil {
			out.Scores = append(out.Scores, Weighted{p, int64(entry.Weight)})
		}
	}
	return out
}

// Plugin returns the plugin of v1.36 with that name and these arguments. The error is ErrUnknownPlugin for a name that
// v1.36 does not have, and for a plugin that decides about no node, such as DefaultBinder.
func (a PluginArgs) Plugin(name string) (*Plugin, error) {
	if p := find(a.plugins(), name); p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("plugin %q: %w", name, ErrUnknownPlugin)
}

// plugins returns the plugins of v1.36 that decide about nodes. To add one, add its function here.
func (a PluginArgs) plugins() []*Plugin {
	return []*Plugin{
		newNodeUnschedulable(a.Taints),
		newNodeName(),
		newTaintToleration(a.Taints),
		newNodeAffinity(a.NodeAffinity),
		newNodePorts(),
		newNodeResourcesFit(a.NodeResourcesFit),
		newVolumeRestrictions(a.Volumes),
		newNodeVolumeLimits(a.Volumes),
		newVolumeBinding(a.Volumes),
		newVolumeZone(a.Volumes),
		newPodTopologySpread(a.PodTopologySpread),
		newInterPodAffinity(a.InterPodAffinity),
		newDynamicResources(a.NodeResourcesFit.Fit),
		newNodeResourcesBalancedAllocation(a.BalancedAllocation),
		newImageLocality(),
		newNodeDeclaredFeatures(),
	}
}

// find returns the plugin of that name, nil without one.
func find(list []*Plugin, name string) *Plugin {
	for _, p := range list {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Hints returns the queueing hints of the profile's plugins by plugin, for queue.DefaultEvents. known are the namespaces at
// the time of an event, such as a Cluster.
func (p Profile) Hints(known affinity.Namespaces) map[string]queue.Hint {
	out := map[string]queue.Hint{}
	add := func(plugin *Plugin) {
		if plugin.Hint != nil {
			out[plugin.Name] = plugin.Hint(known)
		}
	}
	for _, f := range p.Filters {
		add(f)
	}
	for _, w := range p.Scores {
		add(w.Plugin)
	}
	return out
}

// Validate returns what is wrong with the profile: plugins without a name, without the function of the point, or twice at one
// point, plugins that say how answers are kept and not by what, negative weights.
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
			errs = append(errs, field.Invalid(at.Child("weight"), w.Weight, "must not be negative; 0 stands for 1"))
		}
	}
	return append(errs, filter.ValidatePercentage(p.Sampling.Percentage, path.Child("sampling", "percentage"))...)
}

// validate checks one plugin at a point; serves reports whether the plugin has the function of the point.
func (p *Plugin) validate(seen map[string]bool, serves bool, path *field.Path) field.ErrorList {
	if p == nil {
		return field.ErrorList{field.Required(path, "a plugin")}
	}
	errs := named(p.Name, seen, path)
	switch {
	case len(errs) > 0:
	case !serves:
		errs = append(errs, field.Invalid(path, p.Name, "does not serve at this point"))
	case p.Group != GroupNever && p.AppendKey == nil:
		errs = append(errs, field.Required(path.Child("appendKey"), "what the plugin reads of a pod"))
	case p.Group == GroupStates && p.States == nil:
		errs = append(errs, field.Required(path.Child("states"), "of a plugin of group States"))
	case p.Group == GroupAbsent && p.Skips == nil:
		errs = append(errs, field.Required(path.Child("skips"), "of a plugin of group Absent"))
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

// Filter returns the filter plugin of that name, nil without one.
func (p Profile) Filter(name string) *Plugin { return find(p.Filters, name) }

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
