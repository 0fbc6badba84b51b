package gang

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/planning/packing"
	"github.com/podberth/podberth/podgroup"
)

// move asks package packing for moves that evict nobody.
func (e *explainer) move() {
	gates := e.m.Gates
	plan, err := packing.Pack(packing.Input{Snapshot: e.m.q.Snapshot, Pending: e.m.Members, Profile: e.m.q.Profile}, packing.Options{Steps: 5000, Stop: e.o.Stop, Groups: &gates})
	if err != nil {
		e.d.Untried = append(e.d.Untried, fmt.Sprintf("%s: %v", Move, err))
		return
	}
	s, h := e.m.q.Snapshot.Fork(), Help{Kind: Move}
	for _, a := range plan.Actions {
		if a.From == "" {
			continue
		}
		if a.To == "" {
			return
		}
		h.Pods, h.Nodes = append(h.Pods, a.Pod), append(h.Nodes, a.To)
		must.Do(s.Remove(a.Placed))
	}
	for _, a := range plan.Actions {
		if a.From != "" {
			moved := *a.Placed
			moved.Spec.NodeName = a.To
			must.Do(s.Set(&moved))
		}
	}
	if len(h.Pods) > 0 && e.helps(s, e.m.Members) {
		h.Text = fmt.Sprintf("move %s to %s", shortList(h.Pods), shortList(h.Nodes))
		e.add(h)
	}
}

// evict lets units of lower priority leave, and lets those come back that need not.
func (e *explainer) evict() {
	type unit struct {
		name string
		pods []*v1.Pod
	}
	var units []unit
	s := e.m.q.Snapshot
	for _, i := range e.m.slots {
		for pod := range s.Pods(i) {
			n, priority, grouped := podgroup.UnitOf(s, pod, e.m.Gates)
			if !grouped {
				priority = podinfo.Priority(pod)
			}
			if priority >= e.m.Tree.Root().EffectivePriority() {
				continue
			}
			name := podinfo.Name(pod)
			if n != nil {
				name = n.String()
			}
			at := slices.IndexFunc(units, func(u unit) bool { return u.name == name })
			if at < 0 {
				at = len(units)
				units = append(units, unit{name: name})
			}
			units[at].pods = append(units[at].pods, pod)
		}
	}
	without := func(gone []unit) *cluster.Snapshot {
		fork := s.Fork()
		for _, u := range gone {
			for _, pod := range u.pods {
				must.Do(fork.Remove(pod))
			}
		}
		return fork
	}
	if len(units) == 0 || !e.helps(without(units), e.m.Members) {
		return
	}
	for k, size := 0, max(1, len(units)/tries); k < len(units); {
		fewer := slices.Delete(slices.Clone(units), k, min(k+size, len(units)))
		if e.helps(without(fewer), e.m.Members) {
			units = fewer
		} else {
			k += size
		}
	}
	h := Help{Kind: Evict}
	for _, u := range units {
		h.Pods = append(h.Pods, u.name)
	}
	h.Text = "evict " + shortList(h.Pods)
	e.add(h)
}
