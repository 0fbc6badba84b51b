package consolidation

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/placement"
)

// positions say where the pods of each kind are.
type positions struct {
	kinds []*kind
	at    []map[int32]int32 // by kind: pods by slot
	memo  *engine.Memo      // of one snapshot
}

func (p *Planner) positions() positions {
	out := positions{kinds: p.kinds, memo: &engine.Memo{}}
	for _, k := range p.kinds {
		at := make(map[int32]int32, len(k.at))
		for slot, n := range k.at {
			at[slot] = n
		}
		out.at = append(out.at, at)
	}
	return out
}

// shift moves a pod of a kind from a slot to another slot; either may be nowhere. Kind -1 has no rules.
func (p positions) shift(kind, from, to int32) {
	if kind < 0 {
		return
	}
	if from != nowhere {
		if p.at[kind][from]--; p.at[kind][from] == 0 {
			delete(p.at[kind], from)
		}
	}
	if to != nowhere {
		p.at[kind][to]++
	}
}

// hold reports whether the rules of a kind hold for its pods, unless they did not hold on that node before the plan. Pods of
// removed nodes do not count. O(nodes).
func (p positions) hold(s *cluster.Snapshot, id int32) bool {
	k := p.kinds[id]
	j := k.over(s, p.memo)
	for slot := range p.at[id] {
		if !k.broken[slot] && s.Node(int(slot)) != nil && !j.holds(int(slot)) {
			return false
		}
	}
	return true
}

// keeps reports whether the rules that a move of a load concerns hold.
func (p positions) keeps(s *cluster.Snapshot, l *load) bool {
	for _, g := range l.groups {
		if int(g) < len(p.kinds) && !p.hold(s, g) {
			return false
		}
	}
	return true
}

// others is how many nodes are tried for a pod whose best node would break a rule of another pod.
const others = 64

// alternatives returns the names of the nodes that the filters allow for a pod, best score first.
func alternatives(placer *placement.Placer, s *cluster.Snapshot, pod *v1.Pod) (names []string) {
	a := placer.Prepare(pod)
	slots := a.Search(placement.Options{}).Feasible
	if len(slots) == 0 {
		return nil
	}
	_, totals, err := a.Scores(slots)
	must.Do(err)
	order := make([]int, len(slots))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(totals[b], totals[a]) })
	for _, k := range order[:min(len(order), others)] {
		names = append(names, s.Node(slots[k]).Name)
	}
	return names
}

// accepts reports whether the filters may allow a pod on a node; false is certain.
func accepts(placer *placement.Placer, pod *v1.Pod, slot int) bool {
	a := placer.Prepare(pod)
	return !a.Rejected() && !slices.ContainsFunc(a.Predicates, func(p filter.Predicate) bool { return p.Check(slot) != 0 })
}

// nominated returns a copy of a pod that the filters check on the node first; "" changes nothing.
func nominated(pod *v1.Pod, node string) *v1.Pod {
	c := *pod
	c.Status.NominatedNodeName = node
	return &c
}
