package diagnose

import (
	"cmp"
	"slices"
)

// ranks has the kinds of changes that are the best advice about a cause, in their order. Kinds that a cause does not name come after those
// that it names, by cost. A cause without a row leaves all to the cost.
var ranks = map[string][]Kind{
	causeAffinity:     {Mend, MovePods, Label}, // a preference gives up what the pod wants
	causeAntiAffinity: {Mend, AddNode, Prefer},
	causeDaemon:       {Priority, MovePods},
	causeEmptyDomain:  {Mend, HonorTaints, LowerMinDomains, AddNode, RaiseMaxSkew}, // a preference is last
	causeSpread:       {Mend, LowerMinDomains, HonorTaints, AddNode, RaiseMaxSkew},
	causeMeant:        {Tolerate},
	causeToleration:   {Tolerate},
	causeReserved:     {AddNode},
	causeNotReady:     {Recover, AddNode},
	causePressure:     {Recover, AddNode},
	causeStarting:     {Recover, AddNode},
	causeLeaving:      {Recover, AddNode},
	causeFull:         {AddNode, LowerRequest, MovePods},
	causeTooLarge:     {LowerRequest, AddNode},
	causeFragments:    {MovePods, AddNode},
	causePort:         {AddNode, MovePods},
}

// rank returns the place of the worst change of a relaxation among the best advice about a cause.
func (r Relaxation) rank(c *Cause) (worst int) {
	if c == nil {
		return 0
	}
	best := ranks[c.Type]
	for _, change := range r.Changes {
		at := slices.Index(best, change.Kind)
		if at < 0 {
			at = len(best)
		}
		worst = max(worst, at)
	}
	return worst
}

// ranked returns the relaxations in the order of the cause. Those that may never be first stay behind the others.
func (d *Diagnosis) ranked() []Relaxation {
	out := slices.Clone(d.Relaxations)
	slices.SortStableFunc(out, func(a, b Relaxation) int {
		return cmp.Or(cmp.Compare(later(a), later(b)), cmp.Compare(a.rank(d.Cause), b.rank(d.Cause)))
	})
	return out
}
