package mcp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podberth/podberth/tools/drain"
	"github.com/podberth/podberth/tools/report"
)

// planned is what program drain says.
type planned struct {
	Waves []struct {
		Evictions []struct {
			Pod, Owner, Node, Replacement, Note, Unit string
			Budgets                                   []string
			Homeless                                  bool
		}
	}
	Blocked []struct {
		Pod, Node, Owner, Budget, Cause, Remedy, Proof, Replacement, Note string
		WaitingHelps, Behind                                              bool
	}
	Skipped []struct{ Pod, Node, Owner, Reason string }
	Errors  []string
	Budgets []struct {
		Budget                                                           string
		ExpectedPods, DesiredHealthy, CurrentHealthy, DisruptionsAllowed int
	}
	Untried int
}

// drainAnswer is the answer of drain.
type drainAnswer struct {
	Nodes    []string     `json:"nodes"`
	Errors   []string     `json:"errors"` // with which kubectl drain would refuse to begin
	Pods     int          `json:"pods"`   // that must leave
	Leave    int          `json:"leave"`  // that can
	Waves    []waveGroup  `json:"waves"`
	Blocked  []blockGroup `json:"blocked"`
	Fixes    []drainFix   `json:"fixes"`
	Homeless []group      `json:"homeless"` // pods that leave and get no new node, by reason
	Skipped  []group      `json:"skipped"`
	// Elsewhere has pods on other nodes that leave with their groups; kubectl drain leaves them.
	Elsewhere    []elsewhere   `json:"elsewhere,omitempty"`
	Destinations []onNode      `json:"destinations"`
	EachAlone    []singleDrain `json:"eachAlone,omitempty"` // of several nodes: each drained alone, the others open
}

type waveGroup struct {
	Pods    int      `json:"pods"`
	Budgets []string `json:"budgets"`
}

type blockGroup struct {
	Budget       string   `json:"budget"`
	Owner        string   `json:"owner"`
	Pods         int      `json:"pods"`
	Examples     []string `json:"examples"`
	Nodes        []string `json:"nodes"`
	Cause        string   `json:"cause"`
	Arithmetic   string   `json:"arithmetic"`
	WaitingHelps bool     `json:"waitingHelps"`
	Remedy       string   `json:"remedy"`
	// Together says that the pods are blocked only because the nodes are drained together.
	Together bool `json:"together,omitempty"`
}

// drainFix is a proposal.
type drainFix struct {
	Text         string   `json:"text"`
	Consequences []string `json:"consequences"`
	Risk         string   `json:"risk"`
}

type elsewhere struct {
	Group    string   `json:"group"`
	Pods     int      `json:"pods"`
	Nodes    []string `json:"nodes"`
	Examples []string `json:"examples"`
}

type group struct {
	Reason   string   `json:"reason"`
	Pods     int      `json:"pods"`
	Examples []string `json:"examples"`
}

type singleDrain struct {
	Node     string   `json:"node"`
	Blocked  int      `json:"blocked"`
	Homeless int      `json:"homeless"`
	Budgets  []string `json:"budgets"` // that block
}

const (
	mostExamples = 3
	mostAlone    = 10 // nodes that are drained alone too
)

