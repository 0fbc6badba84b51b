package compare

import (
	"fmt"
	"slices"
	"strings"
)

// lowest is the lowest score that a plugin can give.
func lowest(plugin string) int {
	if plugin == "NodeResourcesBalancedAllocation" {
		return 50 // 50 for a pod that changes no balance, at most 50 more or less: half of that in each direction
	}
	return 0
}

// Holes returns what was produced fewer than least times, and what was never produced of expected ("area: value").
func (t *Tally) Holes(least int64, expected []string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for area, values := range t.produced {
		if strings.HasPrefix(area, "hint/") || t.found[area] { // some changes come about only when several fields change at once
			continue
		}
		for value, n := range values {
			if area == "message of preemption" && t.produced["reason"][value] > 0 {
				continue // a filter's: counted as a reason
			}
			if n < least {
				out = append(out, fmt.Sprintf("%s: %s: %d", area, value, n))
			}
		}
	}
	for _, e := range expected {
		area, value, _ := strings.Cut(e, ": ")
		if t.produced[area][value] == 0 {
			out = append(out, e+": 0")
		}
	}
	for plugin, counts := range t.scores {
		for value := lowest(plugin); value <= 100; value++ {
			if counts[value] < least {
				out = append(out, fmt.Sprintf("score value of %s: %d: %d", plugin, value, counts[value]))
			}
		}
	}
	slices.Sort(out)
	return out
}

// Missing returns those of the texts that begin no reason and no part of a message that was produced.
func (t *Tally) Missing(texts []string) (out []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, text := range texts {
		found := false
		for area, values := range t.produced {
			if area != "reason" && !strings.HasPrefix(area, "message") && area != "preemption" {
				continue
			}
			for value := range values {
				found = found || strings.HasPrefix(value, text)
			}
		}
		if !found {
			out = append(out, text)
		}
	}
	return out
}

// Expected are the values that the long mode must produce, as "area: value".
var Expected = []string{
	"filter/NodeName: UnschedulableAndUnresolvable", "filter/NodeUnschedulable: UnschedulableAndUnresolvable",
	"filter/TaintToleration: UnschedulableAndUnresolvable", "filter/NodeAffinity: UnschedulableAndUnresolvable",
	"filter/NodeAffinity: PreFilter UnschedulableAndUnresolvable", "filter/NodePorts: Unschedulable",
	"filter/NodeResourcesFit: Unschedulable", "filter/NodeResourcesFit: UnschedulableAndUnresolvable",
	"filter/VolumeRestrictions: Unschedulable", "filter/VolumeRestrictions: PreFilter UnschedulableAndUnresolvable",
	"filter/NodeVolumeLimits: Unschedulable", "filter/NodeVolumeLimits: UnschedulableAndUnresolvable",
	"filter/VolumeBinding: UnschedulableAndUnresolvable", "filter/VolumeBinding: PreFilter UnschedulableAndUnresolvable",
	"filter/VolumeZone: UnschedulableAndUnresolvable", "filter/VolumeZone: PreFilter UnschedulableAndUnresolvable",
	"filter/PodTopologySpread: Unschedulable", "filter/PodTopologySpread: UnschedulableAndUnresolvable",
	"filter/InterPodAffinity: Unschedulable", "filter/InterPodAffinity: UnschedulableAndUnresolvable",
	"filter/NodeDeclaredFeatures: UnschedulableAndUnresolvable",
	"outcome: Scheduled", "outcome: Unschedulable", "outcome: Error", "outcome: no nodes",
	"reason: Too many pods", "reason: Insufficient cpu", "reason: Insufficient memory", "reason: Insufficient ephemeral-storage",
	"reason: Insufficient example.com/gpu", "reason: Insufficient hugepages-2Mi",
	"reason: node(s) didn't match the requested node name", "reason: node(s) were unschedulable",
	"reason: node(s) had untolerated taint(s)", "reason: node(s) didn't match Pod's node affinity/selector",
	"reason: node(s) didn't match scheduler-enforced node affinity", "reason: pod affinity terms conflict",
	"reason: node(s) didn't have free ports for the requested pod ports", "reason: node(s) didn't match Pod's required features",
	"reason: node(s) didn't match pod affinity rules", "reason: node(s) didn't match pod anti-affinity rules",
	"reason: node(s) didn't satisfy existing pods anti-affinity rules",
	"reason: node(s) didn't match pod topology spread constraints",
	"reason: node(s) didn't match pod topology spread constraints (missing required label)",
	"reason: node(s) had no available disk", "reason: node(s) exceed max volume count", "reason: node(s) had no available volume zone",
	"reason: node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
	"reason: node(s) did not have enough free storage", "reason: node(s) didn't find available persistent volumes to bind",
	"reason: node(s) didn't match PersistentVolume's node affinity",
	"reason: node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
	"reason: pod has unbound immediate PersistentVolumeClaims",
	"preemption: not eligible due to preemptionPolicy=Never.",
	"preemption: not eligible due to a terminating pod on the nominated node.",
}
