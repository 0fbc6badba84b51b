package history

import "slices"

// OldFilter maps a filter of an earlier release to the plugins of v1.37 that decide the same. The filter is a predicate of a
// scheduling policy (Kubernetes up to v1.22) or a filter plugin that is gone.
type OldFilter struct {
	// Old is the earlier name.
	Old string
	// Plugins are the names of the plugins of v1.37 in plugin order. The list is empty when the rule is gone.
	Plugins []string
	// Note says what is different in v1.37, "" without a difference.
	Note string
}

// FindOldFilter returns the entry of an earlier name, and false for a name that is not in the table. The table has no names
// of v1.37.
func FindOldFilter(old string) (OldFilter, bool) {
	for _, o := range oldFilters {
		if o.Old == old {
			o.Plugins = slices.Clone(o.Plugins)
			return o, true
		}
	}
	return OldFilter{}, false
}

const (
	limitsNote    = "NodeVolumeLimits does it; limits come from the node's CSINode; volumes of the in-tree kind count as those of its CSI driver"
	conditionNote = "the node lifecycle controller turns the condition into a NoSchedule taint"
	goneNote      = "removed in v1.23 without a successor; node affinity or a plugin of one's own does it"
)

var oldFilters = []OldFilter{
	{"CheckNodeCondition", []string{"NodeUnschedulable", "TaintToleration"}, conditionNote},
	{"CheckNodeDiskPressure", []string{"TaintToleration"}, conditionNote},
	{"CheckNodeLabelPresence", nil, goneNote},
	{"CheckNodeMemoryPressure", []string{"TaintToleration"}, conditionNote},
	{"CheckNodePIDPressure", []string{"TaintToleration"}, conditionNote},
	{"CheckNodeUnschedulable", []string{"NodeUnschedulable"}, ""},
	{"CheckServiceAffinity", nil, goneNote},
	{"CheckVolumeBinding", []string{"VolumeBinding"}, ""},
	{"EvenPodsSpread", []string{"PodTopologySpread"}, ""},
	{"GeneralPredicates", []string{"NodeName", "NodeAffinity", "NodePorts", "NodeResourcesFit"}, ""},
	{"HostName", []string{"NodeName"}, ""},
	{"MatchInterPodAffinity", []string{"InterPodAffinity"}, ""},
	{"MatchNodeSelector", []string{"NodeAffinity"}, ""},
	{"MaxAzureDiskVolumeCount", []string{"NodeVolumeLimits"}, limitsNote},
	{"MaxCSIVolumeCountPred", []string{"NodeVolumeLimits"}, ""},
	{"MaxCSIVolumeCount", []string{"NodeVolumeLimits"}, ""},
	{"MaxCinderVolumeCount", []string{"NodeVolumeLimits"}, limitsNote},
	{"MaxEBSVolumeCount", []string{"NodeVolumeLimits"}, limitsNote},
	{"MaxGCEPDVolumeCount", []string{"NodeVolumeLimits"}, limitsNote},
	{"NoDiskConflict", []string{"VolumeRestrictions"}, "ReadWriteOncePod claims are checked too"},
	{"NoVolumeZoneConflict", []string{"VolumeZone"}, ""},
	{"PodFitsHost", []string{"NodeName"}, ""},
	{"PodFitsHostPorts", []string{"NodePorts"}, ""},
	{"PodFitsPorts", []string{"NodePorts"}, "PodFitsHostPorts under its first name"},
	{"PodFitsResources", []string{"NodeResourcesFit"}, ""},
	{"PodToleratesNodeNoExecuteTaints", []string{"TaintToleration"}, "NoSchedule taints are checked too"},
	{"PodToleratesNodeTaints", []string{"TaintToleration"}, ""},

	{"AzureDiskLimits", []string{"NodeVolumeLimits"}, limitsNote},
	{"CinderLimits", []string{"NodeVolumeLimits"}, limitsNote},
	{"EBSLimits", []string{"NodeVolumeLimits"}, limitsNote},
	{"GCEPDLimits", []string{"NodeVolumeLimits"}, limitsNote},
	{"NodeLabel", nil, goneNote},
	{"NodeResourceLimits", nil, "removed in v1.21; it scored nodes that meet a pod's limits"},
	{"ServiceAffinity", nil, goneNote},
}