// drainNodes answers drain with the command drain.
func drainNodes(q *question, in *input) (reply, error) {
	p, err := q.drain(in.Nodes...)
	if err != nil {
		return reply{}, err
	}
	a := drainAnswer{Nodes: in.Nodes, Errors: orEmpty(p.Errors), Waves: []waveGroup{}, Blocked: []blockGroup{}, Fixes: []drainFix{}, Homeless: []group{}, Skipped: []group{}, Destinations: []onNode{}}
	on := map[string]int{}
	for _, w := range p.Waves {
		g := waveGroup{Pods: len(w.Evictions), Budgets: []string{}}
		for _, e := range w.Evictions {
			for _, b := range e.Budgets {
				if !slices.Contains(g.Budgets, b) {
					g.Budgets = append(g.Budgets, b)
				}
			}
			if e.Replacement != "" {
				on[e.Replacement]++
			}
			if e.Homeless {
				a.Homeless = grouped(a.Homeless, e.Note, e.Pod)
			}
			if e.Unit != "" && !slices.Contains(in.Nodes, e.Node) {
				a.takesAlong(e.Unit, e.Pod, e.Node)
			}
		}
		a.Leave += g.Pods
		a.Waves = append(a.Waves, g)
	}
	a.Pods = a.Leave + len(p.Blocked)
	for n, pods := range on {
		a.Destinations = append(a.Destinations, onNode{n, pods})
	}
	slices.SortFunc(a.Destinations, func(x, y onNode) int { return strings.Compare(x.Node, y.Node) })
	for _, s := range p.Skipped {
		a.Skipped = grouped(a.Skipped, s.Reason, s.Pod)
	}
	alone := map[string]bool{} // pods that are blocked when their node is drained alone
	apart := len(in.Nodes) > 1 && len(in.Nodes) <= mostAlone && (len(p.Blocked) > 0 || len(a.Homeless) > 0)
	if apart {
		for _, n := range in.Nodes {
			one, err := q.drain(n)
			if err != nil {
				return reply{}, err
			}
			s := singleDrain{Node: n, Blocked: len(one.Blocked), Budgets: []string{}}
			for _, b := range one.Blocked {
				alone[b.Pod] = true
				if b.Budget != "" && !slices.Contains(s.Budgets, b.Budget) {
					s.Budgets = append(s.Budgets, b.Budget)
				}
			}
			for _, w := range one.Waves {
				for _, e := range w.Evictions {
					if e.Homeless {
						s.Homeless++
					}
				}
			}
			a.EachAlone = append(a.EachAlone, s)
		}
	}
	a.block(p, apart, alone)
	a.propose(apart)
	return reply{a, a.lines()}, nil
}

// takesAlong notes a pod on another node that leaves because its group leaves whole.
func (a *drainAnswer) takesAlong(unit, pod, node string) {
	k := slices.IndexFunc(a.Elsewhere, func(g elsewhere) bool { return g.Group == unit })
	if k < 0 {
		k = len(a.Elsewhere)
		a.Elsewhere = append(a.Elsewhere, elsewhere{Group: unit})
	}
	g := &a.Elsewhere[k]
	if g.Pods++; len(g.Examples) < mostExamples {
		g.Examples = append(g.Examples, pod)
	}
	if !slices.Contains(g.Nodes, node) {
		g.Nodes = append(g.Nodes, node)
	}
}

// drain asks the command.
func (q *question) drain(nodes ...string) (*planned, error) {
	var p planned
	if err := q.run("drain", drain.Run, q.snapshot.in, &p, append([]string{"-time=4s", "--"}, nodes...)...); err != nil {
		return nil, err
	}
	if p.Untried > 0 {
		q.incomplete = fmt.Sprintf("nobody was asked where %d pods go", p.Untried)
	}
	return &p, nil
}

// block groups the blocked pods by budget, cause and remedy. Those that are blocked alone come first.
func (a *drainAnswer) block(p *planned, apart bool, alone map[string]bool) {
	budgets := map[string]string{}
	for _, b := range p.Budgets {
		budgets[b.Budget] = fmt.Sprintf("%d healthy of %d expected, %d needed: %d may leave", b.CurrentHealthy, b.ExpectedPods, b.DesiredHealthy, b.DisruptionsAllowed)
	}
	for _, b := range p.Blocked {
		together := apart && !alone[b.Pod]
		if together {
			b.Remedy = "drain one node after the other"
		}
		arithmetic := budgets[b.Budget]
		if b.Proof != "" {
			arithmetic = b.Proof
		}
		k := slices.IndexFunc(a.Blocked, func(g blockGroup) bool {
			return g.Budget == b.Budget && g.Owner == b.Owner && g.Cause == b.Cause && g.Remedy == b.Remedy && g.Together == together
		})
		if k < 0 {
			k = len(a.Blocked)
			a.Blocked = append(a.Blocked, blockGroup{Budget: b.Budget, Owner: b.Owner, Cause: b.Cause, Arithmetic: arithmetic, WaitingHelps: b.WaitingHelps, Remedy: b.Remedy, Together: together})
		}
		g := &a.Blocked[k]
		g.Pods++
		if len(g.Examples) < mostExamples {
			g.Examples = append(g.Examples, b.Pod)
		}
		if !slices.Contains(g.Nodes, b.Node) {
			g.Nodes = append(g.Nodes, b.Node)
		}
	}
	slices.SortStableFunc(a.Blocked, func(x, y blockGroup) int {
		switch {
		case x.Together == y.Together:
			return 0
		case y.Together:
			return -1
		}
		return 1
	})
}

