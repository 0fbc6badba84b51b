package consolidate

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/consolidation"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/report"
)

// stay is a node that stays, and why.
type stay struct {
	Node string `json:"node"`
	// The pod that holds the node or that no other node takes; empty when no pod does.
	Pod    string `json:"pod"`
	Reason string `json:"reason"` // why the node stays
}

// removal is what would happen if a node were removed besides.
type removal struct {
	stay
	Price   string   `json:"price"`   // price of the node
	Changes []string `json:"changes"` // what would have to change before its pods may move; why.pods[] goes by that
	Pods    []trial  `json:"pods"`    // the pods that would have to move, the largest first
}

type trial struct {
	Pod string `json:"pod"`
	To  string `json:"to"`  // the node that would take the pod; empty when none does
	Why string `json:"why"` // why none does
}

// fewStays is how many nodes that stay are explained without -all, those with the least to move first.
const fewStays = 40

// stays explains the nodes that the plan leaves, and the node of -why. Once stop holds it explains no more of them than the first.
func (in *input) stays(a *consolidationPlan, p *consolidation.Plan, o options, stop func() bool) error {
	if o.defragment != "" || o.freeDomains != "" || o.oneStep && len(p.Nodes) > 0 && o.why == "" {
		return nil
	}
	x, err := in.planner.Removals(p)
	if err != nil {
		return err
	}
	if o.why != "" {
		for _, n := range p.Nodes {
			if n.Node == o.why {
				a.Why = &removal{stay: stay{Node: o.why, Reason: "the plan empties the node"}, Price: in.cost(n.Price), Changes: []string{}, Pods: []trial{}}
				return nil
			}
		}
		r, err := x.Try(o.why, cause)
		if err != nil {
			return err
		}
		a.Why = &removal{stay: in.reason(r), Price: in.cost(r.Price), Changes: []string{}, Pods: []trial{}}
		if r.Held != "" {
			texts, free, err := in.freed(o.why, p)
			if err != nil {
				return err
			}
			if free != nil {
				a.Why.Changes, r = texts, free
			}
		}
		for _, t := range r.Trials {
			a.Why.Pods = append(a.Why.Pods, trial{dump.Name(t.Pod), t.To, t.Why})
		}
		return nil
	}
	nodes := x.Nodes()
	if !o.Tables.All && len(nodes) > fewStays {
		a.Unexplained = len(nodes) - fewStays
		nodes = nodes[:fewStays]
	}
	for k, n := range nodes {
		if k > 0 && stop() {
			a.Unexplained += len(nodes) - k
			break
		}
		r, err := x.Try(n, cause)
		if err != nil {
			return err
		}
		a.Stays = append(a.Stays, in.reason(r))
	}
	return nil
}

// cause returns the one thing that keeps a pod from every node.
func cause(plan *placement.Plan, c *cluster.Snapshot, pod *v1.Pod) string {
	if x := diagnose.CauseOf(plan, c, pod); x != nil {
		return x.Text
	}
	return ""
}

// reason returns why a node stays, in a few words.
func (in *input) reason(r *consolidation.Removal) stay {
	s := stay{Node: r.Node}
	stuck := r.Stuck()
	switch {
	case r.Held != "":
		s.Reason = r.Held
		if r.Pod != nil {
			s.Pod = dump.Name(r.Pod)
		}
	case stuck != nil:
		s.Pod, s.Reason = dump.Name(stuck.Pod), "no other node takes the pod: "+stuck.Why
	case r.Price == 0:
		s.Reason = "its price is 0: to remove it saves nothing"
	default:
		s.Reason = fmt.Sprintf("every pod finds another node when they move alone (%s); the search, --max-moves, a budget or a rule between pods left the node", report.Count(len(r.Trials), "pod"))
	}
	return s
}
