// Package lint finds scheduling rules of manifests that can never be met, contradict each other, or do nothing.
//
//	findings, err := lint.Check(lint.Input{Deployments: deployments})                      // manifests alone
//	findings, err = lint.Check(lint.Input{Deployments: deployments, Cluster: &objects})    // on a cluster
//	for _, f := range findings {
//		fmt.Println(f.Severity, f.Rule, f.Object, f.Path, f.Explanation, f.Fix)
//	}
//	lint.Rules() // every rule with its severity and what it says
//
// The severities:
//
//	Error    a replica can get no node. Of rules that look at the cluster a finding is an error only when placement.Placer.HowMany
//	         places fewer replicas than the workload asks for; otherwise the finding is a warning.
//	Warning  the rule does not do what it seems to ask for, or will block a rollout, a drain or a later replica.
//	Info     the rule has no effect, or costs something.
//
// Check looks at the manifests of the Input only; the cluster says what is there beside them. Findings come in the order of the
// manifests, then of the rules. Check modifies nothing and keeps nothing. The same input gives the same findings.
//
// Cost: O(manifests x (nodes + pods)), and one decision for each replica of a workload for which a rule of severity error fires.
//
// The package does not check what the API server refuses, except where the refusal surprises; package admission does.
//
// The package follows Kubernetes v1.37: documentation, "Assigning Pods to Nodes", "Pod Topology Spread Constraints", "Taints and
// Tolerations", "Specifying a Disruption Budget". docs/diagnose.md lists the rules.
package lint
