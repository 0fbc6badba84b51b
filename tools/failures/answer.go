package failures

import (
	"context"
	"io"
	"math/big"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/planning/failures"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// failureReport is the answer, in the form in which it is printed.
type failureReport struct {
	report.Head
	Summary   summary    `json:"summary"`
	Before    []waiting  `json:"before"`    // pods that no node takes before any failure
	Scenarios []scenario `json:"scenarios"` // worst first
	Alerts    []alert    `json:"alerts"`
	Headroom  *headroom  `json:"headroom,omitempty"`
}

type summary struct {
	Scenarios int    `json:"scenarios"`
	Failing   int    `json:"failing"` // scenarios that leave a pod pending or waiting
	Worst     string `json:"worst"`
	Pending   int    `json:"pending"` // pods that the worst scenario leaves pending or waiting
	// Untried are the scenarios that -steps or -time left out.
	Untried int `json:"untried,omitempty"`
}

type scenario struct {
	Name      string            `json:"name"`
	Nodes     []string          `json:"nodes"`
	Lost      int               `json:"lost"`
	Placed    int               `json:"placed"`
	Pending   int               `json:"pending"`
	Waiting   int               `json:"waiting"`
	Gone      int               `json:"gone"`
	Tied      int               `json:"tied"`
	Foreign   int               `json:"foreign"`
	Displaced int               `json:"displaced"`
	Released  int               `json:"released"`
	Bounds    *failures.Bounds  `json:"bounds,omitempty"`
	Groups    []failures.Group  `json:"groups"`
	Budgets   []failures.Budget `json:"budgets"`
	Workloads []workload        `json:"workloads"`
	Left      []amount          `json:"left"`
	Pods      []pod             `json:"pods"`
}

type workload struct {
	failures.Workload
	BelowQuorum bool `json:"belowQuorum"`
}

type amount struct {
	Resource    v1.ResourceName `json:"resource"`
	Allocatable string          `json:"allocatable"`
	Requested   string          `json:"requested"`
	Free        string          `json:"free"`
}

type pod struct {
	Pod         string        `json:"pod"`
	Namespace   string        `json:"namespace"`
	Name        string        `json:"name"`
	From        string        `json:"from"`
	Fate        failures.Fate `json:"fate"`
	Node        string        `json:"node"`
	Instead     string        `json:"instead,omitempty"`
	DisplacedBy string        `json:"displacedBy"`
	Leaves      string        `json:"leaves,omitempty"`
}

// alert is the arithmetic of the alerts KubeCPUOvercommit and KubeMemoryOvercommit.
type alert struct {
	Resource v1.ResourceName `json:"resource"`
	// Requested is what all pods on nodes ask for, Rest what the nodes without the largest one offer.
	Requested string `json:"requested"`
	Rest      string `json:"rest"`
	Fires     bool   `json:"fires"`
}

type headroom struct {
	Survives int               `json:"survives"`
	Found    []string          `json:"found"`
	Pending  int               `json:"pending"`
	Exact    bool              `json:"exact"`
	Played   int               `json:"played"`
	Limited  bool              `json:"limited"`
	Untried  int               `json:"untried,omitempty"` // remedies that -time left out
	Binding  *failures.Group   `json:"binding,omitempty"`
	Remedies []failures.Remedy `json:"remedies"`
}

// play plays the scenarios.
func (in *input) play(ctx context.Context, o options, stderr io.Writer) (*failureReport, error) {
	stop := program.Stop(ctx, o.time)
	played := newWorkers(o.workers, report.NewProgress(stderr, "failures", "scenarios", nil))
	played.total = len(in.scenarios)
	results, err := in.planner.Run(in.scenarios, failures.Options{Parallel: played.each, Orders: o.orders, Seed: o.seed, Until: o.until, Steps: o.steps, Stop: stop})
	played.progress.End()
	if err != nil {
		return nil, err
	}
	failures.Worst(results)
	total := summary{Scenarios: len(results), Untried: len(in.scenarios) - len(results)}
	a := &failureReport{Head: report.HeadOf("FailureReport"), Summary: total, Before: in.waits, Scenarios: []scenario{}, Alerts: in.alerts()}
	for i := range results {
		r := &results[i]
		if r.Stays() > 0 {
			if a.Summary.Failing++; i == 0 {
				a.Summary.Worst, a.Summary.Pending = r.Name, r.Stays()
			}
		}
		a.Scenarios = append(a.Scenarios, shown(r, o))
	}
	if o.headroom {
		searched := newWorkers(o.workers, report.NewProgress(stderr, "failures: -headroom", "scenarios", nil))
		h, err := in.planner.Headroom(failures.Search{Parallel: searched.each, Limit: orNone(o.limit), Remedies: o.remedies, Stop: stop})
		searched.progress.End()
		if err != nil {
			return nil, err
		}
		a.Headroom = &headroom{Survives: h.Survives, Found: []string{}, Exact: h.Exact, Played: h.Played, Limited: h.Limited, Untried: h.Untried, Binding: h.Binding(), Remedies: orEmpty(h.Remedies)}
		if h.Found != nil {
			a.Headroom.Found, a.Headroom.Pending = h.Found.Nodes, h.Found.Stays()
		}
	}
	return a, nil
}

// orNone returns the limit of a search for -limit: 0 is no scenario there and the default here.
func orNone(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// shown returns a result in the form in which it is printed. -n leaves out what is in other namespaces.
func shown(r *failures.Result, o options) scenario {
	s := scenario{
		Name: r.Name, Nodes: r.Nodes, Placed: r.Placed, Pending: r.Pending, Waiting: r.Waiting, Gone: r.Gone, Tied: r.Tied, Foreign: r.Foreign,
		Displaced: r.Displaced, Released: r.Released, Bounds: r.Bounds,
		Groups: []failures.Group{}, Budgets: []failures.Budget{}, Workloads: []workload{}, Left: []amount{}, Pods: []pod{},
	}
	lost := map[string]bool{}
	for _, n := range r.Nodes {
		lost[n] = true
	}
	for i := range r.Pods {
		x := &r.Pods[i]
		if lost[x.From] {
			s.Lost++
		}
		if !o.tables.Shows(x.Pod.Namespace) {
			continue
		}
		p := pod{
			Pod: x.Pod.Namespace + "/" + x.Pod.Name, Namespace: x.Pod.Namespace, Name: x.Pod.Name, From: x.From, Fate: x.Fate, Node: x.Node, Instead: x.Instead, DisplacedBy: x.DisplacedBy,
		}
		if x.Leaves != nil {
			p.Leaves = x.Leaves.String()
		}
		s.Pods = append(s.Pods, p)
	}
	for _, g := range r.Groups {
		if o.tables.Shows(namespaceOf(g.Pods[0])) {
			s.Groups = append(s.Groups, g)
		}
	}
	for _, b := range r.Budgets {
		if o.tables.Shows(namespaceOf(b.Name)) {
			s.Budgets = append(s.Budgets, b)
		}
	}
	for _, w := range r.Workloads {
		if o.tables.Shows(w.Namespace) {
			s.Workloads = append(s.Workloads, workload{w, w.BelowQuorum()})
		}
	}
	for _, x := range r.Left {
		free := new(big.Int).Sub(big.NewInt(x.Allocatable), big.NewInt(x.Requested))
		s.Left = append(s.Left, amount{x.Name, number(x.Name, x.Allocatable), number(x.Name, x.Requested), report.Amount(x.Name, free)})
	}
	return s
}

func number(name v1.ResourceName, n int64) string { return report.Amount(name, big.NewInt(n)) }

func namespaceOf(name string) string {
	for i := range name {
		if name[i] == '/' {
			return name[:i]
		}
	}
	return ""
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// alerts computes what the alerts of the usual Prometheus rules compare: the requests of all pods with what is left of the
// allocatable resources without the largest node.
func (in *input) alerts() []alert {
	out := []alert{}
	s := in.snapshot
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		column, ok := s.Schema().Column(name)
		if !ok {
			continue
		}
		var asked, offered, largest int64
		for i := range s.Len() {
			n := s.Allocatable(i).At(column)
			asked, offered, largest = resources.Add(asked, s.Requested(i).At(column)), resources.Add(offered, n), max(largest, n)
		}
		rest := offered - largest
		out = append(out, alert{name, number(name, asked), number(name, rest), asked > rest && rest > 0})
	}
	return out
}
