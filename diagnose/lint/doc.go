// Package lint (experimental) finds scheduling rules of manifests that can never be met, contradict each other, or do nothing.
//
//	findings, err := lint.Check(lint.Input{Deployments: deployments})                      // manifests alone
//	findings, err = lint.Check(lint.Input{Deployments: deployments, Cluster: objects})     // on a cluster
//	for _, f := range findings {
//		fmt.Println(f.Severity, f.Rule, f.Object, f.Path, f.Explanation, f.Fix)
//	}
//	lint.Rules() // every rule with its severity and what it says
//
// The severities:
//
//	Error    a replica can get no node, the API server refuses it, or a rollout hangs. With nodes, what a rule says about the place of
//	         pods is an error only when a pod of the workload, alone beside the pods that run, gets no node; otherwise it is a
//	         warning. A Job has an error when none of its pods can run.
//	Warning  the rule does not do what it seems to ask for, or will block a rollout, a drain or a later replica.
//	Info     the rule has no effect, or costs something.
//
// Pods are judged as the API server would store them ([admission.Accept]), with the claims that controllers make (planning/workload). Check
// looks at the manifests of the [Input] only; the cluster says what is there beside them. Findings come with errors first, and then in
// the order of the manifests and the rules. Check modifies nothing and keeps nothing. The same input gives the same findings.
//
// Cost: O(manifests x (nodes + pods)), and with nodes one decision or two for each replica. What all packages promise is
// said in [github.com/podberth/podberth].
//
// The package follows Kubernetes v1.37: documentation, "Assigning Pods to Nodes", "Pod Topology Spread Constraints", "Taints and
// Tolerations", "Specifying a Disruption Budget". docs/fidelity/diagnose.md lists the rules.
package lint
