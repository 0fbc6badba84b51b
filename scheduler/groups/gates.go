package groups

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/podberth/podberth/podgroup"
)

// FeatureGates are feature gates of groups that a user turns on or off: the value of a flag --feature-gates, as kube-scheduler has it.
// nil: nobody said anything, and groups do not count.
type FeatureGates map[string]bool

// The feature gates of groups of pods. All are off by default in v1.37.
const (
	GenericWorkload  = "GenericWorkload"
	Topology         = "TopologyAwareWorkloadScheduling"
	Composites       = "CompositePodGroup"
	PreemptionPolicy = "PodGroupPreemptionPolicy"
	Claims           = "DRAWorkloadResourceClaims"
)

// needs has the gates, each with the gates that it needs.
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

// Set adds gates to those that were set: "GenericWorkload=true,CompositePodGroup=false". The error names a gate that is none of groups,
// and a value that is neither true nor false.
func (g *FeatureGates) Set(text string) error {
	for item := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(item), "=")
		if _, known := needs[name]; !known {
			return fmt.Errorf("%q is not a feature gate of groups: %s", name, strings.Join(slices.Sorted(maps.Keys(needs)), ", "))
		}
		on, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%s: must be true or false", name)
		}
		if *g == nil {
			*g = FeatureGates{}
		}
		(*g)[name] = on
	}
	return nil
}

// Gates returns the gates with which groups count; nil when [GenericWorkload] is off: pods of groups are pods like others. The error names
// a gate that is on without one that it needs.
func (g FeatureGates) Gates() (*podgroup.Gates, error) {
	for _, name := range slices.Sorted(maps.Keys(g)) {
		for _, other := range needs[name] {
			if g[name] && !g[other] {
				return nil, fmt.Errorf("feature gate %s: Invalid value: true: needs %s", name, other)
			}
		}
	}
	if !g[GenericWorkload] {
		return nil, nil
	}
	return &podgroup.Gates{Topology: g[Topology], Composites: g[Composites], PreemptionPolicy: g[PreemptionPolicy], Claims: g[Claims]}, nil
}
