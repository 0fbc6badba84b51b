package release

func configuration() []Difference {
	return in("configuration",
		Difference{ID: "L11.1", Option: "tools/upgrade", Name: "arguments of NodeResourcesFit", Sentence: "Since v1.36 requestedToCapacityRatio is required for its type and forbidden for other types, and errors of its shape have another path.",
			by: by("loose", "=", "strict", "=")},
		Difference{ID: "L11.2", Option: "tools/upgrade", Name: "shape of VolumeBinding", Sentence: "v1.37 accepts VolumeBindingArgs.shape and has a default for it; earlier releases refuse the field.",
			by: by("refused", "=", "=", "allowed, 0:10 and 100:0 by default")},
		Difference{ID: "L11.3", Option: "tools/upgrade", Name: "bindingTimeout of DynamicResources", Sentence: "Since v1.36 DynamicResourcesArgs.bindingTimeout is allowed and 600s by default.",
			by: by("unknown field", "forbidden", "allowed, 600s by default", "=")},
		Difference{ID: "L11.4", Option: "tools/upgrade", Name: "extension points of a profile", Sentence: "v1.36 adds placementGenerate and placementScore to the plugins of a profile, v1.37 adds podGroupPostFilter.",
			by: by("neither", "=", "placementGenerate, placementScore", "placementGenerate, placementScore, podGroupPostFilter")},
		Difference{ID: "L7.15", NotFollowed: "`--feature-gates` refuses the gate by its name, as v1.37 does.", Name: "the gate SchedulerQueueingHints", Sentence: "v1.37 does not know the gate SchedulerQueueingHints: a configuration that names it does not start.",
			by: by("known, locked on", "=", "=", "not known")},
	)
}

func kubelet() []Difference {
	return in("kubelet",
		Difference{ID: "L12.1", Option: "pressure.NodeStats.HugePageBytes", Name: "memory.available with huge pages", Sentence: "v1.37 subtracts the capacity of huge pages from memory.available of the node and from its capacity.",
			Example: "A node of 64Gi with 32Gi of huge pages and a working set of 20Gi: v1.36 sees 44Gi of 64Gi, v1.37 sees 12Gi of 32Gi.",
			by:      by("huge pages count as available", "=", "=", "huge pages are subtracted")},
		Difference{ID: "L12.2", Option: "pressure.Options.Release", Name: "ephemeral-storage limit of sidecars", Sentence: "v1.37 evicts a pod whose sidecar exceeds its own ephemeral-storage limit; before, only the total of the pod counted.",
			Example: "A sidecar with limit 1Gi that uses 2Gi, and a container with limit 4Gi that uses 1Gi: v1.36 does nothing, v1.37 evicts.",
			by:      by("total of the pod only", "=", "=", "each sidecar too")},
		Difference{ID: "L12.3", NotFollowed: "kubelet.Admission gets the node from its caller.", Name: "second look at the node", Sentence: "Since v1.35 the kubelet reads the node from the API server before it refuses a pod for its node affinity alone.",
			by: by("refused by the cached node", "node is read again", "=", "=")},
		Difference{ID: "L12.4", NotFollowed: "kubelet.Admission leaves this handler of the kubelet out; filter.RequiredFeatures says what a pod needs.", Name: "declared features at the kubelet", Sentence: "Since v1.36 the kubelet refuses a pod that needs a feature which the node does not declare.",
			by: by("not checked", "=", "PodFeatureUnsupported", "=")},
		Difference{ID: "L12.5", NotFollowed: "podberth has no start of a kubelet.", Name: "cgroup v1", Sentence: "Since v1.35 the kubelet does not start on cgroup v1 by default.",
			by: by("starts", "does not start", "=", "=")},
		Difference{ID: "L12.6", NotFollowed: "kubelet.Admission is not told which devices serve a pod.", Name: "devices in the kubelet's check of resources",
			Sentence: "Since v1.36 the kubelet leaves requests out of its check that devices of a DeviceClass serve.",
			by:       by("checked", "=", "left out", "=")},
		Difference{ID: "L12.7", NotFollowed: "podberth calculates no memory.min, memory.low and memory.high.", Name: "memory of cgroups with MemoryQoS",
			Sentence: "v1.37 turns MemoryQoS on, which writes nothing with default settings.",
			by:       by("off", "=", "=", "on")},
		Difference{ID: "L12.10", Option: "kubelet.CgroupOptions.Release", Name: "limit of a pod's cgroup", Sentence: "In v1.37 an init container without its own limit leaves the pod's cgroup without one; before, the limits of earlier sidecars counted for it.",
			Example: "Sidecar with 1 cpu, init container without limits, container with 1 cpu: v1.36 sets a quota of 200000, v1.37 none.",
			by:      by("limits of earlier sidecars count", "=", "=", "own limits only")},
	)
}

