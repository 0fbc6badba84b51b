package release

// Gate is a feature gate whose default or stage is not the same in v1.36 and v1.37, or that [Announced] names, and that touches
// scheduling, preemption, eviction, admission, requests or devices.
type Gate struct {
	Name string
	// Difference is the ID of the Difference that the gate makes; "" for a gate that decides nothing here by default.
	Difference string
	// Note says what follows the gate, or why it decides nothing.
	Note string

	by [newest - gatesSince + 1]string // the default in each release since gatesSince
}

// gatesSince is the first release of which Gates has the defaults.
const gatesSince = V1_36

// In returns the default of the gate in a release: "on", "off" or "absent", and "" for a release before v1.36 or one that is not known.
func (g Gate) In(v Version) string {
	if !v.Known() || !v.AtLeast(gatesSince) {
		return ""
	}
	return g.by[v.minor()-gatesSince]
}

// Gates returns these feature gates, as a new slice, ordered by name.
func Gates() []Gate {
	return []Gate{
		gate("CompositePodGroup", "", "Off; placement.Placer.DecideGroup follows groups of groups for callers that ask.", "absent", "off"),
		gate("DRAConsumableCapacity", "L1.11", "Its arithmetic changes in v1.37.", "on", "on"),
		gate("DRADerivedAttributes", "", "Off: the API server drops the field.", "absent", "off"),
		gate("DRADeviceCompatibilityGroups", "", "Off: the API server drops the field, and devices have no groups.", "absent", "off"),
		gate("DRADeviceTaintRules", "L1.10", "devices.Options.TaintRules turns it on before v1.37.", "off", "on"),
		gate("DRADeviceTaints", "L1.1", "GA in v1.37, on since v1.36. eviction/devicetaint has what NoExecute taints do.", "on", "on"),
		gate("DRAExtendedResource", "L3.3", "GA in v1.37, on since v1.36.", "on", "on"),
		gate("DRAFractionalCapacityRange", "", "On by default only from a minimum compatibility version of 1.37 on, which a plain v1.37 does not have. devices.Options.FractionalRange turns it on.", "absent", "off"),
		gate("DRAOptionalNodeOperations", "", "Off, and a matter of the kubelet.", "absent", "off"),
		gate("DRAPartitionableDevicesType", "", "Off: a view of pools that no allocation reads.", "absent", "off"),
		gate("DRAResourceClaimDeviceStatus", "", "GA in v1.37; what drivers write into the status of a claim is read for binding conditions alone.", "on", "on"),
		gate("DRAWorkloadResourceClaims", "", "Off: claims of a group; a pod that names one waits.", "off", "off"),
		gate("DefaultPodSysctls", "", "Off, and a matter of the kubelet.", "absent", "off"),
		gate("EvictionRequestAPI", "", "Off: nobody makes such objects.", "absent", "off"),
		gate("GenericWorkload", "", "Off: the API server drops the fields of pods that belong to a group.", "off", "off"),
		gate("HPAScaleToZero", "", "An autoscaler may have minReplicas 0; planning/workload reads it in every release.", "off", "on"),
		gate("HugepageAwareEviction", "L12.1", "pressure.NodeStats.HugePageBytes.", "absent", "on"),
		gate("InPlacePodVerticalScalingInitContainers", "L4.3", "GA in v1.37; the status of init containers counts there.", "on", "on"),
		gate("InPlacePodVerticalScalingMemoryBackedVolumes", "", "Off, and a matter of the kubelet.", "absent", "off"),
		gate("InPlacePodVerticalScalingSchedulerPreemption", "", "Off: a resize that does not fit preempts nobody.", "absent", "off"),
		gate("InterPodAffinityHostnameFastPath", "", "A shortcut with the same answers.", "absent", "off"),
		gate("MaxUnavailableStatefulSet", "", "How fast a StatefulSet replaces its pods; podberth replaces none.", "off", "on"),
		gate("MemoryQoS", "L12.7", "Writes nothing with default settings.", "off", "on"),
		gate("MutableCSINodeAllocatableCount", "", "GA since v1.36; limits are read of the CSINode as it is.", "on", "on"),
		gate("NodeControllerLeaseCircuitBreaker", "L14.1", "Package eviction/taint is given the leases.", "absent", "on"),
		gate("NodeDeclaredFeatures", "L2.2", "GA in v1.37, on since v1.36.", "on", "on"),
		gate("NodeLifecycleConditions", "", "Off: conditions of nodes that no decision reads.", "absent", "off"),
		gate("PodGroupPreemptionPolicy", "", "Off, and groups are off.", "absent", "off"),
		gate("PodLevelResourceManagers", "", "Off: how a kubelet gives CPUs of pod-level resources.", "off", "off"),
		gate("PodLevelResourcesFixDefaulting", "L15.4", "admission.Options.Release.", "absent", "on"),
		gate("PodLevelResourcesFixKubeletQOSClass", "L15.5", "kubelet.QoS.", "absent", "on"),
		gate("PodReadyToStartContainersCondition", "", "GA in v1.37; a condition that no decision reads.", "on", "on"),
		gate("SELinuxMount", "", "How a kubelet mounts volumes; no filter and no score reads it.", "off", "on"),
		gate("SchedulerPreQueueingHints", "", "A shortcut before the hints, with the same answers.", "absent", "off"),
		gate("StatefulSetRecreateStrategy", "", "Off: the API server drops the field.", "absent", "off"),
		gate("StorageCapacityScoring", "L2.4", "volumes.Options.Release.", "off", "on"),
		gate("VolumeLimitScaling", "L3.1", "volumes.Options.Release.", "off", "on"),
	}
}

// gate is a row of Gates: defaults has the default in each release since gatesSince.
func gate(name, difference, note string, defaults ...string) Gate {
	g := Gate{Name: name, Difference: difference, Note: note}
	copy(g.by[:], defaults)
	return g
}
