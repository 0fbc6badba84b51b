package podgroup

import (
	"fmt"
	"strings"
)

// The texts of kube-scheduler about a group as a whole.
const (
	// TextUnschedulable stands before the reason of a group, and alone when no member was placed.
	TextUnschedulable = "pod group is unschedulable"
	// TextNoPlacements is for a topology key that no node has.
	TextNoPlacements = "no feasible placements found"
	// TextQuorumGate is what a pod waits for whose group has too few pods.
	TextQuorumGate = "waiting for minCount pods from a gang to appear in scheduling queue"
	// TextPreemption stands before what group preemption says.
	TextPreemption = "pod group preemption: "
	// TextOngoing: nominated nodes have victims that are leaving.
	TextOngoing = TextPreemption + "ongoing preemption on nominated nodes"
	// TextNever: the preemption policy forbids it.
	TextNever = TextPreemption + "not eligible due to preemptionPolicy=Never."
	// TextNoVictims: no unit has a lower priority.
	TextNoVictims = TextPreemption + "No preemption victims found for incoming preemptor"
	// TextClaims is what DynamicResources adds when each member gave something back, or nothing of the group's can be given back.
	TextClaims = "deallocation and deletion of ResourceClaims completed"
	// TextDeallocated: a claim of the group, or one that is reserved for nobody, is free again.
	TextDeallocated = "deallocation of PodGroup ResourceClaim completed"
	// TextUnreserved: a claim of the group has lost the group's reservation.
	TextUnreserved = "ResourceClaim unreserved for PodGroup"
)

// NoPlacementText returns the text of a group that fits into none of the placements. first is the text of the first placement.
func NoPlacementText(placements int, first string) string {
	return Join(TextUnschedulable, fmt.Sprintf("0/%d placements are available, first placement status: %s", placements, first))
}

// FoundText returns what group preemption says when it has found victims.
func FoundText(victims int) string {
	return fmt.Sprintf(TextPreemption+"found a placement for podgroup, preempting %d victims", victims)
}

// PreemptionErrorText returns the text of a group whose preemption failed with an error.
func PreemptionErrorText(text string) string { return PostFilterErrorText("DefaultPreemption", text) }

// PostFilterErrorText returns the text of a group for which a plugin failed when the group was unschedulable.
func PostFilterErrorText(plugin, text string) string {
	return fmt.Sprintf("error in %q PodGroupPostFilter plugins: %s", plugin, text)
}

// Join joins the reasons of a status.
func Join(reasons ...string) string { return strings.Join(reasons, ", ") }
