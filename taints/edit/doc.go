// Package edit (experimental) changes the taints of nodes as kubectl and the node lifecycle controller do.
//
//	command, err := edit.Parse([]string{"dedicated=batch:NoSchedule", "spot-"}) // kubectl taint
//	list, outcome, err := command.Apply(node)
//	node, added, removed := edit.MirrorConditions(node, now)                    // conditions become NoSchedule taints
//	status, _ := edit.Ready(node)
//	node = edit.Health(node, status).Apply(node, now)                           // Ready becomes NoExecute taints
//
// The rules:
//
//  1. A node has at most one taint of each key and effect. Values do not tell taints apart.
//  2. A command of kubectl puts its additions first and keeps the other taints in their order.
//  3. The controller mirrors five conditions and spec.unschedulable as NoSchedule taints, and the Ready condition as one of
//     two NoExecute taints that exclude each other.
//
// Every function returns a new object or list. What all packages promise is said in [github.com/podberth/podberth].
//
// Cost: O(n^2) in the number of taints, which is small.
//
// Package taints decides what taints mean. Package admission adds tolerations to pods and checks taints and tolerations.
// Package eviction/taint has timers, zones and eviction rates.
//
// The package follows Kubernetes v1.37 with default feature gates and has no known difference.
package edit
