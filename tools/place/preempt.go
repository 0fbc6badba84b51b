package place

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/preemption/optimal"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/tools/internal/must"
	"github.com/podberth/podberth/tools/report"
)

// The values of -preemption.
const (
	defaultPreemption = "default"
	optimalPreemption = "optimal"
)

// preemptionAnswer says who would give way, or why nobody does.
type preemptionAnswer struct {
	choice
	Message string `json:"message"`           // why nobody gives way
	Optimal *bool  `json:"optimal,omitempty"` // only with "--preemption optimal": whether no better victims exist
	// Only with "--preemption optimal": what kube-scheduler would choose: "node", "victims[]", "violations".
	Default    *choice `json:"default,omitempty"`
	Comparison string  `json:"comparison,omitempty"` // only with "--preemption optimal": how the two choices differ, in words
	// Only with "--preemption optimal": nodes on which the search ended before all victims were tried; absent for 0.
	Cut int `json:"cut,omitempty"`
	// Only with "--preemption optimal": what becomes of the victims when their controllers make them again, and of pods that these
	// preempt.
	Returns []comeback `json:"returns,omitempty"`
}

// comeback is what becomes of a victim: it moves to a node, preempts pods there, starves, or is lost.
type comeback struct {
	Pod  string `json:"pod"`            // the victim, as NAMESPACE/NAME
	Fate string `json:"fate"`           // "moves", "preempts", "starves" or "lost"
	Node string `json:"node,omitempty"` // where the victim goes
}

func (c comeback) String() string {
	switch optimal.Fate(c.Fate) {
	case optimal.Moves:
		return c.Pod + " moves to " + c.Node
	case optimal.Preempts:
		return c.Pod + " preempts on " + c.Node
	case optimal.Lost:
		return c.Pod + " is lost, because it has no controller"
	}
	return c.Pod + " starves, because no node takes it"
}

// choice is a node and the pods that would give way there. The node is "" if nobody gives way.
type choice struct {
	Node       string   `json:"node"`       // the node on which pods would give way
	Victims    []string `json:"victims"`    // these pods, as NAMESPACE/NAME
	Violations int64    `json:"violations"` // how many of them against a disruption budget
}

func choiceOf(r preemption.Result) choice {
	out := choice{Node: r.Node, Victims: []string{}, Violations: r.Violations}
	for _, v := range r.Victims {
		out.Victims = append(out.Victims, key(v.Pod))
	}
	return out
}

// text says who would give way. With -preemption optimal a table compares the best victims with kube-scheduler's.
func (p *preemptionAnswer) text() string {
	var b strings.Builder
	if p.Node == "" {
		report.Textf(&b, "Preemption: %s\n", p.Message)
	} else {
		against := ""
		if p.Violations > 0 {
			against = fmt.Sprintf(", %d of them against a disruption budget", p.Violations)
		}
		report.Textf(&b, "Preemption: on %s %s would give way%s.", p.Node, strings.Join(p.Victims, ", "), against)
		if p.Optimal != nil && *p.Optimal {
			b.WriteString(" No better victims exist.")
		}
		b.WriteString("\n")
	}
	if p.Default == nil {
		return b.String()
	}
	if p.Cut > 0 {
		report.Textf(&b, "  not tried: other victims on %s; --time says how long to search.\n", report.Count(p.Cut, "node"))
	}
	for _, c := range p.Returns {
		report.Textf(&b, "  Afterwards %v.\n", c)
	}
	if p.Comparison != "" {
		report.Textf(&b, "  %s\n", p.Comparison)
	}
	if p.same() {
		return b.String()
	}
	var rows [][]string
	for _, row := range []struct {
		name string
		choice
	}{{"best", p.choice}, {"kube-scheduler's", *p.Default}} {
		rows = append(rows, []string{"  " + row.name, orNone(row.Node), strconv.Itoa(len(row.Victims)), strconv.FormatInt(row.Violations, 10), orNone(strings.Join(row.Victims, ", "))})
	}
	b.WriteString(report.Columns([]string{"  VICTIMS", "NODE", "NUMBER", "AGAINST A BUDGET", "PODS"}, rows))
	return b.String()
}

