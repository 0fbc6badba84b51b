package taint

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/taints/edit"
)

// ExcludeLabel keeps a node out of the count that decides the state of its zone; its value does not matter. The node
// itself is tainted like any other.
const ExcludeLabel = "node.kubernetes.io/exclude-disruption"

// ZoneKey names the zone of a node: region and zone labels, the deprecated failure-domain.beta.kubernetes.io ones taking
// precedence over topology.kubernetes.io, joined by "/"; "" when it has neither, which is a zone of its own. A node with
// only one of the two is in a zone of its own too.
func ZoneKey(node *v1.Node) string {
	label := func(deprecated, key string) string {
		if v, ok := node.Labels[deprecated]; ok {
			return v
		}
		return node.Labels[key]
	}
	region := label(v1.LabelFailureDomainBetaRegion, v1.LabelTopologyRegion)
	zone := label(v1.LabelFailureDomainBetaZone, v1.LabelTopologyZone)
	if region == "" && zone == "" {
		return ""
	}
	return region + "/" + zone
}

// ZoneState is how much of a zone is down.
type ZoneState uint8

const (
	// Initial: not looked at yet; behaves as Normal.
	Initial ZoneState = iota
	// Normal: enough nodes are ready.
	Normal
	// PartialDisruption: more than two nodes, and at least the threshold's share, are not ready.
	PartialDisruption
	// FullDisruption: no node is ready.
	FullDisruption
)

// String returns the name of the state.
func (s ZoneState) String() string {
	switch s {
	case Initial:
		return "Initial"
	case Normal:
		return "Normal"
	case PartialDisruption:
		return "PartialDisruption"
	case FullDisruption:
		return "FullDisruption"
	}
	return fmt.Sprintf("ZoneState(%d)", uint8(s))
}

// StateOf returns the state of a zone with so many nodes ready and not ready. The first that holds decides: none ready and
// some not is FullDisruption; more than two not ready and notReady/(ready+notReady) at least the threshold, as float32, is
// PartialDisruption; anything else is Normal.
func StateOf(ready, notReady int, c Config) ZoneState {
	switch {
	case ready == 0 && notReady > 0:
		return FullDisruption
	case notReady > 2 && float32(notReady)/float32(ready+notReady) >= or(c.UnhealthyThreshold, 0.55):
		return PartialDisruption
	}
	return Normal
}

// CountReady counts the nodes of one zone for StateOf: ready are those with Ready=True, notReady all others, also those
// without the condition. Nodes with ExcludeLabel are not counted.
func CountReady(nodes []*v1.Node) (ready, notReady int) {
	for _, n := range nodes {
		if _, excluded := n.Labels[ExcludeLabel]; excluded {
			continue
		}
		if status, _ := edit.Ready(n); status == v1.ConditionTrue {
			ready++
		} else {
			notReady++
		}
	}
	return ready, notReady
}

// RateOf returns how many nodes a second get a NoExecute taint in a zone of this state with size counted nodes, while not
// all zones are in FullDisruption: 0.1 normally and, against intuition, in full disruption; 0.01 in partial disruption of
// a zone with more than 50 nodes, otherwise 0 (with the default parameters).
func RateOf(state ZoneState, size int, c Config) float32 {
	switch state {
	case PartialDisruption:
		if size > or(c.LargeCluster, 50) {
			return or(c.SecondaryRate, 0.01)
		}
		return 0
	case FullDisruption:
		return or(c.FullDisruptionRate, c.evictionRate())
	}
	return c.evictionRate()
}
