package release

func devices() []Difference {
	return in("devices",
		Difference{ID: "L1.1", Outside: "package devices heeds the fields in every release; the objects of a cluster of v1.34 or v1.35 do not have them.", Name: "fields of devices behind gates",
			Sentence: "Since v1.36 taints and tolerations of devices, binding conditions, consumable capacity and partitions are on; before, the API server stores no such fields.",
			By:       by("not stored", "=", "heeded", "=")},
	)
}

func plugins() []Difference {
	return in("plugins",
		Difference{ID: "L2.1", Option: "placement.PluginArgs.Release", Name: "order of NodeName and NodeUnschedulable",
			Sentence: "v1.37 runs NodeName before NodeUnschedulable, so that a pod with spec.nodeName gets another reason on cordoned nodes.",
			Example:  "A pod with spec.nodeName n1 on the cordoned node n2: v1.36 says node(s) were unschedulable, v1.37 gives the reason of NodeName.",
			By:       by("NodeUnschedulable first", "=", "=", "NodeName first")},
		Difference{ID: "L2.2", Option: "placement.PluginArgs.Release", Name: "the plugin NodeDeclaredFeatures",
			Sentence: "Since v1.36 a pod that needs a feature of the node is kept from nodes that do not declare the feature.",
			Example:  "A container with the restart rule RestartAllContainers and a node without status.declaredFeatures: v1.35 places the pod, v1.36 does not.",
			By:       by("absent", "=", "last plugin of the default profile", "=")},
		Difference{ID: "L2.3", Option: "placement.PluginArgs.Release", Name: "score of DynamicResources",
			Sentence: "Since v1.35 DynamicResources scores nodes with weight 2: earlier entries of a prioritized request list are better.",
			By:       by("no score", "weight 2", "=", "=")},
		Difference{ID: "L2.4", Option: "volume.Options.Release", Name: "score of VolumeBinding",
			Sentence: "v1.37 scores nodes by the storage capacity that the pod's claims leave free; earlier releases give every node 0.",
			Example:  "A claim of 10Gi, node a with 20Gi of storage and node b with 100Gi: v1.37 gives a 50 and b 90, v1.36 gives both 0.",
			By:       by("no score", "=", "=", "weight 1")},
		Difference{ID: "L2.5", Option: "placement.PluginArgs.Release", Name: "PreFilter of NodeName, NodeUnschedulable and TaintToleration",
			Sentence: "v1.37 lists these three plugins at PreFilter too.",
			By:       by("Filter only", "=", "=", "PreFilter and Filter")},
	)
}

func filters() []Difference {
	return in("filters",
		Difference{ID: "L3.1", Option: "volume.Options.Release", Name: "CSI driver that is missing on the node",
			Sentence: "v1.37 rejects a node without the CSI driver of a new volume if the CSIDriver object sets spec.preventPodSchedulingIfMissing.",
			Example:  "The driver ebs.csi.aws.com with the field set and a node without CSINode: v1.36 places the pod there, v1.37 says 1 ebs.csi.aws.com CSI driver is not installed on the node.",
			By:       by("not checked", "=", "=", "rejects, if the driver asks for it")},
		Difference{ID: "L3.2", Option: "volume.Options.Release", Name: "in-tree Portworx volumes",
			Sentence: "Since v1.36 in-tree Portworx volumes count as CSI volumes on every node with a CSINode; before, only where the CSINode's annotation lists the plugin.",
			By:       by("by the annotation of the CSINode", "=", "always CSI", "=")},
		Difference{ID: "L3.3", Option: "filter.FitOptions.Release", Name: "extended resource of a DeviceClass",
			Sentence: "Since v1.36 devices of a DeviceClass can serve an extended resource that a node does not list.",
			Example:  "A pod that asks for example.com/gpu 1, a DeviceClass of that name and a free device: v1.35 says Insufficient example.com/gpu, v1.36 places the pod.",
			By:       by("rejects the node", "=", "DynamicResources decides", "=")},
		Difference{ID: "L3.4", Option: "affinity.PodOptions.Release", Name: "namespaceSelector that matches a namespace without labels",
			Sentence: "v1.37 looks only in the namespaces that the selector selects; before, a selector of NotIn or DoesNotExist alone accepted the pods of every namespace.",
			Example:  "Anti-affinity to app=tgt with namespaceSelector secret DoesNotExist, and such a pod in a namespace with the label secret: v1.36 rejects the node, v1.37 allows it.",
			By:       by("every namespace", "=", "=", "the selected namespaces")},
		Difference{ID: "L3.5", Option: "placement.PluginArgs.Release", Name: "spec.nodeName in a what-if",
			Sentence: "In v1.37 NodeName names its node at PreFilter, so that other nodes get another text.",
			Example:  "v1.36: node(s) didn't match the requested node name; v1.37: node(s) didn't satisfy plugin(s) [NodeName].",
			By:       by("text of the filter", "=", "=", "text of PreFilter")},
		Difference{ID: "L3.6", Outside: "podberth's allocation of devices has no time-out.", Name: "time-out of the allocation of devices",
			Sentence: "Since v1.36 a time-out fails the whole attempt; before, it rejected the node.",
			By:       by("rejects the node", "=", "fails the attempt", "=")},
	)
}

