package filter

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// Node features that a pod may need. A node declares what it has in status.declaredFeatures.
const (
	// FeatureRestartAllContainers is needed by pods with a container whose restartPolicyRules restart all containers.
	FeatureRestartAllContainers = "RestartAllContainersOnContainerExits"
	// FeatureUserNamespacesHostNetwork is needed by pods with hostNetwork and hostUsers false.
	FeatureUserNamespacesHostNetwork = "UserNamespacesHostNetworkSupport"
)

// RequiredFeatures returns the node features that v1.36 infers from a pod's spec, sorted. It does not look at feature
// gates: a pod with hostNetwork and hostUsers false needs a feature that no node declares by default.
func RequiredFeatures(pod *v1.Pod) []string {
	var out []string
	restarts := func(c v1.Container) bool {
		return slices.ContainsFunc(c.RestartPolicyRules, func(r v1.ContainerRestartRule) bool {
			return r.Action == v1.ContainerRestartRuleActionRestartAllContainers
		})
	}
	if slices.ContainsFunc(pod.Spec.Containers, restarts) || slices.ContainsFunc(pod.Spec.InitContainers, restarts) {
		out = append(out, FeatureRestartAllContainers)
	}
	if pod.Spec.HostNetwork && pod.Spec.HostUsers != nil && !*pod.Spec.HostUsers {
		out = append(out, FeatureUserNamespacesHostNetwork)
	}
	return out
}

// FeaturesOptions configure NodeDeclaredFeatures. The zero value is v1.36's default. To switch the filter off (v1.35's
// default), leave the predicate out.
type FeaturesOptions struct {
	// Required returns the features that a pod needs; nil stands for RequiredFeatures. It must be pure.
	Required func(pod *v1.Pod) []string
}

func (o FeaturesOptions) required(pod *v1.Pod) []string {
	if o.Required == nil {
		return RequiredFeatures(pod)
	}
	return o.Required(pod)
}

// Features is a pod's side of NodeDeclaredFeatures. It is immutable.
type Features struct{ need []string }

// CompileFeatures works out the features that the pod needs.
func CompileFeatures(pod *v1.Pod, o FeaturesOptions) *Features { return &Features{o.required(pod)} }

// Skip reports whether the pod needs no feature; the predicate then allows every node.
func (e *Features) Skip() bool { return len(e.need) == 0 }

// Reads appends what the verdict on a node depends on.
func (e *Features) Reads(dst []string) []string {
	if e.Skip() {
		return dst
	}
	return append(dst, "features")
}

// Count binds the rule to a cluster. O(1).
func (e *Features) Count(c Cluster) *FeaturesState { return &FeaturesState{e.need, c} }

// FeaturesState is NodeDeclaredFeatures for one pod and one cluster.
type FeaturesState struct {
	need    []string
	cluster Cluster
}

// Name returns "NodeDeclaredFeatures".
func (s *FeaturesState) Name() string { return "NodeDeclaredFeatures" }

// Check rejects slot i with verdict 1 and Unresolvable unless its node declares every feature needed. A free slot declares
// none. O(features needed x declared), no allocation.
func (s *FeaturesState) Check(i int) resources.Verdict {
	for _, f := range s.need {
		if n := s.cluster.Node(i); n == nil || !slices.Contains(n.Status.DeclaredFeatures, f) {
			return 1 | resources.Unresolvable
		}
	}
	return 0
}

// Reasons returns the text of a verdict.
func (s *FeaturesState) Reasons(v resources.Verdict) []string {
	if v == 0 {
		return nil
	}
	return []string{"node(s) didn't match Pod's required features"}
}

// Explain returns the features that slot i lacks, in the order needed.
func (s *FeaturesState) Explain(i int) []string {
	var out []string
	n := s.cluster.Node(i)
	for _, f := range s.need {
		if n == nil || !slices.Contains(n.Status.DeclaredFeatures, f) {
			out = append(out, f)
		}
	}
	return out
}

// AppendSignature appends the verdict: it changes only by events on slot i.
func (s *FeaturesState) AppendSignature(dst []int32, i int) []int32 {
	return append(dst, int32(s.Check(i)))
}

// Dynamic returns false: other slots do not matter.
func (s *FeaturesState) Dynamic() bool { return false }
