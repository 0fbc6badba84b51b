package gang

import (
	"cmp"
	"errors"

	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/planning/gang/proof"
	"github.com/podberth/podberth/podgroup"
)

// Options bound the search.
type Options struct {
	// Steps bounds the members that are put on nodes; 0: 50,000.
	Steps int
	// Stop is asked every hundred steps. The search ends when Stop returns true; nil: never.
	Stop func() bool
}

// defaultSteps are the steps of a search when [Options.Steps] is 0.
const defaultSteps = 50_000

// Outcome is what is known about the place of a group.
type Outcome string

// The outcomes.
const (
	Exists  Outcome = "exists"
	None    Outcome = "none"
	Unknown Outcome = "unknown"
)

// Answer says whether a group has a place.
type Answer struct {
	Outcome Outcome `json:"outcome"` // whether a placement of the group exists: "exists", "none", "unknown"
	// Places are the members with their nodes, in an order in which the filters accept them. With Exists they are a placement; members
	// beyond those that are needed are there if they fit. Otherwise they are the most that were placed at once, without enough others.
	Places []proof.Place `json:"places"`
	// Absence is the proof; nil unless Outcome is None.
	Absence *proof.Absence `json:"absence,omitempty"`
	// Steps is how many were taken.
	Steps int `json:"steps"`
}

// Find looks for a placement of a group, or of a tree of groups. Errors are those of [proof.Question.Subject], of members that are in two domains
// already, and negative steps.
func Find(q proof.Question, o Options) (_ Answer, err error) {
	defer must.Catch(&err)
	if o.Steps < 0 {
		return Answer{}, errors.New("gang: steps: must not be negative")
	}
	m := must.Get(newModel(&q))
	f := &finder{model: m, o: o, left: cmp.Or(o.Steps, defaultSteps), on: map[int]int{}}
	a := f.answer()
	if a.Outcome == Exists && f.refused(a.Places) != nil { // amounts were not all that counts
		f = &finder{model: m, o: o, left: f.left, on: map[int]int{}}
		m.coupled = true
		a = f.answer()
		if a.Outcome == Exists {
			must.Do(f.refused(a.Places))
		}
	}
	a.Steps = cmp.Or(o.Steps, defaultSteps) - f.left
	return a, nil
}

// answer searches the domains of the root.
func (f *finder) answer() Answer {
	root := f.Tree.Root()
	domains := f.domains(root, f.slots)
	absence := &proof.Absence{Group: root.String(), Key: f.key(root), Domains: make([]proof.Domain, len(domains))}
	var open []int
	for k, d := range domains {
		if closed := f.closed(root, d); closed != nil {
			absence.Domains[k] = *closed
		} else {
			open = append(open, k)
		}
	}
	if len(f.Members) > 0 {
		for _, k := range open {
			if f.dive(domains[k]) {
				return Answer{Outcome: Exists, Places: f.finish(domains[k])}
			}
		}
	}
	cut := false
	for n, k := range open {
		if f.exhaust(domains[k], f.left/(len(open)-n)) {
			return Answer{Outcome: Exists, Places: f.finish(domains[k])}
		}
		absence.Domains[k] = proof.Domain{Name: domains[k].Name, Nodes: len(domains[k].Slots), Exhausted: true}
		cut = cut || f.cut
	}
	if cut {
		return Answer{Outcome: Unknown, Places: f.most}
	}
	return Answer{Outcome: None, Places: f.most, Absence: absence}
}

// key is the topology key of a node of the tree that counts.
func (m *model) key(n *podgroup.Node) string {
	if !m.Gates.Topology {
		return ""
	}
	return n.Key()
}
