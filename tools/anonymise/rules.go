package anonymise

// rule says what becomes of the value of a field.
type rule int

const (
	leaveOut      rule = iota // also for fields that have no rule
	keep                      // the value and all below
	walkOn                    // rules for the fields below; texts in it go
	nameOf                    // of an object
	nodeName                  // of a node
	nsName                    // of a namespace
	uidOf                     // of an object
	labelKey                  // and lists of keys
	labelMap                  // keys and values
	imageName                 // and lists of images
	volumeName                // of a volume in a pod
	deviceName                // of a pool, which often is that of its node
	deviceTree                // what is asked of devices, and what they are
	requestName               // of a request of a claim
	conditionName             // type or reason of a condition
	finalizerName             // and lists of finalizers
	hostAddress               // of a host port
	taintNames                // taints in a text
	noTexts                   // numbers and truth values stay, texts go
)

// rules has the fields whose meaning their name says wherever they are.
var rules = map[string]rule{
	// Objects.
	"metadata": walkOn, "spec": walkOn, "status": walkOn, "template": walkOn, "volumeClaimTemplates": walkOn, "volumeClaimTemplate": walkOn, "items": walkOn,
	"apiVersion": keep, "kind": keep, "apiGroup": keep, "creationTimestamp": keep, "deletionTimestamp": keep, "deletionGracePeriodSeconds": keep,
	"generation": keep, "observedGeneration": keep, "resourceVersion": keep, "finalizers": finalizerName, "ownerReferences": walkOn, "controller": keep, "blockOwnerDeletion": keep,
	"uid": uidOf, "labels": labelMap, "annotations": walkOn,
	// Pods.
	"containers": walkOn, "initContainers": walkOn, "ephemeralContainers": walkOn, "image": imageName, "imagePullPolicy": keep, "restartPolicy": keep,
	"restartPolicyRules": keep, "resources": walkOn, "requests": keep, "limits": keep, "claims": walkOn, "request": requestName, "ports": walkOn, "hostPort": keep, "containerPort": keep, "hostIP": hostAddress, "protocol": keep,
	"securityContext": noTexts, "os": keep, "hostNetwork": keep, "hostPID": keep, "hostIPC": keep, "hostUsers": keep, "overhead": keep, "priority": keep,
	"preemptionPolicy": keep, "priorityClassName": nameOf, "runtimeClassName": nameOf, "schedulerName": nameOf, "schedulingGates": walkOn,
	"nodeName": nodeName, "nominatedNodeName": nodeName, "nodeSelector": labelMap, "affinity": walkOn, "tolerations": walkOn, "topologySpreadConstraints": walkOn,
	"activeDeadlineSeconds": keep, "terminationGracePeriodSeconds": keep, "readinessGates": walkOn, "conditionType": conditionName, "minReadySeconds": keep,
	"phase": keep, "conditions": walkOn, "type": conditionName, "reason": conditionName, "lastTransitionTime": keep, "lastProbeTime": keep, "lastHeartbeatTime": keep,
	"startTime": keep, "qosClass": keep, "containerStatuses": walkOn, "initContainerStatuses": walkOn, "ephemeralContainerStatuses": walkOn,
	"ready": keep, "started": keep, "restartCount": keep, "allocatedResources": keep, "resize": keep,
	"resourceClaims": walkOn, "resourceClaimName": nameOf, "resourceClaimTemplateName": nameOf, "resourceClaimStatuses": walkOn, "extendedResourceClaimStatus": walkOn,
	"requestMappings": walkOn, "containerName": nameOf, "requestName": requestName, "resourceName": keep,
	// Affinity, spreading, taints.
	"nodeAffinity": walkOn, "podAffinity": walkOn, "podAntiAffinity": walkOn, "requiredDuringSchedulingIgnoredDuringExecution": walkOn,
	"preferredDuringSchedulingIgnoredDuringExecution": walkOn, "nodeSelectorTerms": walkOn, "preference": walkOn, "podAffinityTerm": walkOn, "weight": keep,
	"matchExpressions": walkOn, "matchFields": walkOn, "matchLabels": labelMap, "labelSelector": walkOn, "namespaceSelector": walkOn, "namespaces": walkOn,
	"topologyKey": labelKey, "matchLabelKeys": labelKey, "mismatchLabelKeys": labelKey, "maxSkew": keep, "minDomains": keep, "whenUnsatisfiable": keep,
	"nodeAffinityPolicy": keep, "nodeTaintsPolicy": keep, "taints": walkOn, "effect": keep, "operator": keep, "tolerationSeconds": keep, "timeAdded": keep,
	// Nodes.
	"unschedulable": keep, "allocatable": keep, "capacity": keep, "images": walkOn, "names": imageName, "sizeBytes": keep, "nodeInfo": walkOn,
	"operatingSystem": keep, "architecture": keep, "kubeletVersion": keep, "declaredFeatures": keep, "features": keep,
	// Workloads, budgets, classes.
	"replicas": keep, "selector": walkOn, "strategy": keep, "updateStrategy": keep, "paused": keep, "revisionHistoryLimit": keep, "progressDeadlineSeconds": keep,
	"serviceName": nameOf, "podManagementPolicy": keep, "ordinals": keep, "persistentVolumeClaimRetentionPolicy": keep, "completions": keep, "parallelism": keep,
	"backoffLimit": keep, "backoffLimitPerIndex": keep, "completionMode": keep, "suspend": keep, "manualSelector": keep, "maxFailedIndexes": keep, "podReplacementPolicy": keep, "completedIndexes": keep, "failedIndexes": keep, "uncountedTerminatedPods": keep,
	"succeeded": keep, "failed": keep, "active": noTexts, "terminating": keep, "completionTime": keep, "ttlSecondsAfterFinished": keep,
	"availableReplicas": keep, "readyReplicas": keep, "fullyLabeledReplicas": keep, "updatedReplicas": keep, "unavailableReplicas": keep, "currentReplicas": keep, "terminatingReplicas": keep,
	"currentNumberScheduled": keep, "desiredNumberScheduled": keep, "numberAvailable": keep, "numberMisscheduled": keep, "numberReady": keep, "numberUnavailable": keep, "updatedNumberScheduled": keep,
	"collisionCount": keep, "currentRevision": keep, "updateRevision": keep, "templateGeneration": keep,
	"minAvailable": keep, "maxUnavailable": keep, "unhealthyPodEvictionPolicy": keep, "currentHealthy": keep, "desiredHealthy": keep, "disruptionsAllowed": keep, "expectedPods": keep, "disruptedPods": walkOn,
	"value": keep, "globalDefault": keep, "handler": nameOf, "podFixed": keep, "scheduling": walkOn, "max": keep, "min": keep, "default": keep, "defaultRequest": keep, "maxLimitRequestRatio": keep,
	// Groups of pods.
	"schedulingGroup": walkOn, "podGroupName": nameOf, "parentCompositePodGroupName": nameOf, "workloadRef": walkOn, "workloadName": nameOf, "templateName": nameOf,
	"schedulingPolicy": keep, "schedulingConstraints": walkOn, "topology": walkOn, "disruptionMode": keep,
	// Storage.
	"volumes": walkOn, "persistentVolumeClaim": walkOn, "claimName": nameOf, "readOnly": keep, "ephemeral": walkOn, "emptyDir": keep, "csi": walkOn, "driver": keep, "volumeHandle": nameOf, "fsType": keep,
	"storageClassName": nameOf, "volumeName": nameOf, "volumeAttributesClassName": nameOf, "accessModes": keep, "volumeMode": keep, "storage": keep, "claimRef": walkOn, "required": walkOn,
	"persistentVolumeReclaimPolicy": keep, "provisioner": keep, "volumeBindingMode": keep, "reclaimPolicy": keep, "allowVolumeExpansion": keep, "allowedTopologies": walkOn, "matchLabelExpressions": walkOn,
	"drivers": walkOn, "nodeID": leaveOut, "topologyKeys": labelKey, "count": keep, "attachRequired": keep, "storageCapacity": keep, "nodeAllocatableUpdatePeriodSeconds": keep, "preventPodSchedulingIfMissing": keep, "maximumVolumeSize": keep, "nodeTopology": walkOn,
	"attacher": keep, "source": walkOn, "persistentVolumeName": nameOf, "inlineVolumeSpec": walkOn, "attached": keep, "dataSource": walkOn, "dataSourceRef": walkOn,
	"awsElasticBlockStore": walkOn, "gcePersistentDisk": walkOn, "azureDisk": walkOn, "cinder": walkOn, "rbd": walkOn, "iscsi": walkOn, "vsphereVolume": walkOn, "portworxVolume": walkOn, "local": walkOn, "nfs": walkOn,
	"volumeID": nameOf, "pdName": nameOf, "diskName": nameOf, "pool": deviceName, "iqn": nameOf, "lun": keep, "volumePath": nameOf, "partition": keep, "monitors": nameOf,
	// Devices.
	"devices": deviceTree, "sharedCounters": keep, "allNodes": keep, "perDeviceNodeSelection": keep, "resourceSliceCount": keep, "allocation": walkOn, "results": walkOn, "device": keep, "adminAccess": keep,
	"reservedFor": walkOn, "resource": keep, "selectors": keep, "config": deviceTree, "extendedResourceName": keep, "allocationTimestamp": keep, "shareID": keep, "consumedCapacity": keep, "bindingConditions": conditionName, "bindingFailureConditions": conditionName,
	// Evictions.
	"deleteOptions": keep, "gracePeriodSeconds": keep, "preconditions": keep, "namespace": nsName,
}

