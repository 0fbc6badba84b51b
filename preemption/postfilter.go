package preemption

import (
	"strconv"
	"strings"

	"github.com/podberth/podberth/release"
)

// Texts of DynamicResources that v1.37 leaves out (rule L6.1).
const (
	noClaims = "no new claims to deallocate"
	noChange = "still not schedulable"
)

// PostFilterOutcome is what the PostFilter plugins did.
type PostFilterOutcome struct {
	// Stopped is true when a PreFilter plugin before DynamicResources rejected the pod for good, so that DynamicResources finds
	// nothing of its own.
	Stopped bool
	// Devices is the text of DynamicResources up to v1.36; "" is that of a pod without claims.
	Devices string
	// Preemption is the message of a preemption that found nothing.
	Preemption string
	// Node and Victims are the result of a preemption that found a node.
	Node    string
	Victims int
}

// PostFilterText returns the text that the PostFilter plugins of the default profile add to the message of a failed attempt, as the
// release writes it.
func PostFilterText(v release.Version, o PostFilterOutcome) string {
	if o.Node != "" {
		return found(v, o.Node, o.Victims)
	}
	if o.Stopped {
		return "not found"
	}
	var parts []string
	if text := ofDevices(v, o.Devices); text != "" {
		parts = append(parts, text)
	}
	if o.Preemption != "" {
		parts = append(parts, "preemption: "+o.Preemption)
	}
	return strings.Join(parts, ", ")
}

// ofDevices returns the text of DynamicResources. v1.37 says nothing when it did nothing (rule L6.1).
func ofDevices(v release.Version, text string) string {
	if text == "" {
		text = noClaims
	}
	if quietDevices(v) && (text == noClaims || text == noChange) {
		return ""
	}
	return text
}

// found returns the text of a preemption that found a node, "" up to v1.36 (rule L6.2).
func found(v release.Version, node string, victims int) string {
	if !namesFoundNode(v) {
		return ""
	}
	return "preemption: found a potential placement for pod on node " + node + ", preempting " + strconv.Itoa(victims) + " victims"
}
