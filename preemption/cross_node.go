package preemption

import (
	"fmt"
)

// defaultAcross is the default of CrossNode.Max.
const defaultAcross = 50

// across searches again, with the pods of other nodes that may be in the way (Options.CrossNode). local is the outcome of the
// search on the node alone, which is returned if the second search finds nothing.
func (d *dryRun) across(i int, local outcome) outcome {
	o := d.r.Options.CrossNode
	if o.Foreign == nil {
		return local
	}
	d.units, d.members, d.seen = d.units[:0], d.members[:0], d.seen[:0]
	d.collectLocal(i)
	own, limit := len(d.members), o.Max
	if limit == 0 {
		limit = defaultAcross
	}
	for _, f := range o.Foreign(i) {
		if f.Slot != i {
			q := resident{pod: f.Pod, priority: Priority(f.Pod), start: start(f.Pod, d.r.Now), started: true}
			d.collect(f.Slot, &q, true)
		}
	}
	switch n := len(d.members) - own; {
	case n == 0:
		return local
	case n > limit:
		return outcome{reason: fmt.Sprintf("more than %d pods on other nodes may be in the way", limit)}
	}
	if found := d.search(i); found.found {
		return found
	}
	return local
}
