package release

// Gate is a feature gate whose default or stage is not the same in v1.36 and v1.37, or that [Announced] names, and that touches
// scheduling, preemption, eviction, admission, requests or devices.
type Gate struct {
	Name string
	// V1_36 and V1_37 are the defaults: "on", "off" or "absent".
	V1_36, V1_37 string
	// Difference is the ID of the Difference that the gate makes; "" for a gate that decides nothing here by default.
	Difference string
	// Note says what follows the gate, or why it decides nothing.
	Note string
}

// Gates returns these feature gates, as a new slice, ordered by name.
func Gates() []Gate {
	return []Gate{
		{"CompositePodGroup", "absent", "off", "", "Off; placement.Placer.DecideGroup follows groups of groups for callers that ask."},
		{"DRAConsumableCapacity", "on", "on", "L1.11", "Its arithmetic changes in v1.37."},
		{"DRADerivedAttributes", "absent", "off", "", "Off: the API server drops the field."},
		{"DRADeviceCompatibilityGroups", "absent", "off", "", "Off: the API server drops the field, and devices have no groups."},
		{"DRADeviceTaintRules", "off", "on", "L1.10", "devices.Options.TaintRules turns it on before v1.37."},
		{"DRADeviceTaints", "on", "on", "L1.1", "GA in v1.37, on since v1.36. eviction/devicetaint has what NoExecute taints do."},
		{"DRAExtendedResource", "on", "on", "L3.3", "GA in v1.37, on since v1.36."},
		{"DRAFractionalCapacityRange", "absent", "off", "", "On by default only from a minimum compatibility version of 1.37 on, which a plain v1.37 does not have. devices.Options.FractionalRange turns it on."},
		{"DRAOptionalNodeOperations", "absent", "off", "", "Off, and a matter of the kubelet."},
		{"DRAPartitionableDevicesType", "absent", "off", "", "Off: a view of pools that no allocation reads."},
		{"DRAResourceClaimDeviceStatus", "on", "on", "", "GA in v1.37; what drivers write into the status of a claim is read for binding conditions alone."},
		{"DRAWorkloadResourceClaims", "off", "off", "", "Off: claims of a group; a pod that names one waits."},
		{"DefaultPodSysctls", "absent", "off", "", "Off, and a matter of the kubelet."},
		{"EvictionRequestAPI", "absent", "off", "", "Off: nobody makes such objects."},
		{"GenericWorkload", "off", "off", "", "Off: the API server drops the fields of pods that belong to a group."},
		{"HPAScaleToZero", "off", "on", "", "An autoscaler may have minReplicas 0; planning/workload reads it in every release."},
		{"HugepageAwareEviction", "absent", "on", "L12.1", "pressure.NodeStats.HugePageBytes."},
		{"InPlacePodVerticalScalingInitContainers", "on", "on", "L4.3", "GA in v1.37; the status of init containers counts there."},
		{"InPlacePodVerticalScalingMemoryBackedVolumes", "absent", "off", "", "Off, and a matter of the kubelet."},
		{"InPlacePodVerticalScalingSchedulerPreemption", "absent", "off", "", "Off: a resize that does not fit preempts nobody."},
		{"InterPodAffinityHostnameFastPath", "absent", "off", "", "A shortcut with the same answers."},
		{"MaxUnavailableStatefulSet", "off", "on", "", "How fast a StatefulSet replaces its pods; podberth replaces none."},
		{"MemoryQoS", "off", "on", "L12.7", "Writes nothing with default settings."},
		{"MutableCSINodeAllocatableCount", "on", "on", "", "GA since v1.36; limits are read of the CSINode as it is."},
		{"NodeControllerLeaseCircuitBreaker", "absent", "on", "L14.1", "Package eviction/taint is given the leases."},
		{"NodeDeclaredFeatures", "on", "on", "L2.2", "GA in v1.37, on since v1.36."},
		{"NodeLifecycleConditions", "absent", "off", "", "Off: conditions of nodes that no decision reads."},
		{"PodGroupPreemptionPolicy", "absent", "off", "", "Off, and groups are off."},
		{"PodLevelResourceManagers", "off", "off", "", "Off: how a kubelet gives CPUs of pod-level resources."},
		{"PodLevelResourcesFixDefaulting", "absent", "on", "L15.4", "admission.Options.Release."},
		{"PodLevelResourcesFixKubeletQOSClass", "absent", "on", "L15.5", "kubelet.QoS."},
		{"PodReadyToStartContainersCondition", "on", "on", "", "GA in v1.37; a condition that no decision reads."},
		{"SELinuxMount", "off", "on", "", "How a kubelet mounts volumes; no filter and no score reads it."},
		{"SchedulerPreQueueingHints", "absent", "off", "", "A shortcut before the hints, with the same answers."},
		{"StatefulSetRecreateStrategy", "absent", "off", "", "Off: the API server drops the field."},
		{"StorageCapacityScoring", "off", "on", "L2.4", "volumes.Options.Release."},
		{"VolumeLimitScaling", "off", "on", "L3.1", "volumes.Options.Release."},
	}
}
