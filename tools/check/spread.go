package check

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/spread"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/report"
)

// spreadReport is the answer about the constraints of one pod, in the form in which it is printed.
type spreadReport struct {
	report.Head
	Pod         string       `json:"pod"`
	Namespace   string       `json:"namespace"`
	Name        string       `json:"name"`
	Constraints []constraint `json:"constraints"`     // the pod's constraints with DoNotSchedule
	Findings    []finding    `json:"findings"`        // likely mistakes in the constraints of the pod's controller
	Place       *placed      `json:"place,omitempty"` // with --place: where more pods go
	Delete      []deleted    `json:"delete"`          // with --delete: the pods to delete, in order
}

type constraint struct {
	Constraint  int        `json:"constraint"`    // the index in spec.topologySpreadConstraints
	TopologyKey string     `json:"topologyKey"`   // the label of nodes
	Selector    string     `json:"selector"`      // the selector as text
	MaxSkew     int        `json:"maxSkew"`       // maxSkew
	MinDomains  int        `json:"minDomains"`    // minDomains; 1 without
	Minimum     int        `json:"minimum"`       // the smallest number of pods of a domain; 0 with too few domains
	SetBy       []string   `json:"setBy"`         // the domains with that number
	TooFew      bool       `json:"tooFewDomains"` // whether there are fewer domains than minDomains
	Domains     []domain   `json:"domains"`       // the values of the label, sorted
	Excluded    []excluded `json:"excluded"`      // the nodes that do not count

	text string
}

type domain struct {
	Value string `json:"value"` // the value
	Pods  int    `json:"pods"`  // how many pods the selector counts there
	Nodes int    `json:"nodes"` // how many nodes count
	// How many pods like this one the constraint allows there while the other domains stay as they are; -1 for any number.
	Room int `json:"room"`
}

type excluded struct {
	Node     string   `json:"node"`
	Missing  []string `json:"missingLabels"` // the topology keys that the node lacks
	Affinity bool     `json:"nodeAffinity"`  // whether the pod's node selector or node affinity excludes the node
	Taints   bool     `json:"taints"`        // whether a taint excludes the node
}

// placed is where more pods go.
type placed struct {
	Asked  int      `json:"asked"`  // how many
	Nodes  []string `json:"nodes"`  // a node for each pod that finds one, in the order in which they must be placed
	Proven bool     `json:"proven"` // whether it is certain that no more find a node
}

