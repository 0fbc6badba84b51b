// Package edit changes the taints of nodes and the tolerations of pods as the components of Kubernetes do.
//
//	command, err := edit.Parse([]string{"dedicated=batch:NoSchedule", "spot-"}) // kubectl taint
//	list, outcome, err := command.Apply(node)
//	pod = edit.WithDefaultSeconds(pod, edit.DefaultSeconds{})                   // admission
//	pod = edit.WithDaemonSet(pod)                                               // DaemonSet controller
//	node, added, removed := edit.MirrorConditions(node, now)                    // node lifecycle controller
//
// The package has the notation of kubectl, the checks of the API server, the admission plugins, the steps of the node
// lifecycle controller, and Impact: which pods leave a node that gets a taint. What taints and tolerations mean is in
// package taints. Timers, zones and rates are in package eviction/taint.
//
// Every function returns a new object or list and leaves its arguments unchanged. Times are parameters. Nothing is kept
// between calls. Each function is O(n) to O(n^2) in the length of the lists.
//
// The package follows Kubernetes v1.36 with default feature gates. A comment says which plugins are off by default.
package edit
