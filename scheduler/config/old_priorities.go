package config

import (
	"slices"
	"strings"
)

// OldPriority maps a priority function of scheduling policies (Kubernetes up to v1.22), or a removed score plugin, to its
// successor. [history.FindOldFilter] has the predicates.
type OldPriority struct {
	// Old is the name in a Policy, or of the plugin.
	Old string
	// Plugin is the name of the successor, "" when there is none.
	Plugin string
	// Strategy is the scoring strategy of NodeResourcesFit that does the same, "" for other plugins.
	Strategy string
	// Note says what is different, "" when nothing is different.
	Note string
}

// OldPriorities returns the whole table, sorted by old name, as a new slice.
func OldPriorities() []OldPriority {
	out := slices.Clone(oldPriorities)
	slices.SortFunc(out, func(a, b OldPriority) int { return strings.Compare(a.Old, b.Old) })
	return out
}

// ModernPriority returns the entry of an old name. ok is false for a name that is not in the table.
func ModernPriority(old string) (OldPriority, bool) {
	k := slices.IndexFunc(oldPriorities, func(p OldPriority) bool { return p.Old == old })
	if k < 0 {
		return OldPriority{}, false
	}
	return oldPriorities[k], true
}

const (
	fitPlugin  = "NodeResourcesFit"
	spreadNote = "spreading over the nodes and zones of a service or controller is the built-in default of PodTopologySpread"
	goneNote   = "removed in v1.23 without a successor; preferred node affinity or a plugin of one's own does it"
	equalNote  = "all nodes are equal when nothing scores them"
)

var oldPriorities = []OldPriority{
	{"BalancedResourceAllocation", "NodeResourcesBalancedAllocation", "", "since v1.36 it scores how much the pod betters the balance"},
	{"EqualPriority", "", "", equalNote},
	{"EvenPodsSpreadPriority", "PodTopologySpread", "", ""},
	{"ImageLocalityPriority", "ImageLocality", "", ""},
	{"InterPodAffinityPriority", "InterPodAffinity", "", ""},
	{"LeastRequestedPriority", fitPlugin, "LeastAllocated", ""},
	{"MostRequestedPriority", fitPlugin, "MostAllocated", ""},
	{"NodeAffinityPriority", "NodeAffinity", "", ""},
	{"NodeLabelPriority", "", "", goneNote},
	{"NodePreferAvoidPodsPriority", "", "", "removed in v1.22; taints keep pods away from a node"},
	{"RequestedToCapacityRatioPriority", fitPlugin, "RequestedToCapacityRatio", "utilization is requested*100/allocatable since v1.33"},
	{"ResourceLimitsPriority", "", "", "removed in v1.21; it scored nodes that meet a pod's limits"},
	{"SelectorSpreadPriority", "PodTopologySpread", "", spreadNote},
	{"ServiceAntiAffinityPriority", "", "", goneNote},
	{"ServiceSpreadingPriority", "PodTopologySpread", "", spreadNote},
	{"TaintTolerationPriority", "TaintToleration", "", ""},

	{"DefaultPodTopologySpread", "PodTopologySpread", "", spreadNote},
	{"NodeLabel", "", "", goneNote},
	{"NodePreferAvoidPods", "", "", "removed in v1.22; taints keep pods away from a node"},
	{"NodeResourceLimits", "", "", "removed in v1.21; it scored nodes that meet a pod's limits"},
	{"NodeResourcesLeastAllocated", fitPlugin, "LeastAllocated", ""},
	{"NodeResourcesMostAllocated", fitPlugin, "MostAllocated", ""},
	{"RequestedToCapacityRatio", fitPlugin, "RequestedToCapacityRatio", "utilization is requested*100/allocatable since v1.33"},
	{"SelectorSpread", "PodTopologySpread", "", "removed in v1.29; " + spreadNote},
	{"ServiceAffinity", "", "", goneNote},
}
