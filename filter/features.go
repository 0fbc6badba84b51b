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

// RequiredFeatures returns the node features that v1.36 infers from a pod's spec, sorted; nil when the pod needs none. It
// does not look at feature gates: a pod with hostNetwork true and hostUsers false needs a feature that no node declares by
// default.
func RequiredFeatures(pod *v1.Pod) []string {
	var out []string
	restarts := func(c v1.Container) bool {
		return slices.ContainsFunc(c.RestartPolicyRules, func(r v1.ContainerRestartRule) bool {
			return r.Action == v1.ContainerRestartRuleActionRestartAllContainers
		})
	}
	if slices.ContainsFunc(pod.Spec.Containers, restarts) || slices.ContainsFunc(pod.Spec.InitContainers, restarts) {
		out = append(out, featureRestartAllContainers)
	}
	if pod.Spec.HostNetwork && pod.Spec.HostUsers != nil && !*pod.Spec.HostUsers {
		out = append(out, featureUserNamespacesHostNetwork)
	}
	return out
}

// FeaturesOptions configure NodeDeclaredFeatures. The zero value is v1.36's default. To switch the filter off, which is
// v1.35's default, leave the predicate out.
type FeaturesOptions struct {
	// Required returns the features that a pod needs. It must be a pure function. nil means RequiredFeatures.
	Required func(pod *v1.Pod) []string
}

func (o FeaturesOptions) required(pod *v1.Pod) []string {
	if o.Required == nil {
		return RequiredFeatures(pod)
	}
	return o.Required(pod)
}

// CompileFeatures compiles the filter NodeDeclaredFeatures: a node must declare every feature that the pod needs. Other
// nodes are rejected with verdict 1 and resources.Unresolvable. Check is O(features needed x features declared).
func CompileFeatures(pod *v1.Pod, o FeaturesOptions) *NodeRule {
	need := o.required(pod)
	return &NodeRule{plugin: "NodeDeclaredFeatures", skip: len(need) == 0, reads: "features",
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
