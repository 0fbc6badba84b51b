// Package volumes (experimental) decides which nodes can serve a pod's volumes: the filters VolumeRestrictions, NodeVolumeLimits,
// VolumeBinding and VolumeZone, and a ledger of decisions, which the decision about the next pod reads.
//
//	ledger := volumes.NewLedger(objects)
//	p := volumes.Compile(pod, ledger.Objects(), volumes.Options{})    // once per pod
//	binding := p.Binding()
//	answer := binding.PreFilter()                                     // about the pod as a whole
//	state := binding.On(snapshot)
//	verdict := state.Check(i)                                         // 0 allows; state.Reasons(verdict) says why not
//	decision, ok := state.Bindings(i)                                 // what would be bound or provisioned on slot i
//	err := ledger.Assume(pod, node, decision)                         // ... and ledger.Forget(pod.UID)
//
// # The rules
//
// A bound claim: the node must reach the volume (node affinity, zone labels). In-tree EBS, GCE and Cinder volumes are
// matched by the labels of their CSI driver on a node that has migrated the plugin.
//
// A claim that waits for its first consumer: a free volume must suit the claim on the node, or the class must be able to
// provision a volume there. Any other claim rejects the pod on every node.
//
// No disk is attached twice where that is forbidden, no node has more volumes than its drivers allow, and a ReadWriteOncePod
// claim has one pod. Every state rejects a free slot.
//
// Sizes are exact quantities; limits are numbers of volumes. A nil [Table] has no objects. Where two volumes serve a claim
// equally, the order of the table decides.
//
// A trial and a [Ledger] belong to one goroutine. [Decision.Objects] returns copies. What all packages promise is said in
// [github.com/podberth/podberth].
//
// Cost: compiling is O(volumes of the pod), and O(PersistentVolumes) for each claim that waits; [NewUsage] O(pods); Check
// O(claims and their candidate volumes) without allocation.
//
// This package does not bind or provision volumes: controllers do that through the API. Package [filter] decides about
// resources, ports and the rest of a node.
//
// This package follows Kubernetes v1.37: the documentation's "Persistent Volumes", "Storage Classes", "Storage Capacity",
// "Node-specific Volume Limits" and "Volumes" (CSI migration), and the comments of the API's fields.
package volumes