// deleted is a pod to delete. Excess is by how many pods the spread is not legal then.
type deleted struct {
	Pod       string `json:"pod"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Node      string `json:"node"` // the node of the pod
	// By how many pods the fullest domain is over what is legal after that; 0 when the spread is legal.
	Excess int `json:"excess"`
}

// spread describes the constraints with DoNotSchedule of the pod, and what -place and -delete ask for.
func (in *input) spread(o options) (*spreadReport, error) {
	pod := in.asked
	hard, err := spread.CompileHard(pod, spread.Options{})
	if err != nil {
		return nil, fmt.Errorf("pod %s: spec.topologySpreadConstraints: %w", dump.Name(pod), err)
	}
	s := &spreadReport{
		Head: report.HeadOf("SpreadReport"), Pod: dump.Name(pod), Namespace: pod.Namespace, Name: pod.Name,
		Constraints: []constraint{}, Findings: []finding{}, Delete: []deleted{},
	}
	for _, group := range groups(in.objects.Pods) {
		if slices.Contains(group, pod) {
			s.Findings = append(s.Findings, in.findings(group)...)
		}
	}
	state := hard.Count(in.snapshot)
	for _, r := range state.Report() {
		s.Constraints = append(s.Constraints, constraintOf(r))
	}
	if o.place > 0 {
		if s.Place, err = in.place(state, o.place); err != nil {
			return nil, err
		}
	}
	if o.delete > 0 {
		replicas := in.replicas()
		if len(replicas) == 0 {
			return nil, errors.New("-delete: Invalid value: the pod has no controller, or none of its pods runs")
		}
		for _, r := range state.ScaleDownOrder(replicas, o.delete) {
			s.Delete = append(s.Delete, deleted{dump.Name(r.Pod), r.Pod.Namespace, r.Pod.Name, r.Pod.Spec.NodeName, r.Excess})
		}
	}
	return s, nil
}

func constraintOf(r spread.Report) constraint {
	c := constraint{
		Constraint: r.Constraint, TopologyKey: r.Key, Selector: r.Selector, MaxSkew: r.MaxSkew, MinDomains: r.MinDomains,
		Minimum: r.Minimum, SetBy: orEmpty(r.SetBy), TooFew: r.TooFew, Domains: []domain{}, Excluded: []excluded{}, text: report.Escaped(r).String(),
	}
	for _, d := range r.Domains {
		room := d.Room
		if room == math.MaxInt {
			room = -1
		}
		c.Domains = append(c.Domains, domain{d.Value, d.Pods, d.Nodes, room})
	}
	for _, e := range r.Excluded {
		c.Excluded = append(c.Excluded, excluded{e.Node, orEmpty(e.Missing), e.Affinity, e.Taints})
	}
	return c
}

// place returns the nodes of n more pods like the asked pod. A node takes as many pods as its resources and devices allow, and no
// pod if another filter rejects the pod there.
func (in *input) place(state spread.HardState, n int) (*placed, error) {
	more := in.another()
	devices := in.asksForDevices(more)
	table, err := in.plan.Table(more)
	if err != nil {
		return nil, err
	}
	slots := []int{}
	for _, row := range table {
		others := 0
		for _, r := range row.Rejections {
			if r.Plugin != plugins.PodTopologySpread {
				others++
			}
		}
		if slot, ok := in.plan.Slot(row.Node); ok && others == 0 {
			slots = append(slots, slot)
		}
	}
	slices.Sort(slots)
	room := in.room(n)
	if devices {
		if room, err = in.deviceRoom(more, slots, n); err != nil {
			return nil, err
		}
	}
	found, proven := state.Place(n, spread.PlaceOptions{Slots: slots, Room: room})
	if devices {
		if err := in.holds(more, found); err != nil {
			return nil, err
		}
	}
	p := &placed{Asked: n, Nodes: []string{}, Proven: proven}
	for _, i := range found {
		p.Nodes = append(p.Nodes, in.snapshot.Node(i).Name)
	}
	return p, nil
}

// room returns how many pods like the asked pod fit into the free resources of a node that takes one, at most n.
func (in *input) room(n int) func(slot int) int {
	schema := in.snapshot.Schema().Clone()
	each := resources.FromList(schema, overhead.Requests(in.asked, overhead.Options{}))
	return func(slot int) int {
		fit := min(int64(n), in.snapshot.Allocatable(slot).At(resources.Pods)-in.snapshot.Requested(slot).At(resources.Pods))
		for c := range schema.Len() {
			if want := each.At(c); want > 0 {
				fit = min(fit, (in.snapshot.Allocatable(slot).At(c)-in.snapshot.Requested(slot).At(c))/want)
			}
		}
		return int(fit)
	}
}

// replicas returns the running pods of the asked pod's controller.
func (in *input) replicas() (list []spread.Replica) {
	owner := ownerOf(in.asked)
	for _, p := range in.objects.Pods {
		if owner == "" || ownerOf(p) != owner || !running(p) {
			continue
		}
		if slot, ok := in.plan.Slot(p.Spec.NodeName); ok {
			list = append(list, spread.Replica{Pod: p, Slot: slot})
		}
	}
	return list
}

func (s *spreadReport) table(b *strings.Builder, layout report.Layout) {
	if len(s.Constraints) == 0 {
		report.Textf(b, "%s has no topology spread constraint with DoNotSchedule.\n", s.Pod)
	}
	for i, c := range s.Constraints {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(c.text)
	}
	if p := s.Place; p != nil {
		report.Textf(b, "\n%d of %d more pods find a node", len(p.Nodes), p.Asked)
		if !p.Proven && len(p.Nodes) < p.Asked {
			b.WriteString("; the search was cut short, so there may be room for more")
		}
		b.WriteString("\n")
		var rows [][]string
		for i, node := range p.Nodes {
			rows = append(rows, []string{fmt.Sprint(i + 1), node})
		}
		section(b, layout, []string{"POD", "NODE"}, rows)
	}
	var rows [][]string
	for i, d := range s.Delete {
		legal := "yes"
		if d.Excess > 0 {
			legal = fmt.Sprintf("no, by %d", d.Excess)
		}
		rows = append(rows, []string{fmt.Sprint(i + 1), d.Pod, d.Node, legal})
	}
	section(b, layout, []string{"DELETE", "POD", "NODE", "LEGAL AFTER"}, rows)
	writeFindings(b, layout, s.Findings)
}
