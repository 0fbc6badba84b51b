package failures

import (
	"context"
	"io"
	"math/big"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/planning/failures"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/tools/report"
)

// failureReport is the answer, in the form in which it is printed.
type failureReport struct {
	report.Head
	Summary summary `json:"summary"` // the answer in four fields
	// Pods that no node takes before any failure, by workload; they count in no scenario.
	Before    []waiting  `json:"before"`
	Scenarios []scenario `json:"scenarios"`          // the scenarios, the worst first
	Alerts    []alert    `json:"alerts"`             // what the alerts KubeCPUOvercommit and KubeMemoryOvercommit compare
	Headroom  *headroom  `json:"headroom,omitempty"` // only with --headroom: how many nodes may fail
}

type summary struct {
	Scenarios int    `json:"scenarios"`         // how many scenarios were played
	Failing   int    `json:"failing"`           // scenarios that leave a pod pending or waiting
	Worst     string `json:"worst"`             // the worst of these scenarios
	Pending   int    `json:"pending"`           // how many pods the worst scenario leaves pending or waiting
	Untried   int    `json:"untried,omitempty"` // scenarios that --steps or --time left out; absent for 0
}

type scenario struct {
	Name    string   `json:"name"`    // the node, the label and its value, or the nodes as --scenario has them
	Nodes   []string `json:"nodes"`   // the nodes that fail together
	Lost    int      `json:"lost"`    // pods on these nodes
	Placed  int      `json:"placed"`  // pods that come back on another node
	Pending int      `json:"pending"` // pods that a controller makes again and no node takes
	// Pods that a StatefulSet makes when another of its pods is ready, which does not happen.
	Waiting   int `json:"waiting"`
	Gone      int `json:"gone"`      // pods that nobody makes again
	Tied      int `json:"tied"`      // pods of DaemonSets and static pods, which leave with their node
	Foreign   int `json:"foreign"`   // pods about which another scheduler decides
	Displaced int `json:"displaced"` // pods that were preempted; they count by their fate too
	Released  int `json:"released"`  // pods that waited before the failure and have a node in the end
	// Only with --orders: the pods pending or waiting over several orders of re-creation.
	Bounds    *failures.Bounds  `json:"bounds,omitempty"`
	Groups    []failures.Group  `json:"groups"`    // pods of one workload that stay for one reason, the largest group first
	Budgets   []failures.Budget `json:"budgets"`   // disruption budgets below their minimum
	Workloads []workload        `json:"workloads"` // workloads with fewer pods than they ask for
	Left      []amount          `json:"left"`      // what the nodes that are left offer, and how much of it is asked for in the end
	Pods      []pod             `json:"pods"`      // the pods of the nodes that fail, then the displaced pods
}

type workload struct {
	failures.Workload
	BelowQuorum bool `json:"belowQuorum"` // whether fewer pods than the majority are left right after the failure
}

type amount struct {
	Resource    v1.ResourceName `json:"resource"`    // name of the resource
	Allocatable string          `json:"allocatable"` // what the nodes offer
	Requested   string          `json:"requested"`   // what their pods ask for
	Free        string          `json:"free"`        // the difference
}

type pod struct {
	Pod       string        `json:"pod"`
	Namespace string        `json:"namespace"`
	Name      string        `json:"name"`
	From      string        `json:"from"` // the node before
	Fate      failures.Fate `json:"fate"` // Placed, Pending, Waiting, Gone, Tied or Foreign
	Node      string        `json:"node"` // the node after
	// Only where another pod of the workload, which waited before, has the node in its place: NAMESPACE/NAME.
	Instead     string `json:"instead,omitempty"`
	DisplacedBy string `json:"displacedBy"` // the pod that preempted this pod, as NAMESPACE/NAME
	// Only with --until: when taint-based eviction deletes the pod after the failure, a duration.
	Leaves string `json:"leaves,omitempty"`
}

// alert is the arithmetic of the alerts KubeCPUOvercommit and KubeMemoryOvercommit.
type alert struct {
	Resource  v1.ResourceName `json:"resource"`  // "cpu" or "memory"
	Requested string          `json:"requested"` // what all pods on nodes ask for
	Rest      string          `json:"rest"`      // what the nodes offer without the largest node
	Fires     bool            `json:"fires"`     // whether "requested" is larger than "rest"
}

type headroom struct {
	Survives int               `json:"survives"`          // any so many nodes may fail, and no pod stays pending
	Found    []string          `json:"found"`             // nodes whose failure leaves a pod pending
	Pending  int               `json:"pending"`           // how many pods that failure leaves pending or waiting
	Exact    bool              `json:"exact"`             // whether no smaller set of nodes leaves a pod pending
	Played   int               `json:"played"`            // how many scenarios were played
	Limited  bool              `json:"limited"`           // whether --limit or --time ended the search
	Untried  int               `json:"untried,omitempty"` // remedies that were left out then; absent for 0
	Binding  *failures.Group   `json:"binding,omitempty"` // why a pod of that failure stays
	Remedies []failures.Remedy `json:"remedies"`          // changes that were played
}

// play plays the scenarios.
func (in *input) play(ctx context.Context, o options, stderr io.Writer) (*failureReport, error) {
	stop := o.Stop(ctx)
	played := newWorkers(o.workers, report.NewProgress(stderr, "failures", "scenarios", nil))
	played.total = len(in.scenarios)
	results, err := in.planner.Run(in.scenarios, failures.Options{Parallel: played.each, Orders: o.orders, Seed: o.seed, Until: o.until, Steps: o.Steps, Stop: stop})
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
		if !o.Tables.Shows(x.Pod.Namespace) {
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
		if o.Tables.Shows(namespaceOf(g.Pods[0])) {
			s.Groups = append(s.Groups, g)
		}
	}
	for _, b := range r.Budgets {
		if o.Tables.Shows(namespaceOf(b.Name)) {
			s.Budgets = append(s.Budgets, b)
		}
	}
	for _, w := range r.Workloads {
		if o.Tables.Shows(w.Namespace) {
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
