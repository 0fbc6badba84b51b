// Package taints decides what the taints of a node do to a pod: whether the pod may be placed there, how little the node
// is liked, and when a pod that runs there has to leave.
//
//	ev := taints.Compile(pod.Spec.Tolerations, taints.Options{})   // once for equal pods
//	tainted, cordoned := ev.On(snapshot), ev.OnCordon(snapshot)    // the filters TaintToleration and NodeUnschedulable
//	for i := range snapshot.Len() {
//		if cordoned.Check(i) == 0 && tainted.Check(i) == 0 { // slot i is feasible
//			fmt.Println(i, tainted.Raw(i)) // soft taints that are not tolerated
//		}
//	}
//	d := ev.Deadline(node.Spec.Taints) // stay, leave at once, or leave after d.After
//
// The rules:
//
//  1. A toleration tolerates a taint when its effect and key are equal to the taint's or empty, and its operator accepts
//     the taint's value. A pod tolerates a taint when one of its tolerations does.
//  2. A node rejects a pod that does not tolerate each of its taints with effect NoSchedule or NoExecute.
//  3. A node with spec.unschedulable rejects a pod that does not tolerate node.kubernetes.io/unschedulable:NoSchedule.
//  4. The raw score of a node is the number of its PreferNoSchedule taints that are not tolerated. The normalized score
//     is 100 - 100*raw/max over the feasible nodes.
//  5. A running pod leaves at once when a NoExecute taint is not tolerated. Otherwise the pod leaves after the smallest
//     tolerationSeconds among the first tolerations of its NoExecute taints.
//
// Raw scores are counts, scores run from 0 to 100, deadlines are [time.Duration], tolerationSeconds are whole seconds.
//
// The order of taints and tolerations matters only where a comment says so. What all packages promise is said in
// [github.com/podberth/podberth].
//
// Cost: Compile is O(tolerations). The verdict of a node is O(taints x tolerations) without allocation, or one array read
// when the cluster offers classes of equal nodes.
//
// Package taints/edit changes taints as kubectl and the controllers do. Package admission adds tolerations. Package eviction/taint
// has timers, zones and eviction rates. Package spread decides whether topology spread counts tainted nodes.
//
// The package follows Kubernetes v1.37 with default feature gates. One difference: tolerationSeconds above 9,223,372,036
// mean "forever", where the nanoseconds of Kubernetes wrap around (docs/fidelity/taints.md has all differences).
package taints
