package affinity

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// DeprecatedLabel is a label key with a successor. Matching is always literal: a selector with the old key selects nodes
// that have the old key.
type DeprecatedLabel struct {
	Key   string // the old key
	Use   string // its successor
	Since string // the version that deprecated it, "" when the documentation names none
}

// DeprecatedLabels returns the deprecated node labels and what to use instead, sorted by key. (Well-Known Labels,
// Annotations and Taints.)
func DeprecatedLabels() []DeprecatedLabel {
	return []DeprecatedLabel{
		{"beta.kubernetes.io/arch", v1.LabelArchStable, "v1.14"},
		{v1.LabelInstanceType, v1.LabelInstanceTypeStable, "v1.17"},
		{"beta.kubernetes.io/os", v1.LabelOSStable, "v1.14"},
		{v1.LabelFailureDomainBetaRegion, v1.LabelTopologyRegion, "v1.17"},
		{v1.LabelFailureDomainBetaZone, v1.LabelTopologyZone, "v1.17"},
		{"node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane", ""},
	}
}

// Deprecated returns the entry of DeprecatedLabels for a key, if there is one.
func Deprecated(key string) (DeprecatedLabel, bool) {
	list := DeprecatedLabels()
	i := slices.IndexFunc(list, func(d DeprecatedLabel) bool { return d.Key == key })
	if i < 0 {
		return DeprecatedLabel{}, false
	}
	return list[i], true
}

// LabelSetter says who puts a standard label on nodes.
type LabelSetter string

// The setters of standard labels.
const (
	SetByKubelet       LabelSetter = "kubelet"        // at registration, from the machine
	SetByCloudProvider LabelSetter = "cloud provider" // by the cloud node controller
)

// StandardLabel is a label that nodes normally have.
type StandardLabel struct {
	Key   string      // the whole key, with its prefix
	SetBy LabelSetter // who sets it where nobody else does
}

// StandardLabels returns the labels that nodes have in v1.36 without anyone setting them by hand, sorted by key; the
// deprecated twins are among them. There is no topology.kubernetes.io/hostname: it is kubernetes.io/hostname.
func StandardLabels() []StandardLabel {
	return []StandardLabel{
		{"beta.kubernetes.io/arch", SetByKubelet},
		{v1.LabelInstanceType, SetByCloudProvider},
		{"beta.kubernetes.io/os", SetByKubelet},
		{v1.LabelFailureDomainBetaRegion, SetByCloudProvider},
		{v1.LabelFailureDomainBetaZone, SetByCloudProvider},
		{v1.LabelArchStable, SetByKubelet},
		{v1.LabelHostname, SetByKubelet},
		{v1.LabelOSStable, SetByKubelet},
		{v1.LabelInstanceTypeStable, SetByCloudProvider},
		{v1.LabelTopologyRegion, SetByCloudProvider},
		{v1.LabelTopologyZone, SetByCloudProvider},
	}
}

// ReconcileAliases returns the labels that controllers set on a node to keep deprecated keys and their successors equal,
// nil when nothing is to be done. The node lifecycle controller copies kubernetes.io/os and arch onto the beta keys; the
// cloud node controller copies the beta zone, region and instance type onto their successors: there the beta key wins.
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

// ZoneOf returns region and zone by which Kubernetes groups nodes (lifecycle zones, the order in which nodes are visited,
// the legacy SelectorSpread): the beta keys are read first, then their successors. Affinity, nodeSelector and topology
// spread never do that; they take a key literally.
func ZoneOf(labels map[string]string) (region, zone string) {
	return first(labels, v1.LabelFailureDomainBetaRegion, v1.LabelTopologyRegion),
		first(labels, v1.LabelFailureDomainBetaZone, v1.LabelTopologyZone)
}

func first(labels map[string]string, keys ...string) string {
	for _, key := range keys {
		if value, ok := labels[key]; ok {
			return value
		}
	}
	return ""
}

// TopologyLabels returns the labels that the PodTopologyLabels admission plugin (on since v1.35) copies from a node onto a
// pod when it is bound: topology.kubernetes.io/zone and /region, as far as the node has them. nil when it has neither. So
// running pods may carry labels that their template does not have.
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