func disruption() []Difference {
	return in("eviction API and drain",
		Difference{ID: "L13.1", Option: "disruption.Request.Release", Name: "cause of a refused eviction", Sentence: "Since v1.35 the cause of a refusal has one of four texts, by the budget's condition; v1.34 always names the healthy pods.",
			Example: "A budget web without disruptions left, desired 2, current 3: v1.34 says The disruption budget web needs 2 healthy pods and has 3 currently, v1.35 says The disruption budget web does not allow evicting pods currently.",
			by:      by("one text", "four texts", "=", "=")},
		Difference{ID: "L13.2", Option: "disruption.Request.Release", Name: "cause of a forbidden eviction", Sentence: "v1.37 adds a cause to the answer 403 for negative disruptionsAllowed and for too many disruptedPods.",
			by: by("no cause", "=", "=", "DisruptionBudget cause")},
		Difference{ID: "L13.3", Option: "disruption.DrainOptions.Release", Name: "kubectl drain and pods without controller", Sentence: "Since v1.36 kubectl drain says cannot delete once for pods without a controller; before, the words stood twice.",
			Example: "v1.35: cannot delete cannot delete Pods that declare no controller (use --force to override): default/p; v1.36: cannot delete Pods that declare no controller (use --force to override): default/p.",
			by:      by("cannot delete cannot delete Pods ...", "=", "cannot delete Pods ...", "=")},
	)
}

func nodes() []Difference {
	return in("node lifecycle",
		Difference{ID: "L14.1", NotFollowed: "package eviction/taint is given the leases as the controller sees them, and has no cache that could lag.", Name: "lease that the controller has not seen yet", Sentence: "v1.37 reads the lease of a silent node from the API server before it marks the node unreachable.",
			by: by("by the cached lease", "=", "=", "lease is read live")},
		Difference{ID: "L14.2", NotFollowed: "forecasts have no race and no shutdown.", Name: "cancelled timers and shutdown",
			Sentence: "Since v1.35 a timer of an eviction that fires while it is cancelled does nothing, and a shutdown waits for evictions that have begun.",
			by:       by("the eviction may happen", "nothing happens", "=", "=")},
		Difference{ID: "L14.3", NotFollowed: "the period is 5 s in every release.", Name: "where nodeMonitorPeriod is set",
			Sentence: "In v1.37 nodeMonitorPeriod is a field of the configuration too.",
			by:       by("flag", "=", "=", "flag and field")},
	)
}

func admission() []Difference {
	return in("admission",
		Difference{ID: "L15.1", Option: "admission.Bound", Name: "zone and region of a pod", Sentence: "Since v1.35 binding copies the labels topology.kubernetes.io/zone and /region of the node to the pod.",
			by: by("not copied", "copied", "=", "=")},
		Difference{ID: "L15.2", NotFollowed: "admission.Validate writes the text of v1.35 and later in every release.", Name: "toleration operators Lt and Gt", Sentence: "All releases refuse them by default; since v1.35 the text lists them as supported.",
			by: by(`supported values: "Equal", "Exists"`, `supported values: "Equal", "Exists", "Gt", "Lt"`, "=", "=")},
		Difference{ID: "L15.3", NotFollowed: "admission.Validate does not read restart rules.", Name: "restart rules", Sentence: "Since v1.36 a restart rule may restart all containers of the pod; v1.34 refuses restart rules.",
			by: by("refused", "action Restart", "actions Restart and RestartAllContainers", "=")},
		Difference{ID: "L15.4", Option: "admission.Options.Release", Name: "defaults at pod level", Sentence: "v1.37 fills pod-level requests and limits after admission, requests also for pods that name pod-level requests alone.",
			Example: "Pod-level request of 2 cpu, one container with 1 cpu and 1Gi as requests and limits: v1.36 stores it as it is, v1.37 adds a pod-level request of 1Gi and limits.",
			by:      by("requests, if limits are given", "=", "=", "requests and limits")},
		Difference{ID: "L15.5", Option: "kubelet.QoS, kubelet.OOMScoreAdj, admission.Options.Release", Name: "class of service of a pod with empty spec.resources", Sentence: "In v1.37 containers decide the class when spec.resources names nothing; before, such a pod was BestEffort.",
			Example: "spec.resources {} and a container with a request of 1 cpu: v1.36 BestEffort, v1.37 Burstable.",
			by:      by("BestEffort", "=", "=", "by the containers")},
		Difference{ID: "L15.6", NotFollowed: "podberth has no resize sub-resource.", Name: "what a resize may change", Sentence: "Since v1.36 pods with pod-level resources and plain init containers can be resized.",
			by: by("neither", "=", "both", "=")},
		Difference{ID: "L15.8", NotFollowed: "podberth reads neither field.", Name: "field of pods that belong to a workload",
			Sentence: "v1.35 has spec.workloadRef, v1.36 spec.schedulingGroup in its place; both are dropped by default.",
			by:       by("neither", "spec.workloadRef", "spec.schedulingGroup", "=")},
	)
}
