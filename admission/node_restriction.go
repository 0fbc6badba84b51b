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

// RestrictNodeCreate is the rule of NodeRestriction for a node that creates its Node object: the object must be the
// node's own and have no restricted label. Taints are free. identity is the name of the node that asks.
func RestrictNodeCreate(identity string, node *v1.Node) error {
	if node.Name != identity {
		return fmt.Errorf("node %q is not allowed to modify node %q", identity, node.Name)
	}
	return forbidden(identity, "set the following labels", restricted(node.Labels, nil))
}

// RestrictNodeUpdate is the rule of NodeRestriction for a node that updates its Node object: the object must be the
// node's own, have the same taints, and add, change or remove no restricted label. identity is the name of the node that
// asks.
func RestrictNodeUpdate(identity string, old, new *v1.Node) error {
	if new.Name != identity {
		return fmt.Errorf("node %q is not allowed to modify node %q", identity, new.Name)
	}
	if len(old.Spec.Taints)+len(new.Spec.Taints) > 0 && !reflect.DeepEqual(old.Spec.Taints, new.Spec.Taints) {
		return fmt.Errorf("node %q is not allowed to modify taints", identity)
	}
	return forbidden(identity, "modify labels", append(restricted(new.Labels, old.Labels), restricted(missing(old.Labels, new.Labels), nil)...))
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
