package rollout

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
)

// This file is about groups of pods.

// decideAll decides about pods that wait, those of a tree of groups together. A pod that its group keeps from a node has a failure with the
// text of the group as its error.
func (x *run) decideAll(pods []*v1.Pod) map[*v1.Pod]placement.Decision {
	out := map[*v1.Pod]placement.Decision{}
	seen, of := make([]*v1.Pod, len(pods)), map[*v1.Pod]*v1.Pod{}
	for k, pod := range pods {
		seen[k] = x.held.Of(pod)
		of[seen[k]] = pod
	}
	o := placement.GroupOptions{}
	if x.in.Groups != nil {
		o.Gates = *x.in.Groups
	}
	for _, e := range placement.Entries(x.snapshot, seen, x.in.Groups) {
		o.Options = x.held.Options(e.Pods[0], 0)
		for _, m := range x.placer.DecideEntry(e, o) {
			m.Decision.Failure = m.Why()
			out[of[m.Pod]] = m.Decision
		}
	}
	return out
}

// tried returns a function that decides about one waiting pod after the other. The first pod of a tree of groups decides for all of them.
func (x *run) tried(waiting []*v1.Pod) func(pod *v1.Pod) placement.Decision {
	known, entries := map[*v1.Pod]placement.Decision{}, map[*v1.Pod][]*v1.Pod{}
	for _, e := range placement.Entries(x.snapshot, waiting, x.in.Groups) {
		for _, pod := range e.Pods {
			entries[pod] = e.Pods
		}
	}
	return func(pod *v1.Pod) placement.Decision {
		if _, there := known[pod]; !there {
			for p, d := range x.decideAll(entries[pod]) {
				known[p] = d
			}
		}
		return known[pod]
	}
}

// together returns the name of the group that a pod leaves with, "" for a pod that leaves alone.
func (x *run) together(it *item) string {
	if x.in.Groups == nil {
		return ""
	}
	unit, _, _ := podgroup.UnitOf(x.snapshot, it.obj, *x.in.Groups)
	if unit == nil {
		return ""
	}
	return unit.String()
}

// withGroups adds the pods on other nodes that leave with pods that leave, and to the pins those of them that must not leave.
func (x *run) withGroups(leave []*item, pins []pinned) ([]*item, []pinned) {
	units, there := map[string]bool{}, map[*item]bool{}
	for _, it := range leave {
		units[x.together(it)], there[it] = true, true
	}
	delete(units, "")
	if len(units) == 0 {
		return leave, pins
	}
	for _, name := range x.allNodes() {
		for _, it := range x.onNode[name] {
			if !there[it] && !podinfo.Finished(it.seen) && units[x.together(it)] {
				leave = append(leave, it)
				if reason := x.stays(it); reason != "" {
					pins = append(pins, pinned{it, fmt.Sprintf("%s leaves only together with pod %s: %s", x.together(it), podinfo.Name(it.obj), reason)})
				}
			}
		}
	}
	return leave, pins
}

// stays returns why a pod must not leave its node, "" if it may.
func (x *run) stays(it *item) string {
	s := disruption.Select(it.node, []*v1.Pod{it.seen}, x.o.Drain, x.clock())
	for _, t := range slices.Concat(s.Refused, s.Skipped) {
		return t.Reason
	}
	return x.o.Pinned(it.seen)
}

// allNodes returns the names of the nodes with pods, in the order of the slots.
func (x *run) allNodes() (names []string) {
	for i := range x.snapshot.Len() {
		if n := x.snapshot.Node(i); n != nil && len(x.onNode[n.Name]) > 0 {
			names = append(names, n.Name)
		}
	}
	return names
}

// whole returns the pods that may leave as far as their groups go: the pods of a group of which the Eviction API would refuse one, were all
// of them evicted now, are refused with its answer.
func (w *wave) whole(waiting []*item) []*item {
	units := map[string][]*item{}
	for _, it := range waiting {
		if name := w.together(it); name != "" {
			units[name] = append(units[name], it)
		}
	}
	return slices.DeleteFunc(slices.Clone(waiting), func(it *item) bool {
		unit := units[w.together(it)]
		if len(unit) < 2 {
			return false
		}
		if _, refused := w.refused[it]; !refused && it == unit[0] {
			w.refuseUnit(unit)
		}
		_, refused := w.refused[it]
		return refused
	})
}

func (w *wave) refuseUnit(unit []*item) {
	var list []*policyv1.PodDisruptionBudget
	if !w.o.Drain.DisableEviction {
		list = w.budgets.list
	}
	evictions := disruption.NewEvictions(list)
	for _, it := range unit {
		d := evictions.Evict(it.seen, w.o.request(it.seen), w.clock())
		if d.Allowed() {
			continue
		}
		for _, mate := range unit {
			own := d
			if mate != it {
				own.Cause = fmt.Sprintf("%s leaves whole or not at all; pod %s: %s", w.together(it), podinfo.Name(it.obj), d.Cause)
			}
			w.refused[mate] = refusal{decision: &own, unit: unit, by: it}
		}
		return
	}
}

// mates returns the departures of the pods that leave with a pod, that pod's among them.
func (w *wave) mates(all []departure, it *item) (out []departure) {
	name := w.together(it)
	for _, s := range all {
		if s.it == it || name != "" && w.together(s.it) == name {
			out = append(out, s)
		}
	}
	return out
}
