package diagnose

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// ranks has the kinds of changes that are the best advice about a cause, in their order. Kinds that a cause does not name come after those
// that it names, by cost. A cause without a row leaves all to the cost.
var ranks = map[string][]Kind{
	causeAffinity:     {Mend, Recover, MovePods, AddNode, Label}, // a preference gives up what the pod wants
	causeAntiAffinity: {Mend, Strategy, Policy, AddNode, Scale, Prefer},
	causeTopologyKey:  {Mend, Label},
	causeDaemon:       {Priority, MovePods, LeaveOut},
	causeEmptyDomain:  {Mend, HonorTaints, LowerMinDomains, AddNode, RaiseMaxSkew}, // a preference is last
	causeSpread:       {Mend, LowerMinDomains, HonorTaints, Policy, Strategy, AddNode, RaiseMaxSkew},
	causeMeant:        {Tolerate},
	causeToleration:   {Tolerate},
	causeReserved:     {AddNode, Untaint}, // whoever has reserved the nodes wants them so
	causeNotReady:     {Recover, Uncordon, Untaint, AddNode},
	causePressure:     {Recover, Uncordon, Untaint, AddNode},
	causeStarting:     {Recover, Uncordon, Untaint, AddNode},
	causeLeaving:      {Recover, Uncordon, Untaint, AddNode},
	causeFull:         {Priority, AddNode, Resize, Scale, LowerRequest, MaxPods, Strategy, MovePods},
	causeTooLarge:     {LowerRequest, AddNode},
	causeFragments:    {MovePods, AddNode},
	causeNoNode:       {Mend, Remake, Label, AddNode},       // the pod means such nodes: they come before an edit that gives them up
	causePort:         {Strategy, AddNode, Scale, MovePods}, // the pool grows before the owner shrinks
	causeAttachments:  {AddNode, Recover, MovePods},
	causeOnePod:       {Strategy},
	causeVolume:       {ClearClaimRef, Recover, LowerRequest, AddNode}, // a smaller claim is not what was asked for
	causeDevices:      {Mend, ReleaseClaim, Recover, AddNode, LowerCount, DropConstraint},
}

// crowding are causes that running pods have a part in: that some leave their nodes may be advice about them.
var crowding = []string{
	causeAffinity, causeAntiAffinity, causeEmptyDomain, causeSpread, causeDaemon, causeFull, causeFragments, causePort, causeAttachments, causeOnePod, causeDevices,
}

// mayLeave reports whether it is good advice about a cause that running pods leave their nodes.
func mayLeave(c *Cause) bool { return c == nil || slices.Contains(crowding, c.Type) }

// rank returns the place of the worst change of a relaxation among the best advice about a cause.
func (r Relaxation) rank(c *Cause) (worst int) {
	if c == nil {
		return 0
	}
	best := ranks[c.Type]
	for _, change := range r.Changes {
		at := slices.Index(best, change.Kind)
		if at < 0 || change.Kind == Recover && change.Path == ofStorage { // that a driver is wrong is the last that one thinks of
			at = len(best)
		}
		worst = max(worst, at)
	}
	return worst
}

// ranked returns relaxations in the order of the cause. Those that may never be first stay behind the others.
func ranked(list []Relaxation, cause *Cause) []Relaxation {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b Relaxation) int {
		return cmp.Or(cmp.Compare(later(a), later(b)), cmp.Compare(a.rank(cause), b.rank(cause)))
	})
	return out
}

// ofPools are causes about which other pools are no advice: the pod has its pool, and the pool is closed or lacks room.
var ofPools = []string{
	causeFull, causeTooLarge, causeFragments, causePort, causeAntiAffinity, causeAttachments, causeSpread, causeEmptyDomain,
	causeMeant, causeToleration, causeReserved, causeNotReady, causePressure, causeStarting, causeLeaving, causeCordoned,
}

// ofRoomAlone are causes about which a pod as important as the pod does not leave for good: more room is the remedy.
var ofRoomAlone = []string{causeFull, causeFragments, causeDevices, causeAttachments}

// unfit returns why a relaxation is no advice about the cause, though it places the pod: it takes the pod out of its pool, leaves it less
// than half of what it asks for, or takes the room of a pod that is as important.
func (d *diagnosis) unfit(r Relaxation) string {
	if d.cause == nil {
		return ""
	}
	for _, c := range r.Changes {
		switch c.Kind {
		case DropSelector, DropRequirement, Prefer:
			ofNodes := strings.Contains(c.Path, "nodeSelector") || strings.Contains(c.Path, "nodeAffinity")
			if ofNodes && c.key != v1.LabelHostname && slices.Contains(ofPools, d.cause.Type) {
				return whyOtherPool
			}
		case LowerRequest, LowerCount:
			if c.value != nil && 2*c.value.v < c.value.from {
				return whyHalf
			}
		case RemovePods:
			if slices.Contains(ofRoomAlone, d.cause.Type) && slices.ContainsFunc(c.Leaving, func(l Leaving) bool { return l.To == "" && l.Priority == podinfo.Priority(d.pod) }) {
				return whyEqual
			}
		}
	}
	return ""
}
