package filter

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// Node features that a pod may need. A node declares its features in status.declaredFeatures.
const (
	// featureRestartAllContainers is needed by a pod with a container whose restartPolicyRules restart all containers.
	featureRestartAllContainers = "RestartAllContainersOnContainerExits"
	// featureUserNamespacesHostNetwork is needed by a pod with hostNetwork true and hostUsers false.
	featureUserNamespacesHostNetwork = "UserNamespacesHostNetworkSupport"
)

// RequiredFeatures returns the node features that v1.37 infers from a pod's spec, sorted; nil when the pod needs none.
// RequiredFeatures ignores feature gates: a pod with hostNetwork true and hostUsers false needs a feature that no node
// declares by default. A nil pod needs no feature.
func RequiredFeatures(pod *v1.Pod) []string {
	if pod == nil {
		return nil
	}
	var out []string
	if restartAll(pod.Spec.Containers) || restartAll(pod.Spec.InitContainers) {
		out = append(out, featureRestartAllContainers)
	}
	if pod.Spec.HostNetwork && pod.Spec.HostUsers != nil && !*pod.Spec.HostUsers {
		out = append(out, featureUserNamespacesHostNetwork)
	}
	return out
}

// restartAll reports whether a rule of one of the containers restarts all containers of the pod.
func restartAll(list []v1.Container) bool {
	for i := range list {
		for k := range list[i].RestartPolicyRules {
			if list[i].RestartPolicyRules[k].Action == v1.ContainerRestartRuleActionRestartAllContainers {
				return true
			}
		}
	}
	return false
}

// CompileFeatures compiles the filter NodeDeclaredFeatures: a node must declare every feature that the pod needs
// ([RequiredFeatures]). Other nodes and free slots are rejected with verdict 1 and [resources.Unresolvable]. The filter skips a
// pod that needs no feature. Check is O(features needed x features declared).
func CompileFeatures(pod *v1.Pod) Evaluator[Cluster, Predicate] {
	if need := RequiredFeatures(pod); len(need) > 0 {
		return featuresOf(need)
	}
	return noFeatures
}

// noFeatures is the filter of every pod that needs no feature.
var noFeatures = featuresOf(nil)

func featuresOf(need []string) *nodeRule {
	return &nodeRule{plugin: "NodeDeclaredFeatures", reads: "features", skip: len(need) == 0, hint: featuresWouldHelp,
		texts: []string{"node(s) didn't match Pod's required features"},
		check: func(node *v1.Node) resources.Verdict {
			for _, f := range need {
				if !slices.Contains(node.Status.DeclaredFeatures, f) {
					return 1 | resources.Unresolvable
				}
			}
			return 0
		}}
}
