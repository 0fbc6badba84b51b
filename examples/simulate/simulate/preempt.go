package simulate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/examples/report"
	"github.com/podberth/podberth/examples/scheduler"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/preemption/optimal"
)

// The values of -preemption.
const (
	defaultPreemption = "default"
	optimalPreemption = "optimal"
)

// preemptionAnswer says who would give way, or why nobody does.
type preemptionAnswer struct {
	choice
	Message string `json:"message"`
	// Optimal is true if no better victims exist. Default is v1.36's choice. Both are there with -preemption optimal.
	Optimal *bool   `json:"optimal,omitempty"`
	Default *choice `json:"default,omitempty"`
}

// choice is a node and the pods that would give way there. The node is "" if nobody gives way.
type choice struct {
	Node       string   `json:"node"`
	Victims    []string `json:"victims"`
	Violations int64    `json:"violations"` // victims against a disruption budget
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
		fmt.Fprintf(&b, "Preemption: %s\n", p.Message)
	} else {
		against := ""
		if p.Violations > 0 {
			against = fmt.Sprintf(", %d of them against a disruption budget", p.Violations)
		}
		fmt.Fprintf(&b, "Preemption: on %s %s would give way%s.", p.Node, strings.Join(p.Victims, ", "), against)
		if p.Optimal != nil && *p.Optimal {
			b.WriteString(" No better victims exist.")
		}
		b.WriteString("\n")
	}
	if p.Default == nil || p.Node == p.Default.Node && slices.Equal(p.Victims, p.Default.Victims) {
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

// bestVictims gives every profile the search for the best victims.
func bestVictims(profiles []scheduler.Profile) error {
	for k := range profiles {
		search, err := optimal.New(optimal.Options{})
		if err != nil {
			return err
		}
		if profiles[k].Args == nil {
			profiles[k].Args = map[string]any{}
		}
		args, _ := profiles[k].Args["DefaultPreemption"].(scheduler.PreemptionArgs)
		args.Options = search.Options(args.Options)
		profiles[k].Args["DefaultPreemption"] = args
	}
	return nil
}

// askPreemption finds out which pods would give way.
func (x *simulation) askPreemption(plan *placement.Plan, pod *v1.Pod, failure *placement.Failure) (*preemptionAnswer, error) {
	o := placement.PreemptOptions{Budgets: x.w.disruptionBudgets(), Now: x.w.now}
	r := plan.Preempt(pod, failure, placement.Options{}, o)
	if x.o.preemption != optimalPreemption {
		return &preemptionAnswer{choice: choiceOf(r), Message: r.Message}, nil
	}
	search, err := optimal.New(optimal.Options{})
	if err != nil {
		return nil, err
	}
	o.Options = search.Options(preemption.Options{})
	best := plan.Preempt(pod, failure, placement.Options{}, o)
	theirs, proved := choiceOf(r), search.Proof().Optimal
	return &preemptionAnswer{choice: choiceOf(best), Message: best.Message, Optimal: &proved, Default: &theirs}, nil
}
