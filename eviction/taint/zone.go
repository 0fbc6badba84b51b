package taint

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/taints/edit"
)

// excludeLabel excludes a node from the count that decides the state of its zone. The value of the label does not matter.
// The node itself gets taints like any other node.
const excludeLabel = "node.kubernetes.io/exclude-disruption"

// zoneKey returns the zone of a node (rule XZ6.1): region and zone labels, joined by "/". The deprecated labels
// failure-domain.beta.kubernetes.io take precedence over topology.kubernetes.io. A node with neither label is in the zone
// "", and a node with only one of them is in a zone of that label alone.
func zoneKey(node *v1.Node) string {
	region, zone := view.Zone(node)
	if region == "" && zone == "" {
		return ""
	}
	return region + "/" + zone
}

// zoneState says how much of a zone is down.
type zoneState uint8

const (
	// zoneInitial: no pass has looked at the zone yet. It behaves as zoneNormal.
	zoneInitial zoneState = iota
	// zoneNormal: enough nodes are ready.
	zoneNormal
	// zonePartial: at least three nodes are not ready, and their share is at least the threshold.
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

// stateOf returns the state of a zone with this number of nodes ready and not ready (rule XZ6.3). The first rule that holds
// decides:
//
//  1. No node is ready and some node is not: zoneFull.
//  2. More than two nodes are not ready, and notReady/(ready+notReady) is at least the threshold, as float32: zonePartial.
//  3. Otherwise: zoneNormal.
func stateOf(ready, notReady int, c Config) zoneState {
	switch {
	case ready == 0 && notReady > 0:
		return zoneFull
	case notReady > 2 && float32(notReady)/float32(ready+notReady) >= orDefault(c.UnhealthyThreshold, 0.55):
		return zonePartial
	}
	return zoneNormal
}

// countReady counts the nodes of one zone for stateOf (rule XZ6.2): ready are nodes with Ready=True, notReady all other
// nodes, also nodes without the condition. Nodes with excludeLabel are not counted.
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

// rateOf returns how many nodes per second get a NoExecute taint in a zone of this state with size counted nodes, while not
// all zones are in FullDisruption (rules XZ7.1 to XZ7.3). With the default parameters the rate is 0.1 normally and, against
// intuition, in full disruption. In partial disruption it is 0.01 for a zone of more than 50 nodes, otherwise 0.
func rateOf(state zoneState, size int, c Config) float32 {
	switch state {
	case zonePartial:
		if size > orDefault(c.LargeCluster, 50) {
			return orDefault(c.SecondaryRate, 0.01)
		}
		return 0
	case zoneFull:
		return orDefault(c.FullDisruptionRate, c.evictionRate())
	}
	return c.evictionRate()
}
