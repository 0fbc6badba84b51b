package preemption

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Extender is the preemption verb of a process outside the scheduler that may change the candidates.
type Extender struct {
	// Name is its URL, for errors.
	Name string
	// Ignorable is true if the failures of the extender are ignored.
	Ignorable bool
	// Process gets the candidates and returns the candidates that remain. The first extender gets them sorted by node name.
	// Process may leave out and add nodes and victims. It must not modify its arguments.
	Process func(preemptor *v1.Pod, candidates []Candidate) ([]ExtenderVictims, error)
}

// ExtenderVictims is an extender's answer about one node.
type ExtenderVictims struct {
	Node string
	// UIDs are the victims, pods of that node, the first being the most important one.
	UIDs []types.UID
	// Violations is the number of broken disruption budgets, for the choice among the candidates.
	Violations int64
}

// extend passes the candidates through the extenders. Each answer replaces the candidates; an empty answer ends the loop.
//
//  1. An error, or an answer that names an unknown node or pod, ends the attempt. An ignorable extender is skipped instead.
//  2. A node without victims ends the attempt with an error. The node of an ignorable extender is left out instead.
//
// Rules P9.1 to P9.6.
func (r *Request) extend(found []Candidate) ([]Candidate, error) {
	found = byName(slices.Clone(found))
	for _, x := range r.Extenders {
		answer, err := x.Process(r.Pod, found)
		var next []Candidate
		if err == nil {
			next, err = r.resolve(x.Name, answer)
		}
		if err != nil {
			if x.Ignorable {
				continue
			}
			return nil, err
		}
		for _, c := range next {
			if len(c.Victims) == 0 && !x.Ignorable {
				return nil, noVictimError(c.Node)
			}
		}
		found = byName(slices.DeleteFunc(next, func(c Candidate) bool { return len(c.Victims) == 0 }))
		if len(found) == 0 {
			break
		}
	}
	return found, nil
}

func byName(list []Candidate) []Candidate {
	slices.SortStableFunc(list, func(a, b Candidate) int { return cmp.Compare(a.Node, b.Node) })
	return list
}

// resolve finds the pods of an answer. Of several answers for one node the last counts.
func (r *Request) resolve(name string, answer []ExtenderVictims) ([]Candidate, error) {
	var out []Candidate
	for _, a := range answer {
		c := Candidate{Slot: r.slot(a.Node), Node: a.Node, Violations: a.Violations}
		if c.Slot < 0 {
			return nil, fmt.Errorf("extender: %s names node %q, which is not in the cluster", name, a.Node)
		}
		for _, uid := range a.UIDs {
			p := r.onSlot(c.Slot, uid)
			if p == nil {
				// v1.37 prints the record that holds the UID: &{UID}.
				return nil, fmt.Errorf("extender: %s claims to preempt pod (UID: &{%s}) on node: %s, but the pod is not found on that node", name, uid, a.Node)
			}
			c.Victims = append(c.Victims, Victim{Placed: Placed{p, c.Slot}})
		}
		out = slices.DeleteFunc(out, func(o Candidate) bool { return o.Slot == c.Slot })
		out = append(out, c)
	}
	return out, nil
}

func (r *Request) onSlot(i int, uid types.UID) *v1.Pod {
	for p := range r.Cluster.Pods(i) {
		if p.UID == uid {
			return p
		}
	}
	return nil
}
