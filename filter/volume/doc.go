// Package volume decides which nodes can serve a pod's volumes: the filters VolumeRestrictions, NodeVolumeLimits,
// VolumeBinding and VolumeZone, and the bookkeeping that carries one pod's volumes to the decision about the next.
//
// The flow:
//
//	ledger := volume.NewLedger(objects)
//	p := volume.Compile(pod, ledger.Objects(), volume.Options{})      // once per pod
//	binding := p.Binding()
//	answer := binding.PreFilter()                                     // about the pod as a whole
//	state := binding.Count(cluster)
//	verdict := state.Check(i)                                         // 0 allows; state.Reasons(verdict) says why not
//	decision, ok := state.Bindings(i)                                 // what would be bound or provisioned on slot i
//	err := ledger.Assume(pod, node, decision)                         // ... and ledger.Forget(pod.UID)
//
// The rule for one claim: bound, its volume must be reachable from the node (node affinity, zone labels; for in-tree EBS,
// GCE and Cinder volumes in the labels of their CSI driver where the node has migrated the plugin); waiting for its first
// consumer, a free volume must suit it there or its class must be able to provision one; anything else rejects the
// pod everywhere. Beside that no disk is attached twice where it may not be, no node holds more volumes than its drivers
// allow, and a ReadWriteOncePod claim has one pod.
//
// Verdicts are those of package filter: 0 allows and the bit resources.Unresolvable says that removing pods cannot help.
// Sizes are exact quantities; limits are numbers of volumes.
//
// Evaluators are immutable. A State may be read by several goroutines while nothing is applied to it and its Usage or
// Ledger does not change; a Trial and a Ledger belong to one. No argument is changed: what a decision writes is a copy
// (Decision.Objects). Nothing depends on the order of maps; where two volumes serve equally, the table's order decides.
//
// Cost: compiling is O(volumes of the pod), and O(PersistentVolumes) for each claim that waits; NewUsage O(pods); Check
// O(claims and their candidate volumes) without allocation.
//
// Binding and provisioning themselves are the API's and its controllers'; resources, ports and everything else about a
// node is package filter's.
//
// Followed is Kubernetes v1.36: the documentation's "Persistent Volumes", "Storage Classes", "Storage Capacity",
// "Node-specific Volume Limits" and "Volumes" (CSI migration), and the comments of the API's fields.
package volume
