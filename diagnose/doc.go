// Package diagnose (experimental) says what would have to change so that a pod gets a node.
//
//	d, err := diagnose.Relax(diagnose.Input{Snapshot: snapshot}, pod, diagnose.Options{})
//	for _, r := range d.Relaxations { // cheapest first
//		fmt.Println(r.Cost, r.Node, r.Text())
//	}
//	fork := snapshot.Fork()
//	changed, err := diagnose.Apply(fork, pod, d.Relaxations[0].Changes...) // the pod and the cluster with the changes
//
// # The rule
//
// A set of changes is a relaxation when the pod is placed with all of them, and with no proper subset of them. Relax lists
// the single changes that can matter ([Diagnosis.Changes]), and then finds every relaxation among their sets, smallest
// first:
//
//  1. Changes of the pod may stand in one set with each other and with changes of volumes and claims.
//  2. A set changes one node with its pods, or adds one node. Only minDomains may make it remove taints of other nodes too. Relax looks at one node of each of the commonest kinds of rejection ([Options.Nodes]).
//  3. A change with a value (a request, maxSkew, minDomains, the pods that leave) counts as made when it is made as far as
//     possible. Then the value goes back as far as the pod still fits: the largest request, the smallest maxSkew. Pods that get
//     another node move; the budgets of pods that leave rise as far as needed.
//
// Every relaxation is decided again by [placement.Plan.Decide] on a changed copy of the cluster.
//
// A conflict is a smallest set of rules of the pod that keeps the pod out although all its other rules are dropped.
//
// # Units, order, cost
//
// Costs are whole numbers of the caller's unit. Values have the units of package [resources]. [Apply] changes the snapshot
// that it gets. [Relax] forks the snapshot: others may read and fork the snapshot during the call. What all packages promise
// is said in [github.com/podberth/podberth].
//
// Cost: each filter is asked about each node once for each set of changes that the filter sees, and a set then costs some
// operations on bits. At 5,000 nodes a diagnosis takes 0.1 to 0.6 s.
//
// The package has no rule of its own: it asks the filters of a [placement.Profile]. Package preemption finds the pods that v1.37
// itself would remove.
//
// The package follows Kubernetes v1.37. docs/diagnose.md has examples, docs/fidelity/diagnose.md the rules with their tests.
package diagnose