// kubeletRules are the rules of an object of kind Kubelet, which has the fields of a stats summary.
var kubeletRules = map[string]rule{
	"summary": walkOn, "node": walkOn, "nodeName": nodeName, "systemContainers": walkOn, "runtime": keep, "fs": keep, "rlimit": keep,
	"pods": walkOn, "podRef": walkOn, "volume": walkOn, "startTime": keep, "time": keep,
	"memory": keep, "rootfs": keep, "logs": keep, "ephemeral-storage": keep, "process_stats": keep,
	"usedBytes": keep, "inodesUsed": keep, "configuration": keep,
}

// kubeletNames are the rules of names in a stats summary by the field that has them. A system container keeps its name.
var kubeletNames = map[string]rule{"systemContainers": keep, "podRef": nameOf, "containers": nameOf, "volume": volumeName}

// annotations are the annotations that programs read.
var annotations = map[string]rule{
	"kubernetes.io/config.mirror": uidOf, "kubernetes.io/config.source": keep, "volume.kubernetes.io/selected-node": nodeName,
	"pv.kubernetes.io/bind-completed": keep, "pv.kubernetes.io/bound-by-controller": keep, "volume.beta.kubernetes.io/storage-class": nameOf,
	"storageclass.kubernetes.io/is-default-class": keep, "controller.kubernetes.io/pod-deletion-cost": keep, "volume.kubernetes.io/storage-provisioner": keep,
	"volume.beta.kubernetes.io/storage-provisioner": keep, "storage.alpha.kubernetes.io/migrated-plugins": keep, "resource.kubernetes.io/extended-resource-claim": keep,
	"resource.kubernetes.io/pod-claim-name": volumeName, "batch.kubernetes.io/job-completion-index": keep, "deprecated.daemonset.template.generation": keep,
	"deployment.kubernetes.io/revision": keep,
	"podberth.io/agent-taints":          taintNames,
}

// keptNames are names that Kubernetes gives a meaning.
var keptNames = map[string]bool{
	"": true, "default-scheduler": true, "system-node-critical": true, "system-cluster-critical": true, "kubernetes.io/no-provisioner": true,
}

// keptValues are the labels whose values have a meaning.
var keptValues = map[string]bool{
	"kubernetes.io/os": true, "kubernetes.io/arch": true, "beta.kubernetes.io/os": true, "beta.kubernetes.io/arch": true,
	"batch.kubernetes.io/job-completion-index": true,
}