// same reports whether kube-scheduler chooses the best victims, too.
func (p *preemptionAnswer) same() bool {
	return p.Node == p.Default.Node && slices.Equal(p.Victims, p.Default.Victims)
}

// comparison says how kube-scheduler's choice differs from the best victims.
func (p *preemptionAnswer) comparison(search *optimal.Search, best, theirs preemption.Result, now time.Time) string {
	switch {
	case p.same() && p.Node == "":
		return ""
	case p.same():
		return "kube-scheduler chooses the same victims."
	case theirs.Node == "":
		return "kube-scheduler finds no victims."
	case best.Node == "" && !*p.Optimal:
		return "The search ended before it found victims."
	case best.Node == "":
		return "The pod would not fit without the victims that kube-scheduler chooses."
	}
	a, b := search.Of(best.Candidate, now), search.Of(theirs.Candidate, now)
	for _, c := range optimal.DefaultOrder() {
		switch {
		case a[c] < b[c]:
			return fmt.Sprintf("The best victims are better in: %s.", c)
		case a[c] > b[c] && *p.Optimal:
			return "The pod would not fit without the victims that kube-scheduler chooses."
		case a[c] > b[c]:
			return "The search ended before it found better victims."
		}
	}
	return "Both choices are equal in all criteria."
}

// bestVictims gives every profile the search for the best victims.
func bestVictims(profiles []scheduler.Profile) {
	for k := range profiles {
		search := must.Get(optimal.New(optimal.Options{}))
		if profiles[k].Args == nil {
			profiles[k].Args = map[string]any{}
		}
		args, _ := profiles[k].Args["DefaultPreemption"].(scheduler.PreemptionArgs)
		args.Options = search.Options(args.Options)
		profiles[k].Args["DefaultPreemption"] = args
	}
}

// askPreemption finds out which pods would give way.
func (x *simulation) askPreemption(ctx context.Context, q *asked, failure *placement.Failure) *preemptionAnswer {
	o := placement.PreemptOptions{Budgets: x.w.disruptionBudgets(), Now: x.w.now, Groups: x.w.groups}
	r := q.plan.Preempt(q.pod, failure, q.options, o)
	if x.o.preemption != optimalPreemption {
		return &preemptionAnswer{choice: choiceOf(r), Message: r.Message}
	}
	search := must.Get(optimal.New(optimal.Options{Stop: x.o.Stop(ctx)}))
	o.Options = search.Options(preemption.Options{})
	best := q.plan.Preempt(q.pod, failure, q.options, o)
	theirs, proved := choiceOf(r), search.Proof().Optimal
	answer := &preemptionAnswer{choice: choiceOf(best), Message: best.Message, Optimal: &proved, Default: &theirs, Cut: search.Proof().Cut}
	answer.Comparison = answer.comparison(search, best, r, x.w.now)
	if best.Outcome == preemption.Success {
		answer.Returns = x.returns(q.pod, q.cluster, best.Candidate, placement.PreemptOptions{Budgets: o.Budgets, Now: o.Now})
	}
	return answer
}

// returns finds out what becomes of the victims when their controllers make them again.
func (x *simulation) returns(pod *v1.Pod, c *cluster.Snapshot, candidate preemption.Candidate, o placement.PreemptOptions) (out []comeback) {
	profile := x.profile(pod)
	profile.Volumes, profile.Devices = nil, nil // the answer has its own
	back := must.Get(optimal.NewComeback(c, profile))
	for _, r := range must.Get(back.After(pod, candidate, o)) {
		out = append(out, comeback{key(r.Pod), string(r.Fate), r.Node})
	}
	return out
}
