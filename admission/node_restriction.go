package admission

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// restrictedLabel reports whether the NodeRestriction admission plugin keeps a node from setting this label on its own
// Node object: keys whose prefix is node-restriction.kubernetes.io or ends in .node-restriction.kubernetes.io, and all keys
// of kubernetes.io, k8s.io and their subdomains except those of kubelet.kubernetes.io and node.kubernetes.io with their
// subdomains and the well-known labels that kubelets set. The kubelet itself refuses the same keys in --node-labels.
// (Assigning Pods to Nodes, Node isolation/restriction; the plugin is off by default, installers enable it.)
func restrictedLabel(key string) bool {
	namespace, _, found := strings.Cut(key, "/")
	if !found {
		return false
	}
	switch {
	case within(namespace, "node-restriction.kubernetes.io"):
		return true
	case !within(namespace, "kubernetes.io") && !within(namespace, "k8s.io"):
		return false
	case within(namespace, "kubelet.kubernetes.io"), within(namespace, "node.kubernetes.io"):
		return false
	}
	return !slices.Contains(kubeletLabels, key)
}

func within(namespace, domain string) bool {
	return namespace == domain || strings.HasSuffix(namespace, "."+domain)
}

var kubeletLabels = []string{
	v1.LabelHostname, v1.LabelOSStable, v1.LabelArchStable,
	v1.LabelTopologyZone, v1.LabelTopologyRegion,
	v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion,
	v1.LabelInstanceTypeStable, v1.LabelInstanceType,
	"beta.kubernetes.io/os", "beta.kubernetes.io/arch",
}

// RestrictNode is the rule of NodeRestriction for a node that creates its Node object (old is nil) or updates it: the object must be the node's
// own. A new object has no restricted label; its taints are free. An update has the same taints, and adds, changes or removes no restricted
// label. identity is the name of the node that asks. A nil node panics.
func RestrictNode(identity string, old, node *v1.Node) error {
	if node.Name != identity {
		return fmt.Errorf("node %q is not allowed to modify node %q", identity, node.Name)
	}
	if old == nil {
		return forbidden(identity, "set the following labels", restricted(node.Labels, nil))
	}
	if len(old.Spec.Taints)+len(node.Spec.Taints) > 0 && !reflect.DeepEqual(old.Spec.Taints, node.Spec.Taints) {
		return fmt.Errorf("node %q is not allowed to modify taints", identity)
	}
	return forbidden(identity, "modify labels", append(restricted(node.Labels, old.Labels), restricted(missing(old.Labels, node.Labels), nil)...))
}

// restricted returns the restricted keys of labels whose value was does not have.
func restricted(labels, was map[string]string) (keys []string) {
	for key, value := range labels {
		if before, had := was[key]; restrictedLabel(key) && (!had || before != value) {
			keys = append(keys, key)
		}
	}
	return keys
}

// missing returns the labels of old whose key new does not have.
func missing(old, new map[string]string) map[string]string {
	out := maps.Clone(old)
	maps.DeleteFunc(out, func(key, _ string) bool { _, ok := new[key]; return ok })
	return out
}

func forbidden(identity, what string, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	slices.Sort(keys)
	return fmt.Errorf("node %q is not allowed to %s: %s", identity, what, strings.Join(keys, ", "))
}
