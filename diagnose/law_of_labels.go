package diagnose

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// label returns why a node does not get a label, or loses it (value nil); "" when it may get it. facts are more keys that state
// facts: topology keys.
func (l *law) label(n *v1.Node, key string, value *string, facts []string) string {
	if matches(factLabels, key) || slices.Contains(facts, key) {
		return whyFact
	}
	if value == nil {
		return whyTaken
	}
	for _, x := range l.nodes {
		if v, ok := x.Labels[key]; ok && v == *value && x.Name != n.Name && sameCapacity(x, n) && sameTaints(x, n) {
			return ""
		}
	}
	return whyNoPool
}

// ofPod returns why a change of the pod is forbidden: it takes the purpose of the pod away, or somebody else writes the field.
func (l *law) ofPod(c *Change) string {
	switch c.Kind {
	case dropVolume, dropClaim:
		return whyPurpose
	case DropPort:
		if l.pod.Spec.HostNetwork {
			return whyPurpose
		}
	case DropGate:
		for prefix := range gateOwners {
			if strings.HasPrefix(c.From, prefix) {
				return whyGate
			}
		}
	case DropSelector, DropRequirement, Prefer:
		if !strings.Contains(c.Path, "nodeSelector") && !strings.Contains(c.Path, "nodeAffinity") {
			return ""
		}
		if owner := metav1.GetControllerOfNoCopy(l.pod); owner != nil && owner.Kind == "DaemonSet" && c.Kind != DropSelector {
			return whyWritten
		}
		if matches(machineLabels, c.key) {
			return whyMachine
		}
	}
	return ""
}

// alike reports whether two nodes are of one kind. Their allocatable resources are equal, and so are their labels, except those for the
// place and the name of a node.
func alike(a, b *v1.Node) bool {
	if a.Name == b.Name {
		return false
	}
	for _, x := range [][2]*v1.Node{{a, b}, {b, a}} {
		for k, v := range x[0].Labels {
			if other, ok := x[1].Labels[k]; (!ok || other != v) && !where(k) && v != x[0].Name {
				return false
			}
		}
	}
	return sameCapacity(a, b)
}

// where reports whether a label says where a node is.
func where(key string) bool {
	return key == v1.LabelHostname || strings.HasPrefix(key, "topology.") || strings.HasPrefix(key, "failure-domain.beta.")
}

func sameCapacity(a, b *v1.Node) bool {
	if len(a.Status.Allocatable) != len(b.Status.Allocatable) {
		return false
	}
	for name, q := range a.Status.Allocatable {
		if other, ok := b.Status.Allocatable[name]; !ok || q.Cmp(other) != 0 {
			return false
		}
	}
	return true
}

func sameTaints(a, b *v1.Node) bool {
	return !slices.ContainsFunc(a.Spec.Taints, func(t v1.Taint) bool { return !has(b, t) }) && !slices.ContainsFunc(b.Spec.Taints, func(t v1.Taint) bool { return !has(a, t) })
}
