package taint

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/taints/edit"
)

// disruption computes the states of the zones and makes the changes that follow from them.
func (l *nodeLifecycle) disruption(byZone map[string][]*v1.Node, now time.Time, out *lifecycleChanges) {
	states, sizes := map[string]zoneState{}, map[string]int{}
	full := 0
	for key, nodes := range byZone {
		ready, notReady := countReady(nodes)
		if ready+notReady == 0 { // the zone has only excluded nodes
			continue
		}
		states[key], sizes[key] = stateOf(ready, notReady, l.config), ready+notReady
		if states[key] == zoneFull {
			full++
		}
	}
	halt := full > 0 && full == len(states)
	entering, leaving := halt && !l.halted, l.halted && !halt
	l.halted = halt
	for _, key := range slices.Sorted(maps.Keys(l.zones)) {
		z := l.zones[key]
		change := zoneChange{At: now, Zone: key, From: z.state, To: states[key], Halted: halt}
		oldRate := z.limiter.Rate()
		switch {
		case entering:
			z.limiter.Swap(0, now)
		case !halt && (leaving || z.state != states[key]):
			z.limiter.Swap(rateOf(states[key], sizes[key], l.config), now)
		}
		z.state, change.Rate = states[key], z.limiter.Rate()
		if change.From != change.To && !(change.From == zoneInitial && change.To == zoneNormal) || change.Rate != oldRate {
			out.Zones = append(out.Zones, change)
		}
	}
	switch {
	case entering:
		l.takeBack(now, out)
	case leaving:
		for _, m := range l.nodes {
			m.heart.Probe = now
		}
	}
}

// takeBack removes the NoExecute taints of the controller from all nodes and empties the queues.
func (l *nodeLifecycle) takeBack(now time.Time, out *lifecycleChanges) {
	for _, name := range slices.Sorted(maps.Keys(l.nodes)) {
		m := l.nodes[name]
		for _, z := range l.zones {
			z.queue.Remove(name)
		}
		change := nodeChange{At: now}
		l.apply(m, edit.Health(m.node, v1.ConditionTrue), now, &change)
		l.report(out, m, change)
	}
}
