package preemption

import (
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// collectUnit adds unit k of Options.Units, once for each node, unless one of its pods must not be a victim.
func (d *dryRun) collectUnit(i, k int, foreign bool) {
	if slices.Contains(d.seen, k) {
		return
	}
	d.seen = append(d.seen, k)
	u := &d.r.Options.Units[k]
	from := len(d.members)
	out := unit{from: from, foreign: foreign, priority: math.MinInt32, kind: u.Kind}
	for n, p := range u.Pods {
		slot := d.slots[k][n]
		if slot < 0 {
			continue // on no node: nothing to remove
		}
		if d.r.Options.Eligible != nil && !d.r.Options.Eligible(slot, p, d.r.Pod) {
			d.members = d.members[:from]
			return
		}
		out.priority = max(out.priority, Priority(p))
		if s := podinfo.Start(p, d.r.Now); len(d.members) == from || s.Before(out.start) {
			out.start = s
		}
		d.members = append(d.members, member{Placed: Placed{p, slot}})
	}
	if u.Priority != nil {
		out.priority = *u.Priority
	}
	if out.to = len(d.members); out.to == from || out.priority >= d.priority {
		d.members = d.members[:from]
		return
	}
	d.units = append(d.units, out)
}

// findUnits finds the unit of each pod, and the slots of the units' pods.
func (d *dryRun) findUnits() {
	if len(d.r.Options.Units) == 0 {
		return
	}
	type place struct{ unit, at int }
	d.unitOf = map[podName]int{}
	where := map[podName]place{}
	for k, u := range d.r.Options.Units {
		d.slots = append(d.slots, slices.Repeat([]int{-1}, len(u.Pods)))
		for n, p := range u.Pods {
			if p == nil {
				continue
			}
			name := podName{p.Namespace, p.Name}
			if _, twice := d.unitOf[name]; !twice { // a pod belongs to the first unit that names it
				d.unitOf[name], where[name] = k, place{k, n}
			}
		}
	}
	for i := range d.r.Cluster.Len() {
		if d.r.Cluster.Node(i) == nil {
			continue
		}
		d.r.Cluster.Pods(i)(func(p *v1.Pod) bool {
			if at, ok := where[podName{p.Namespace, p.Name}]; ok {
				d.slots[at.unit][at.at] = i
			}
			return true
		})
	}
}
