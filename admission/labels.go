package admission

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// deprecatedLabel is a label key with a successor. Matching is always literal: a selector with the old key selects nodes
// that have the old key.
type deprecatedLabel struct {
	Key   string // the old key
	Use   string // its successor
	Since string // the version that deprecated it, "" when the documentation names none
}

// deprecatedLabels returns the deprecated node labels and what to use instead, sorted by key. (Well-Known Labels,
// Annotations and Taints.)
func deprecatedLabels() []deprecatedLabel {
	return []deprecatedLabel{
		{"beta.kubernetes.io/arch", v1.LabelArchStable, "v1.14"},
		{v1.LabelInstanceType, v1.LabelInstanceTypeStable, "v1.17"},
		{"beta.kubernetes.io/os", v1.LabelOSStable, "v1.14"},
		{v1.LabelFailureDomainBetaRegion, v1.LabelTopologyRegion, "v1.17"},
		{v1.LabelFailureDomainBetaZone, v1.LabelTopologyZone, "v1.17"},
		{"node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane", ""},
	}
}

// deprecatedKey returns the entry of deprecatedLabels for a key, if there is one.
func deprecatedKey(key string) (deprecatedLabel, bool) {
	list := deprecatedLabels()
	i := slices.IndexFunc(list, func(d deprecatedLabel) bool { return d.Key == key })
	if i < 0 {
		return deprecatedLabel{}, false
	}
	return list[i], true
}

// ReconcileAliases returns the labels that controllers set on a node to keep deprecated keys equal to their successors, nil
// when there is nothing to set (A10.6). The node lifecycle controller copies kubernetes.io/os and kubernetes.io/arch to the
// beta keys. The cloud node controller copies the beta keys of zone, region and instance type to their successors, so that
// there the beta key wins.
func ReconcileAliases(labels map[string]string) map[string]string {
	var set map[string]string
	for _, c := range [...]struct{ from, to string }{
		{v1.LabelOSStable, "beta.kubernetes.io/os"},
		{v1.LabelArchStable, "beta.kubernetes.io/arch"},
		{v1.LabelFailureDomainBetaZone, v1.LabelTopologyZone},
		{v1.LabelFailureDomainBetaRegion, v1.LabelTopologyRegion},
		{v1.LabelInstanceType, v1.LabelInstanceTypeStable},
	} {
		value, ok := labels[c.from]
		if have, has := labels[c.to]; !ok || has && have == value {
			continue
		}
		if set == nil {
			set = map[string]string{}
		}
		set[c.to] = value
	}
	return set
}

// TopologyLabels returns the labels that the PodTopologyLabels admission plugin (on since v1.35) copies from a node onto a
// pod when the pod is bound: topology.kubernetes.io/zone and topology.kubernetes.io/region, if the node has them. The result
// is nil for a node with neither label. Running pods may therefore have labels that their template does not have (A10.7).
func TopologyLabels(node *v1.Node) map[string]string {
	var out map[string]string
	for _, key := range [...]string{v1.LabelTopologyZone, v1.LabelTopologyRegion} {
		if value, ok := node.Labels[key]; ok {
			if out == nil {
				out = map[string]string{}
			}
			out[key] = value
		}
	}
	return out
}
