package failures

import (
	"cmp"
	"slices"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/resources"
)

// result says what the scene came to.
func (x *player) result(s Scenario) Result {
	x.exchange()
	r := Result{Scenario: s, Left: x.resourcesLeft(), Budgets: x.budgetsBelow(), Workloads: x.workloadsBelow()}
	for _, it := range x.before {
		if it.node != "" {
			r.Released++
		}
	}
	groups := newGroups(x)
	for _, it := range x.items {
		if it.fate == Gone && x.waits[it.unit] != "" && it.old.DeletionTimestamp == nil {
			it.fate = Waiting
		}
		o := Outcome{Pod: it.old, From: it.from, Fate: it.fate, Node: it.node, Instead: it.instead, DisplacedBy: it.by, Group: -1}
		switch it.fate {
		case Placed:
			r.Placed++
		case Pending:
			r.Pending++
			o.Group = groups.add(it)
		case Waiting:
			r.Waiting++
			o.Group = groups.add(it)
		case Gone:
			r.Gone++
		case Tied:
			r.Tied++
		case Foreign:
			r.Foreign++
		}
		if it.by != "" {
			r.Displaced++
		}
		r.Pods = append(r.Pods, o)
	}
	r.Groups = groups.sorted(r.Pods)
	return r
}

// exchange looks for pods that waited before the failure and have a node now. A lost pod of their workload without a node counts as back on
// it, because the workload has as many pods as before. Pods of a StatefulSet have names and volumes of their own and do not count for
// each other.
func (x *player) exchange() {
	for _, w := range x.before {
		if w.node == "" || w.unit == nil || w.unit.stateful != nil {
			continue
		}
		k := slices.IndexFunc(x.of[w.unit], func(it *item) bool { return it.fate == Pending && it.pod != nil })
		if k < 0 {
			continue
		}
		it := x.of[w.unit][k]
		it.node, it.fate, it.instead = w.node, Placed, podinfo.Name(w.pod)
		w.node = ""
	}
}

// resourcesLeft sums up the nodes that are left, by resource, in the order of the schema. A resource that no node offers and no
// pod asks for is left out. The sums saturate.
func (x *player) resourcesLeft() (out []Resource) {
	schema := x.snapshot.Schema()
	offered, asked := make(resources.Vector, schema.Len()), make(resources.Vector, schema.Len())
	for i := range x.snapshot.Len() {
		offered.Add(x.snapshot.Allocatable(i))
		asked.Add(x.snapshot.Requested(i))
	}
	for c := range schema.Len() {
		if offered[c] != 0 || asked[c] != 0 {
			out = append(out, Resource{schema.Name(c), offered[c], asked[c]})
		}
	}
	return out
}

// workloadsBelow returns the workloads that lost pods and have fewer than they want, right after the failure or in the end.
func (x *player) workloadsBelow() (out []Workload) {
	for u, items := range x.of {
		if u.tied() {
			continue
		}
		w := Workload{Kind: u.kind, Namespace: u.namespace, Name: u.name, Replicas: u.want, Before: u.running, Lost: u.running}
		for _, it := range items {
			if x.lost[it.from] && it.old.DeletionTimestamp == nil {
				w.Lost--
			}
		}
		w.After = w.Lost
		for _, it := range items {
			switch {
			case it.old.DeletionTimestamp != nil:
			case x.lost[it.from] && it.node != "":
				w.After++
			case !x.lost[it.from] && it.node == "": // displaced
				w.After--
			}
		}
		if u.stateful != nil {
			w.Quorum = u.want/2 + 1
		}
		if w.Lost < w.Replicas && w.Lost < w.Before || w.After < w.Replicas && w.After < w.Before {
			out = append(out, w)
		}
	}
	slices.SortFunc(out, func(a, b Workload) int {
		return cmp.Or(cmp.Compare(a.After-a.Replicas, b.After-b.Replicas), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func nameOf(it *item) string { return podinfo.Name(it.old) }
