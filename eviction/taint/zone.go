package taint

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/taints/edit"
)

// excludeLabel keeps a node out of the count that decides the state of its zone; its value does not matter. The node
// itself is tainted like any other.
const excludeLabel = "node.kubernetes.io/exclude-disruption"

// zoneKey names the zone of a node: region and zone labels, the deprecated failure-domain.beta.kubernetes.io ones taking
// precedence over topology.kubernetes.io, joined by "/"; "" when it has neither, which is a zone of its own. A node with
// only one of the two is in a zone of its own too.
func zoneKey(node *v1.Node) string {
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

// zoneState is how much of a zone is down.
type zoneState uint8

const (
	// zoneInitial: not looked at yet; behaves as zoneNormal.
	zoneInitial zoneState = iota
	// zoneNormal: enough nodes are ready.
	zoneNormal
	// zonePartial: more than two nodes, and at least the threshold's share, are not ready.
	zonePartial
	// zoneFull: no node is ready.
	zoneFull
)

// String returns the name of the state.
func (s zoneState) String() string {
	switch s {
	case zoneInitial:
		return "Initial"
	case zoneNormal:
		return "Normal"
	case zonePartial:
		return "PartialDisruption"
	case zoneFull:
		return "FullDisruption"
	}
	return fmt.Sprintf("ZoneState(%d)", uint8(s))
}

// stateOf returns the state of a zone with so many nodes ready and not ready. The first that holds decides: none ready and
// some not is zoneFull; more than two not ready and notReady/(ready+notReady) at least the threshold, as float32, is
// zonePartial; anything else is zoneNormal.
func stateOf(ready, notReady int, c Config) zoneState {
	switch {
	case ready == 0 && notReady > 0:
		return zoneFull
	case notReady > 2 && float32(notReady)/float32(ready+notReady) >= or(c.UnhealthyThreshold, 0.55):
		return zonePartial
	}
	return zoneNormal
}

// countReady counts the nodes of one zone for stateOf: ready are those with Ready=True, notReady all others, also those
// without the condition. Nodes with excludeLabel are not counted.
func countReady(nodes []*v1.Node) (ready, notReady int) {
	for _, n := range nodes {
		if _, excluded := n.Labels[excludeLabel]; excluded {
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

// rateOf returns how many nodes a second get a NoExecute taint in a zone of this state with size counted nodes, while not
// all zones are in FullDisruption: 0.1 normally and, against intuition, in full disruption; 0.01 in partial disruption of
// a zone with more than 50 nodes, otherwise 0 (with the default parameters).
func rateOf(state zoneState, size int, c Config) float32 {
	switch state {
	case zonePartial:
		if size > or(c.LargeCluster, 50) {
			return or(c.SecondaryRate, 0.01)
		}
		return 0
	case zoneFull:
		return or(c.FullDisruptionRate, c.evictionRate())
	}
	return c.evictionRate()
}
