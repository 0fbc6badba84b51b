package kubelet

import (
	"fmt"
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/overhead"
)

// Admission is the check that a kubelet makes before it runs a pod. The check matters for a pod that names its node: no
// scheduler has checked such a pod. Two rules belong to other packages and are passed as functions. The zero value leaves
// both out.
type Admission struct {
	// MatchesAffinity reports whether the node matches the pod's nodeSelector and required node affinity
	// (affinity.MatchNode). nil: not checked.
	MatchesAffinity func(pod *v1.Pod, node *v1.Node) bool
	// ToleratesNoExecute reports whether the pod tolerates every NoExecute taint of the node (package taints). nil: not
	// checked.
	ToleratesNoExecute func(pod *v1.Pod, node *v1.Node) bool
}

// AdmissionFailure is one reason for which a kubelet rejects a pod. The pod's phase becomes Failed, with Reason and Message
// in its status.
type AdmissionFailure struct {
	// Reason is "OutOf<resource>", "NodeAffinity", "NodeName", "NodePorts", "TaintToleration", or the name of an earlier
	// check.
	Reason string
	// Message begins with "Pod was rejected: ".
	Message string
	// Lack has the numbers of an OutOf failure and is nil for other failures. When every failure of a critical pod (static,
	// mirror, or of priority 2000000000 and above) has a Lack, the kubelet makes room by preemption instead of rejecting the
	// pod.
	Lack *filter.Insufficient
}

// Admit returns the first failure, which is the one the kubelet reports, and false when the pod is admitted. running are
// the other pods on the node.
func (a Admission) Admit(pod *v1.Pod, node *v1.Node, running []*v1.Pod) (AdmissionFailure, bool) {
	if all := a.failures(pod, node, running); len(all) > 0 {
		return all[0], true
	}
	return AdmissionFailure{}, false
}

// failures returns all failures in the kubelet's order:
//
//  1. the operating system: the pod's label kubernetes.io/os, then spec.os, against the node's; then
//     supplementalGroupsPolicy Strict on a node without it. A failure here is the only one.
//  2. resources, by the requests of the spec: pods, cpu, memory, ephemeral-storage, others by name. An extended resource
//     that the node's allocatable does not name is not checked.
//  3. nodeSelector and required node affinity, 4. the node's name, 5. host ports,
//  6. NoExecute taints that the pod does not tolerate, except for static pods. NoSchedule taints are not checked.
//
// Rule: documentation, "Node conditions"/"Assigning Pods to Nodes" (nodeName), and the reasons named there.
func (a Admission) failures(pod *v1.Pod, node *v1.Node, running []*v1.Pod) []AdmissionFailure {
	if f, failed := beforePredicates(pod, node); failed {
		return []AdmissionFailure{f}
	}
	var out []AdmissionFailure
	for _, x := range filter.Lacks(pod, node, running, filter.FitOptions{IgnoredResources: notOffered(pod, node)}) {
		out = append(out, AdmissionFailure{
			Reason: "OutOf" + string(x.Resource),
			Message: rejected + fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d",
				x.Resource, x.Requested, x.Used, x.Capacity),
			Lack: &x,
		})
	}
	fail := func(predicate, text string) {
		out = append(out, AdmissionFailure{Reason: predicate, Message: rejected + "Predicate " + predicate + " failed: " + text})
	}
	if a.MatchesAffinity != nil && !a.MatchesAffinity(pod, node) {
		fail("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
	}
	here := oneNode{node, running}
	for _, p := range [...]filter.Predicate{filter.CompileNodeName(pod).On(here), filter.CompilePorts(pod).On(here)} {
		if v := p.Check(0); v != 0 {
			fail(p.Name(), p.Reasons(v)[0])
		}
	}
	if a.ToleratesNoExecute != nil && !podinfo.Static(pod) && !a.ToleratesNoExecute(pod, node) {
		fail("TaintToleration", "node(s) had taints that the pod didn't tolerate")
	}
	return out
}

const rejected = "Pod was rejected: "

// oneNode is the kubelet's node with the other pods there, as the filters see a cluster.
type oneNode struct {
	node *v1.Node
	pods []*v1.Pod
}

func (oneNode) Len() int                     { return 1 }
func (c oneNode) Node(int) *v1.Node          { return c.node }
func (c oneNode) Pods(int) iter.Seq[*v1.Pod] { return slices.Values(c.pods) }

// beforePredicates makes the checks of the operating system and of supplementalGroupsPolicy, which come before all others.
func beforePredicates(pod *v1.Pod, node *v1.Node) (AdmissionFailure, bool) {
	os := node.Status.NodeInfo.OperatingSystem
	if label, ok := pod.Labels[v1.LabelOSStable]; ok && os != "" && label != os {
		return AdmissionFailure{
			Reason:  "PodOSSelectorNodeLabelDoesNotMatch",
			Message: rejected + "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
		}, true
	}
	if pod.Spec.OS != nil && os != "" && string(pod.Spec.OS.Name) != os {
		return AdmissionFailure{
			Reason:  "PodOSNotSupported",
			Message: rejected + "Failed to admit pod as the OS field doesn't match node OS",
		}, true
	}
	if c := pod.Spec.SecurityContext; c != nil && c.SupplementalGroupsPolicy != nil && *c.SupplementalGroupsPolicy == v1.SupplementalGroupsPolicyStrict {
		if f := node.Status.Features; f == nil || f.SupplementalGroupsPolicy == nil || !*f.SupplementalGroupsPolicy {
			return AdmissionFailure{
				Reason:  "SupplementalGroupsPolicyNotSupported",
				Message: rejected + "SupplementalGroupsPolicy=Strict is not supported in this node",
			}, true
		}
	}
	return AdmissionFailure{}, false
}

// notOffered returns the resources that the pod asks for and the node does not name. Of these the filter ignores the extended ones.
func notOffered(pod *v1.Pod, node *v1.Node) []string {
	var out []string
	overhead.Each(pod, overhead.Options{}, func(name v1.ResourceName, _ int64) {
		if _, ok := node.Status.Allocatable[name]; !ok {
			out = append(out, string(name))
		}
	})
	return out
}
