package groups

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/release/plugins"
)

// FeatureGates are feature gates that a user turns on or off: the value of a flag --feature-gates, as kube-scheduler has it. A gate that
// is not in it has its default; AllAlpha and AllBeta give the gates of a stage another one. nil: nobody said anything.
type FeatureGates map[string]bool

// The feature gates of groups of pods. All are off by default in v1.37.
const (
	GenericWorkload  = "GenericWorkload"
	Topology         = "TopologyAwareWorkloadScheduling"
	Composites       = "CompositePodGroup"
	PreemptionPolicy = "PodGroupPreemptionPolicy"
	Claims           = "DRAWorkloadResourceClaims"
)

// Other feature gates that switch something, with their defaults in v1.37.
const (
	comparisons   = "TaintTolerationComparisonOperators" // off
	fractions     = "DRAFractionalCapacityRange"         // off
	storageScores = "StorageCapacityScoring"             // on
	limitScaling  = "VolumeLimitScaling"                 // on
)

// needs has the gates of groups, each with the gates that it needs.
var needs = map[string][]string{
	GenericWorkload: nil, Topology: {GenericWorkload}, Composites: {GenericWorkload, Topology}, PreemptionPolicy: {GenericWorkload}, Claims: {GenericWorkload},
}

// String returns the gates by name: "CompositePodGroup=false,GenericWorkload=true".
func (g FeatureGates) String() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(g)) {
		out = append(out, fmt.Sprintf("%s=%t", name, g[name]))
	}
	return strings.Join(out, ",")
}

// Type is for flags of pflag.
func (FeatureGates) Type() string { return "gates" }

// Set adds gates to those that were set: "GenericWorkload=true,CompositePodGroup=false". A name may have kube-scheduler's prefix "kube:".
// The error is kube-scheduler's: it names a gate that v1.37 does not have, a value that is not true or false, and a gate that is locked.
func (g *FeatureGates) Set(text string) error {
	for item := range strings.SplitSeq(text, ",") {
		if item == "" {
			continue
		}
		name, value, said := strings.Cut(item, "=")
		name, value = strings.TrimPrefix(strings.TrimSpace(name), "kube:"), strings.TrimSpace(value)
		k, there := known()[name]
		if !there && everyGate[name] == "" {
			return fmt.Errorf("unrecognized feature gate: %s", name)
		}
		if !said {
			return fmt.Errorf("missing bool value for %s", name)
		}
		on, err := strconv.ParseBool(value)
		switch {
		case err != nil:
			return fmt.Errorf("invalid value of %s=%s, err: %w", name, value, err)
		case k.locked && on != k.on:
			return fmt.Errorf("cannot set feature gate %s to %t, feature is locked to %t", name, on, k.on)
		}
		if *g == nil {
			*g = FeatureGates{}
		}
		(*g)[name] = on
	}
	return nil
}

// enabled reports whether a gate is on.
func (g FeatureGates) enabled(name string) bool {
	if on, said := g[name]; said {
		return on
	}
	k := known()[name]
	for every, stage := range everyGate {
		if on, said := g[every]; said && stage == k.stage && !k.locked {
			return on
		}
	}
	return k.on
}

// OfGroups reports whether the user said something about a gate of groups of pods.
func (g FeatureGates) OfGroups() bool {
	for name := range g {
		if _, is := needs[name]; is || everyGate[name] != "" {
			return true
		}
	}
	return false
}

// Compares reports whether the operators Gt and Lt of tolerations count (TaintTolerationComparisonOperators).
func (g FeatureGates) Compares() bool { return g.enabled(comparisons) }

// Args returns the arguments of plugins that follow the gates. They are v1.37's defaults where all gates have theirs.
func (g FeatureGates) Args() placement.PluginArgs {
	var a placement.PluginArgs
	a.Taints.ComparisonOperators = g.Compares()
	a.Devices.Search.FractionalRange = g.enabled(fractions)
	a.Devices.GroupClaims = g.enabled(GenericWorkload) && g.enabled(Claims)
	a.Volumes.WithoutStorageScore = !g.enabled(storageScores)
	a.Volumes.WithoutLimitScaling = !g.enabled(limitScaling)
	return a
}

// Plugins returns the plugins of the default profile that follow a gate which has not its default. The error is that of
// [placement.PluginArgs.Plugin].
func (g FeatureGates) Plugins() ([]*placement.Plugin, error) {
	var names []string
	a := g.Args()
	if a.Taints.ComparisonOperators {
		names = append(names, plugins.NodeUnschedulable, plugins.TaintToleration, plugins.PodTopologySpread)
	}
	if a.Devices.Search.FractionalRange {
		names = append(names, plugins.DynamicResources)
	}
	if a.Volumes.WithoutStorageScore || a.Volumes.WithoutLimitScaling {
		names = append(names, plugins.VolumeBinding, plugins.NodeVolumeLimits)
	}
	var out []*placement.Plugin
	for _, name := range names {
		p, err := a.Plugin(name)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// Notes returns a sentence for each gate that the user gave another value than its default and that switches nothing here, in the order
// of the names. AllAlpha and AllBeta have one sentence each.
func (g FeatureGates) Notes() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(g)) {
		if stage := everyGate[name]; stage != "" {
			out = append(out, fmt.Sprintf("feature gate %s=%t: of the %s gates it switches those that podberth follows, and no others", name, g[name], stage))
			continue
		}
		k := known()[name]
		if g[name] == k.on || slices.Contains(followed, name) {
			continue
		}
		text := fmt.Sprintf("feature gate %s=%t: podberth does not follow it, and decides as with %s=%t", name, g[name], name, k.on)
		if note := about(name); note != "" {
			text += ". " + strings.TrimSuffix(note, ".")
		}
		out = append(out, text)
	}
	return out
}

// Gates returns the gates with which groups count; nil when [GenericWorkload] is off: pods of groups are pods like others. The error names
// a gate that is on without one that it needs.
func (g FeatureGates) Gates() (*podgroup.Gates, error) {
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		for _, other := range needs[name] {
			if g.enabled(name) && !g.enabled(other) {
				return nil, fmt.Errorf("feature gate %s: Invalid value: true: needs %s", name, other)
			}
		}
	}
	if !g.enabled(GenericWorkload) {
		return nil, nil
	}
	return &podgroup.Gates{Topology: g.enabled(Topology), Composites: g.enabled(Composites), PreemptionPolicy: g.enabled(PreemptionPolicy), Claims: g.enabled(Claims)}, nil
}
