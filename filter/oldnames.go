package filter

import (
	"slices"
	"strings"
)

// OldName maps a predicate's name of Kubernetes up to v1.22 (scheduling policies) or a filter plugin's that is gone to the
// plugins that decide the same today.
type OldName struct {
	// Old is the name in a Policy or in documents of that time.
	Old string
	// Plugins are today's, in plugin order; none when the rule is gone.
	Plugins []string
	// Note says what is different, "" when nothing is.
	Note string
}

// OldNames returns the whole table, sorted by old name, as a new slice.
func OldNames() []OldName {
	out := slices.Clone(oldNames)
	for i := range out {
		out[i].Plugins = slices.Clone(out[i].Plugins)
	}
	slices.SortFunc(out, func(a, b OldName) int { return strings.Compare(a.Old, b.Old) })
	return out
}

// Modern returns the entry of an old predicate or plugin name, false for a name that is not in the table (today's names
// are not).
func Modern(old string) (OldName, bool) {
	for _, o := range oldNames {
		if o.Old == old {
			o.Plugins = slices.Clone(o.Plugins)
			return o, true
		}
	}
	return OldName{}, false
}

const (
	limitsNote    = "limits come from the node's CSINode; volumes of the in-tree kind count as those of its CSI driver"
	conditionNote = "the node lifecycle controller turns the condition into a NoSchedule taint"
	goneNote      = "removed in v1.23 without a successor; node affinity or a plugin of one's own does it"
)

var oldNames = []OldName{
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
