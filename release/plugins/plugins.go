// Package plugins (experimental) lists the scheduler plugins of Kubernetes: [InTree] has those of a release with names, extension points
// and weights, and [Default] those that run when a profile names none. It also merges the plugin lists of profiles into
// default lists and expands multiPoint.
//
// Rule: documentation, "Scheduler Configuration" (Scheduling plugins, Multiple profiles). What all packages promise is said
// in [github.com/podberth/podberth].
package plugins

import "github.com/podberth/podberth/release"

// Names of plugins.
const (
	SchedulingGates                 = "SchedulingGates"
	PrioritySort                    = "PrioritySort"
	NodeUnschedulable               = "NodeUnschedulable"
	NodeName                        = "NodeName"
	TaintToleration                 = "TaintToleration"
	NodeAffinity                    = "NodeAffinity"
	NodePorts                       = "NodePorts"
	NodeResourcesFit                = "NodeResourcesFit"
	VolumeRestrictions              = "VolumeRestrictions"
	NodeVolumeLimits                = "NodeVolumeLimits"
	VolumeBinding                   = "VolumeBinding"
	VolumeZone                      = "VolumeZone"
	PodTopologySpread               = "PodTopologySpread"
	InterPodAffinity                = "InterPodAffinity"
	DynamicResources                = "DynamicResources"
	DefaultPreemption               = "DefaultPreemption"
	NodeResourcesBalancedAllocation = "NodeResourcesBalancedAllocation"
	ImageLocality                   = "ImageLocality"
	DefaultBinder                   = "DefaultBinder"
	NodeDeclaredFeatures            = "NodeDeclaredFeatures"

	GangScheduling             = "GangScheduling"
	PodGroupPodsCount          = "PodGroupPodsCount"
	TopologyPlacementGenerator = "TopologyPlacementGenerator"
)

// Plugin is a plugin that is part of kube-scheduler.
type Plugin struct {
	Name string
	// Weight is the plugin's weight at MultiPoint of the default profile. 0 means no weight: the score of such a plugin
	// counts once.
	Weight int32
	// Points are the names of the extension points that the plugin takes part in.
	Points []string
}

// At reports whether the plugin takes part in an extension point.
func (p Plugin) At(point string) bool {
	for _, x := range p.Points {
		if x == point {
			return true
		}
	}
	return false
}

// Default returns the plugins of the default profile of a release in their order, as a new slice.
func Default(v release.Version) []Plugin {
	return defaultOf(v, []Plugin{
		{SchedulingGates, 0, []string{"PreEnqueue"}},
		{PrioritySort, 0, []string{"QueueSort"}},
		{NodeUnschedulable, 0, []string{"Filter"}},
		{NodeName, 0, []string{"Filter"}},
		{TaintToleration, 3, []string{"Filter", "PreScore", "Score"}},
		{NodeAffinity, 2, []string{"PreFilter", "Filter", "PreScore", "Score"}},
		{NodePorts, 0, []string{"PreFilter", "Filter"}},
		{NodeResourcesFit, 1, []string{"PreFilter", "Filter", "PreScore", "Score", "PlacementScore"}},
		{VolumeRestrictions, 0, []string{"PreFilter", "Filter"}},
		{NodeVolumeLimits, 0, []string{"PreFilter", "Filter"}},
		{VolumeBinding, 0, []string{"PreFilter", "Filter", "Reserve", "PreBind", "PreScore", "Score"}},
		{VolumeZone, 0, []string{"PreFilter", "Filter"}},
		{PodTopologySpread, 2, []string{"PreFilter", "Filter", "PreScore", "Score"}},
		{InterPodAffinity, 2, []string{"PreFilter", "Filter", "PreScore", "Score"}},
		{DynamicResources, 2, []string{"PreEnqueue", "PreFilter", "Filter", "PostFilter", "Score", "Reserve", "PreBind"}},
		{DefaultPreemption, 0, []string{"PostFilter", "PreEnqueue"}},
		{NodeResourcesBalancedAllocation, 1, []string{"PreScore", "Score"}},
		{ImageLocality, 1, []string{"Score"}},
		{DefaultBinder, 0, []string{"Bind"}},
		{NodeDeclaredFeatures, 0, []string{"PreFilter", "Filter"}},
	})
}

// InTree returns [Default] of v1.37 and the other plugins of kube-scheduler, as a new slice.
func InTree() []Plugin {
	return append(Default(release.Current),
		Plugin{GangScheduling, 0, []string{"PreEnqueue", "Permit"}},
		Plugin{PodGroupPodsCount, 0, []string{"PlacementScore"}},
		Plugin{TopologyPlacementGenerator, 0, []string{"PlacementGenerate"}},
	)
}

// DefaultAt returns the names of the default plugins of a release at an extension point, in their order.
func DefaultAt(v release.Version, point string) []string {
	var out []string
	for _, p := range Default(v) {
		if p.At(point) {
			out = append(out, p.Name)
		}
	}
	return out
}
