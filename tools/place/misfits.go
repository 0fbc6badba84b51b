package place

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/overhead/kubelet"
	"github.com/podberth/podberth/taints"
	"github.com/podberth/podberth/tools/report"
)

// kubelets returns what kubelets check of the pods that their nodes get.
func kubelets(o taints.Options) kubelet.Admission {
	return kubelet.Admission{
		MatchesAffinity: affinity.MatchNode,
		ToleratesNoExecute: func(p *v1.Pod, n *v1.Node) bool {
			return taints.Compile(p.Spec.Tolerations, o).ToleratesNoExecute(n.Spec.Taints)
		},
	}
}

// misfits warns of assigned pods that their kubelets would not admit.
func misfits(c *cluster.Snapshot, o taints.Options, warnings *report.Warnings) {
	kubelets := kubelets(o)
	for _, i := range c.Order() {
		node := c.Node(int(i))
		var pods []*v1.Pod
		for p := range c.Pods(int(i)) {
			pods = append(pods, granted(p))
		}
		roomy := fitTogether(c, int(i))
		for k, p := range pods {
			if waits, _, err := diagnose.Bypassed(diagnose.Input{Snapshot: c}, p); err == nil && waits != nil {
				warnings.Aside("%d pods have spec.nodeName and claims that no scheduler binds", fmt.Sprintf("pod %s: %s", key(p), waits.Text))
				continue
			}
			if f, failed := kubelets.Admit(p, node, beside(pods, k, roomy)); failed {
				warnings.Aside("%d pods "+misfit(f.Reason),
					fmt.Sprintf("pod %s is on node %s, whose kubelet would not admit it: %s: %s", key(p), node.Name, f.Reason, f.Message))
			}
		}
	}
}

// refusedThere says what the kubelet has against a pod with spec.nodeName that it has not started; "" for other pods.
func refusedThere(c *cluster.Snapshot, pod *v1.Pod, o taints.Options) string {
	i := c.Slot(pod.Spec.NodeName)
	if i < 0 || pod.Status.Phase != v1.PodPending || pod.Status.StartTime != nil || pod.DeletionTimestamp != nil {
		return ""
	}
	var others []*v1.Pod
	for p := range c.Pods(i) {
		if key(p) != key(pod) {
			others = append(others, granted(p))
		}
	}
	f, failed := kubelets(o).Admit(granted(pod), c.Node(i), others)
	if !failed {
		return ""
	}
	return fmt.Sprintf("it has spec.nodeName %s, and the kubelet there refuses it: %s: %s", pod.Spec.NodeName, f.Reason, f.Message)
}

// beside returns the other pods of a node that a kubelet looks at for one of them. On a roomy node these are the ones that take host ports:
// there none lacks a resource. Nearly every node is roomy, and the check is not quadratic in its pods.
func beside(pods []*v1.Pod, k int, roomy bool) []*v1.Pod {
	var out []*v1.Pod
	for i, p := range pods {
		if i != k && (!roomy || takesHostPorts(p)) {
			out = append(out, p)
		}
	}
	return out
}

// fitTogether reports whether a node has room for all its pods together, and none of them waits for a resize.
func fitTogether(c *cluster.Snapshot, i int) bool {
	has, asked := c.Allocatable(i), c.Requested(i)
	for k, q := range asked {
		if q > has.At(k) {
			return false
		}
	}
	for p := range c.Pods(i) {
		if resizeOf(p) != nil {
			return false
		}
	}
	return true
}

// takesHostPorts reports whether a pod takes ports of its node.
func takesHostPorts(p *v1.Pod) bool {
	takes := func(c v1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p v1.ContainerPort) bool { return p.HostPort > 0 })
	}
	return slices.ContainsFunc(p.Spec.Containers, takes) || slices.ContainsFunc(p.Spec.InitContainers, takes)
}

// misfit puts the reason of a kubelet's refusal into words, for several pods.
func misfit(reason string) string {
	if resource, ok := strings.CutPrefix(reason, "OutOf"); ok {
		return "exceed the " + strings.ReplaceAll(resource, "%", "%%") + " of their nodes"
	}
	return "would not be admitted by the kubelets of their nodes: " + strings.ReplaceAll(reason, "%", "%%")
}
