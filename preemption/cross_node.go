package preemption

import (
	"fmt"

	"github.com/podberth/podberth/internal/podinfo"
)

// defaultAcross is the default of CrossNode.Max.
const defaultAcross = 50

func (o *CrossNode) max() int {
	if o.Max == 0 {
		return defaultAcross
	}
	return o.Max
}

// across searches with the pods of other nodes that may be in the way (Options.CrossNode). local is the outcome of the search
// on the node alone, which is returned if this search finds nothing. With Options.Search there was no search before: a node
// with too many pods of other nodes is searched without them.
func (d *dryRun) across(i int, local outcome) outcome {
	o := d.r.Options.CrossNode
	if o.Foreign == nil && d.r.Options.Search == nil {
		return local
	}
	d.units, d.members, d.seen = d.units[:0], d.members[:0], d.seen[:0]
	d.collectLocal(i)
	own, units := len(d.members), len(d.units)
	d.collectForeign(i)
	n, limit := len(d.members)-own, o.max()
	switch {
	case d.r.Options.Search != nil:
		if n > limit {
			d.members, d.units = d.members[:own], d.units[:units]
		}
		if len(d.units) == 0 {
			return local
		}
		return d.search(i)
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

// collectForeign adds the pods of other nodes that may keep the preemptor from slot i and may be victims.
func (d *dryRun) collectForeign(i int) {
	if d.r.Options.CrossNode.Foreign == nil {
		return
	}
	limit := len(d.members) + d.r.Options.CrossNode.max()
	for _, f := range d.r.Options.CrossNode.Foreign(i) {
		if len(d.members) > limit { // too many already
			return
		}
		if f.Slot != i {
			q := resident{pod: f.Pod, priority: Priority(f.Pod), start: podinfo.Start(f.Pod, d.r.Now), started: true}
			d.collect(f.Slot, &q, true)
		}
	}
}