func requests() []Difference {
	return in("requests",
		Difference{ID: "L4.1", Option: "overhead.Options.Release, cluster.Objects.Release, filter.FitOptions.Release, quota.Usage, quota.Check", Name: "resize of several containers",
			Sentence: "v1.37 takes the largest of three sums over the pod (spec, allocated, in use); before, the sum of the largest of each container.",
			Example:  "Container a with 2 cpu in the spec and 1 running, b with 1 and 2: v1.36 counts 4 cpu, v1.37 counts 3.",
			By:       by("largest of each container, then the sum", "=", "=", "sums, then the largest")},
		Difference{ID: "L4.2", Option: "overhead.Options.Release, cluster.Objects.Release", Name: "resize at pod level",
			Sentence: "Since v1.36 the status of pod-level resources counts; v1.37 also counts resources that the spec does not name.",
			Example:  "Pod-level spec 2 cpu, allocated 3, in use 4: v1.35 counts 2, v1.36 counts 4.",
			By:       by("spec", "=", "largest of spec and status, for resources of the spec", "largest of spec and status, for all resources")},
		Difference{ID: "L4.3", Option: "overhead.Options.Release, cluster.Objects.Release", Name: "resize of init containers",
			Sentence: "v1.37 counts the status of plain init containers; before, their spec alone.",
			Example:  "Init container with 1 cpu in the spec and 3 running, container with 1: v1.36 counts 1, v1.37 counts 3.",
			By:       by("spec", "=", "=", "spec and status")},
		Difference{ID: "L4.4", Outside: "podberth counts nominated pods by their present requests in every release.", Name: "nominated pods whose requests change",
			Sentence: "In v1.37 a nominated pod whose spec changes while it waits counts with its present requests; before, with those that it was queued with.",
			By:       by("requests of the time when it was queued", "=", "=", "present requests")},
	)
}

func scores() []Difference {
	return in("scores",
		Difference{ID: "L5.1", Option: "score.BalanceArgs.Release", Name: "NodeResourcesBalancedAllocation",
			Sentence: "Since v1.36 the score is how much the pod changes the balance of the node; before, the balance with the pod.",
			Example:  "Nodes of 10 cpu and 10Gi, a with 5 and 5Gi used, b with 8 and 2Gi; pod of 1 cpu and 3Gi: v1.35 gives a 89 and b 80, v1.36 gives a 69 and b 80.",
			By:       by("balance with the pod", "=", "change of the balance", "=")},
		Difference{ID: "L5.2", Option: "placement.PluginArgs.Release, score.CompileImages", Name: "image volumes in ImageLocality",
			Sentence: "Since v1.36 image volumes count in the sum of sizes; v1.37 also raises the size that scores 100, by 1000Mi for each of them.",
			Example:  "One container with an unknown image and one image volume of 523Mi on the only node: v1.35 gives 0, v1.36 gives 51, v1.37 gives 25.",
			By:       by("not counted", "=", "counted in the sum", "counted in the sum and in the limit")},
		Difference{ID: "L5.3", Option: "placement.Options.Tie", Name: "choice among the best nodes",
			Sentence: "Since v1.35 the order of the nodes decides among nodes with the best total; v1.34 takes one at random.",
			Example:  "16 pods one after the other on four equal nodes: v1.34 takes all four nodes, v1.35 and later always the first one.",
			By:       by("random", "order of the nodes", "=", "=")},
		Difference{ID: "L5.4", Option: "placement.PluginArgs.Release", Name: "devices in the score of NodeResourcesFit",
			Sentence: "Since v1.36 extended resources of DeviceClasses in the scoring strategy count the devices that the node can see.",
			By:       by("left out", "=", "devices count", "=")},
	)
}

func messages() []Difference {
	return in("messages",
		Difference{ID: "L6.1", Option: "internal/postfilter", Name: "no new claims to deallocate",
			Sentence: "v1.37 leaves out the text of DynamicResources that ended nearly every message of a pod without a node.",
			Example:  "v1.36: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: ...; v1.37: 0/1 nodes are available: 1 Insufficient cpu. preemption: ...",
			By:       by("no new claims to deallocate, or still not schedulable", "=", "=", "nothing")},
		Difference{ID: "L6.2", Option: "internal/postfilter", Name: "message after preemption",
			Sentence: "v1.37 says which node preemption found and how many victims; before, the message had no word about it.",
			Example:  "v1.37: 0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on node n1, preempting 1 victims",
			By:       by("nothing", "=", "=", "node and number of victims")},
		Difference{ID: "L6.3", Option: "placement.PluginArgs.Release", Name: "reason of NodeDeclaredFeatures",
			Sentence: "Since v1.36 a node without a required feature has the reason node(s) didn't match Pod's required features.",
			By:       by("none", "=", "node(s) didn't match Pod's required features", "=")},
		Difference{ID: "L6.4", Option: "scheduler.Options.Release", Name: "event of victims that are not bound yet",
			Sentence: "Since v1.36 the event of a victim that was stopped in the scheduler's memory ends with (in kube-scheduler memory).",
			By:       by("same text as for other victims", "=", "(in kube-scheduler memory).", "=")},
		Difference{ID: "L6.6", Outside: "nobody sees the text, and podberth has none.", Name: "status of pods that wait on Permit",
			Sentence: "Since v1.36 the text about pods that wait on Permit has the plugins' reasons in place of the pod's name.",
			By:       by("with the pod's name", "=", "with the plugins' reasons", "=")},
	)
}
