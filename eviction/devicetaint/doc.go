// Package devicetaint (experimental) decides when NoExecute taints of devices delete pods, as the device taint eviction controller of
// kube-controller-manager does. The taints stand in ResourceSlices and in DeviceTaintRules.
//
//	taints := devicetaint.New(slices, rules, now)
//	if e, ok := taints.Eviction(pod, claims); ok {
//		fmt.Println(e.At, e) // when the pod is deleted, and why
//	}
//
// The rules:
//
//  1. A pod can be deleted when it is bound and not being deleted. It uses a claim when the claim is reserved for its UID and the pod names
//     the claim: in spec.resourceClaims, in the status of a claim that was made for it, or as its claim for extended resources.
//     Claims that are made for a pod must be controlled by it. Pods that have ended are deleted too.
//  2. The devices are those of the claim's allocation. A device has the NoExecute taints of all slices of its pool's newest generation, complete
//     or not, and of all rules that select it, also when no slice has the device.
//  3. Only the tolerations count that the allocation copied from the request. A toleration must name the effect NoExecute: an empty effect,
//     which the scheduler takes for every effect, does not keep a pod. Effects aside, the tolerations match as package [devices] says.
//  4. A taint is tolerated for ever when a toleration without tolerationSeconds matches it, otherwise for the smallest tolerationSeconds
//     of the tolerations that match, and for 0 seconds when none matches. Values below 0 are 0.
//  5. The pod is deleted at the time when the taint was added, plus these seconds: at once when that time is over, later when it lies ahead.
//     The earliest time of all its devices counts.
//
// There is no timer to keep: an eviction follows from the objects as they are. When the objects change and no eviction follows any more,
// the controller cancels a deletion that waited, and writes the event [Cancelling]. The time of the taint counts, so that a restart changes
// nothing; package eviction/taint, for taints of nodes, counts from when the controller sees them.
//
// A [Taints] is immutable. Cost: New is O(devices), Eviction O(devices of the claims x (taints x tolerations + rules)). What
// all packages promise is said in [github.com/podberth/podberth].
//
// The package deletes nothing: a deletion is a DELETE with the pod's UID as precondition, and budgets are not asked. It does not write the
// condition EvictionInProgress of rules. Packages devices and placement say which devices a claim may get; eviction/taint has taints of nodes.
//
// The package follows Kubernetes v1.37. Up to v1.36 pass no rules; before v1.36 slices have no taints. docs/fidelity/taint_eviction.md has
// the differences.
package devicetaint