// propose makes the remedies proposals, and says when the nodes must go one after the other.
func (a *drainAnswer) propose(apart bool) {
	together := 0
	for k, b := range a.Blocked {
		switch {
		case b.Together:
			together += b.Pods
			continue
		case b.WaitingHelps || b.Remedy == "":
			continue
		case b.Budget == "" && slices.ContainsFunc(a.Blocked[:k], func(x blockGroup) bool { return x.Remedy == b.Remedy }):
			continue // a pod that is blocked by its group has the remedy of the pod that a budget blocks
		}
		f := drainFix{Text: b.Remedy, Consequences: []string{}, Risk: riskOthers}
		if b.Budget != "" {
			f.Text = fmt.Sprintf("for the time of the drain: %s", b.Remedy)
			f.Consequences = append(f.Consequences, fmt.Sprintf("budget %s protects its pods less until it has its old value again: put it back after the drain", b.Budget))
		}
		if strings.Contains(b.Remedy, "--force") || strings.Contains(b.Remedy, "--disable-eviction") {
			f.Risk, f.Consequences = riskUnsafe, append(f.Consequences, "pods or their data are lost")
		}
		a.Fixes = append(a.Fixes, f)
	}
	without := 0
	for _, s := range a.EachAlone {
		without += s.Homeless
	}
	homeless := 0
	for _, g := range a.Homeless {
		homeless += g.Pods
	}
	if apart && (together > 0 || homeless > without) {
		a.Fixes = append(a.Fixes, drainFix{Text: "drain one node after the other, each open again before the next: together they leave pods without room", Consequences: []string{"it takes longer"}, Risk: riskNone})
	}
	slices.SortStableFunc(a.Fixes, func(x, y drainFix) int {
		switch {
		case (x.Risk == riskUnsafe) == (y.Risk == riskUnsafe):
			return 0
		case y.Risk == riskUnsafe:
			return -1
		}
		return 1
	})
	if len(a.Fixes) > 0 && a.Fixes[0].Risk == riskUnsafe {
		a.Fixes = []drainFix{}
	}
}

// these names the pods of a group: the first, and how many more there are.
func these(examples []string, pods int) string {
	if pods == 1 {
		return examples[0]
	}
	return fmt.Sprintf("%s and %d more", examples[0], pods-1)
}

// grouped adds a pod to the group of its reason.
func grouped(list []group, reason, pod string) []group {
	for k := range list {
		if g := &list[k]; g.Reason == reason {
			g.Pods++
			if len(g.Examples) < mostExamples {
				g.Examples = append(g.Examples, pod)
			}
			return list
		}
	}
	return append(list, group{reason, 1, []string{pod}})
}

func (a *drainAnswer) lines() []string {
	out := []string{fmt.Sprintf("%d of %s can leave, in %s; blocked: %d.", a.Leave, report.Count(a.Pods, "pod"), report.Count(len(a.Waves), "wave"), a.Pods-a.Leave)}
	for _, e := range a.Errors[:min(1, len(a.Errors))] {
		out = append(out, "kubectl drain refuses to begin: "+e)
	}
	for _, g := range a.Elsewhere {
		out = append(out, fmt.Sprintf("%s leaves whole: %s on %s too: %s. kubectl drain leaves them: evict them too.", g.Group, report.Count(g.Pods, "pod"), these(g.Nodes, len(g.Nodes)), these(g.Examples, g.Pods)))
	}
	for _, b := range a.Blocked {
		if !b.Together {
			by := ""
			if b.Budget != "" {
				by = " by budget " + b.Budget
			}
			line := fmt.Sprintf("Blocked: %s of %s%s: %s", report.Count(b.Pods, "pod"), b.Owner, by, b.Arithmetic)
			if b.WaitingHelps {
				line += "; " + b.Remedy
			}
			out = append(out, line)
		}
	}
	for _, f := range a.Fixes {
		out = append(out, "Fix: "+f.Text)
	}
	return out
}
