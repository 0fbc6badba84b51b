package dump

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/tools/report"
)

// FeatureGates are feature gates that a user turns on or off: the value of a flag --feature-gates. nil: nobody said.
type FeatureGates map[string]bool

// The gates of groups of pods.
const (
	gateGroups     = "GenericWorkload"
	gateTopology   = "TopologyAwareWorkloadScheduling"
	gateComposites = "CompositePodGroup"
	gatePolicy     = "PodGroupPreemptionPolicy"
	gateClaims     = "DRAWorkloadResourceClaims"
)

// needs has the gates that FeatureGates knows, each with the gates that it needs.
var needs = map[string][]string{
	gateGroups: nil, gateTopology: {gateGroups}, gateComposites: {gateGroups, gateTopology}, gatePolicy: {gateGroups}, gateClaims: {gateGroups},
}

// FeatureGatesUsage is the usage text of such a flag.
const FeatureGatesUsage = "turn feature gates of groups of pods on or off: `GATE=true|false,...`; without it those are on that the input's PodGroups need"

// String returns the gates by name.
func (g FeatureGates) String() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(g)) {
		out = append(out, fmt.Sprintf("%s=%t", name, g[name]))
	}
	return strings.Join(out, ",")
}

// Set adds gates: "GenericWorkload=true,CompositePodGroup=false". The error names a gate that is not known, and a value that is neither
// true nor false.
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

// Groups returns the gates with which groups of pods count; nil when their pods are pods like others. Without a user's word the gates are
// on that the groups of the dump need, because a cluster that has such objects serves them; a note says so. The error names a gate that
// is on without one that it needs.
func (o *Objects) Groups(said FeatureGates) (gates *podgroup.Gates, err error) {
	on := maps.Clone(said)
	if on == nil {
		if on = o.needed(); len(on) == 0 {
			return nil, nil
		}
		o.Warnings.Aside("", fmt.Sprintf("the input has %s; feature gates that count as on: %s; --feature-gates=%s=false places pods as if they had no group",
			report.Count(len(o.PodGroups)+len(o.CompositePodGroups), "group"), strings.Join(slices.Sorted(maps.Keys(on)), ", "), gateGroups))
	}
	for _, name := range slices.Sorted(maps.Keys(on)) {
		for _, other := range needs[name] {
			if on[name] && !on[other] {
				return nil, fmt.Errorf("--feature-gates: %s: Invalid value: true: needs %s", name, other)
			}
		}
	}
	if !on[gateGroups] {
		return nil, nil
	}
	return &podgroup.Gates{Topology: on[gateTopology], Composites: on[gateComposites], PreemptionPolicy: on[gatePolicy], Claims: on[gateClaims]}, nil
}

// needed returns the gates that the groups of the dump need.
func (o *Objects) needed() FeatureGates {
	on := FeatureGates{}
	c := o.Cluster()
	see := func(s *podgroup.Spec, gate string) {
		on[gateGroups] = true
		if gate != "" {
			on[gate], on[gateTopology] = true, true
		}
		if s.Key() != "" {
			on[gateTopology] = true
		}
		if s.PreemptionPolicy != nil {
			on[gatePolicy] = true
		}
	}
	for _, g := range c.PodGroups {
		see(&g.Spec, "")
		if len(g.Claims) > 0 {
			o.Warnings.Aside("the claims of %d groups count as claims of their pods", fmt.Sprintf("group %s/%s has resource claims, which count as claims of its pods", g.Namespace, g.Name))
		}
	}
	for _, g := range c.CompositePodGroups {
		see(&g.Spec, gateComposites)
	}
	return on
}
