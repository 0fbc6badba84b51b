package dump

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/scheduler/groups"
	"github.com/podberth/podberth/tools/report"
)

// FeatureGatesUsage is the usage text of a flag with a [groups.FeatureGates].
const FeatureGatesUsage = "turn feature gates on or off, as kube-scheduler's flag: `GATE=true|false,...`; without a gate of groups those are on that the input's PodGroups need"

// Groups returns the gates with which groups of pods count; nil when their pods are pods like others. When said is nil, the gates that the
// groups of the dump need are on, because a cluster that has such objects serves them; a note says so. Otherwise said alone decides. The
// error is that of [groups.FeatureGates.Gates].
func (o *Objects) Groups(said groups.FeatureGates) (*podgroup.Gates, error) {
	for _, note := range said.Notes() {
		o.Warnings.Aside("", note)
	}
	count := len(o.PodGroups) + len(o.CompositePodGroups)
	if said.OfGroups() {
		gates, err := said.Gates()
		if _, meant := said[groups.GenericWorkload]; err == nil && gates == nil && count > 0 && !meant {
			o.Warnings.Aside("", fmt.Sprintf("the input has %s, and --feature-gates leaves %s off: pods are placed as if they had no group", report.Count(count, "group"), groups.GenericWorkload))
		}
		return gates, err
	}
	on := o.needed()
	if len(on) > 0 {
		o.Warnings.Aside("", fmt.Sprintf("the input has %s; feature gates that count as on: %s; --feature-gates=%s=false places pods as if they had no group",
			report.Count(count, "group"), strings.Join(slices.Sorted(maps.Keys(on)), ", "), groups.GenericWorkload))
	}
	return on.Gates()
}

// needed returns the gates that the groups of the dump need.
func (o *Objects) needed() groups.FeatureGates {
	on := groups.FeatureGates{}
	list, composites := o.AcceptedGroups()
	if len(o.PodGroups)+len(o.CompositePodGroups) > 0 { // also of groups that the API server refuses
		on[groups.GenericWorkload] = true
	}
	see := func(s *podgroup.Spec) {
		if s.Key() != "" {
			on[groups.Topology] = true
		}
		if s.PreemptionPolicy != nil {
			on[groups.PreemptionPolicy] = true
		}
		if s.Parent != "" {
			on[groups.Topology], on[groups.Composites] = true, true
		}
	}
	for _, g := range list {
		see(&g.Spec)
		if len(g.Claims) > 0 {
			on[groups.Claims] = true
		}
		if slices.ContainsFunc(g.Claims, func(c podgroup.Claim) bool { return c.TemplateName != "" && c.Generated == nil }) {
			o.Warnings.Aside("%d groups wait for claims of templates", fmt.Sprintf("group %s/%s waits for a claim of a template; pods that are made here get one each, where the cluster makes one for the group", g.Namespace, g.Name))
		}
	}
	for _, g := range composites {
		see(&g.Spec)
		on[groups.Topology], on[groups.Composites] = true, true
	}
	return on
}

// PluginArgs returns the arguments of the plugins with the gates that a user said, and with claims of groups where these count (see Groups).
func (o *Objects) PluginArgs(said groups.FeatureGates) placement.PluginArgs {
	a := said.Args()
	if list, _ := o.AcceptedGroups(); !said.OfGroups() {
		a.Devices.GroupClaims = slices.ContainsFunc(list, func(g *podgroup.Group) bool { return len(g.Claims) > 0 })
	}
	return a
}
