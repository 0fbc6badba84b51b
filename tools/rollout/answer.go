package rollout

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/eviction/disruption"
	planner "github.com/podberth/podberth/planning/rollout"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/report"
)

// rolloutPlan is the answer, in the form in which it is printed.
type rolloutPlan struct {
	report.Head
	Summary summary            `json:"summary"`           // the answer in numbers
	Steps   []step             `json:"steps"`             // the steps in order
	Blocked []planner.Deadlock `json:"blocked"`           // why nodes cannot be drained
	Skipped []planner.Skipped  `json:"skipped"`           // the pods that stay, as "kubectl drain" leaves them
	Again   []planner.Journey  `json:"again"`             // the pods that move more than once
	Untried int                `json:"untried,omitempty"` // changes that --time or --steps left out; absent for 0
	Waiting []string           `json:"waiting"`           // pods that waited before the rollout and have no node in the end

	owners map[string]string // "Kind name" of the controller of a pod, by "namespace/name"
	waits  []waiting
}

// waiting is pods of one owner that wait before the rollout and have no node in the end.
type waiting struct {
	owner, cause string
	pods         []string
}

type summary struct {
	Pods    int `json:"pods"`    // pods of the nodes that are to leave
	Leaving int `json:"leaving"` // of these, the pods that leave
	// Of these, the pods that hang for ever: "blocked[]" has the causes; the others stay with them on the blocked nodes.
	Hanging int `json:"hanging"`
	// Of these, the pods that would get no new node, so that the plan leaves them where they are: kinds "no-room", "anti-affinity",
	// "spread", "volumes" and "order" of "blocked[]".
	Homeless  int    `json:"homeless"`
	Replaced  int    `json:"replaced"`  // nodes that are new in the end
	Blocked   int    `json:"blocked"`   // nodes that cannot be drained
	Evictions int    `json:"evictions"` // how many pods are evicted
	Again     int    `json:"again"`     // pods that move more than once
	Total     string `json:"total"`     // when the last step ends; times count from the beginning

	counted      map[string]bool // pods of deadlocks: a pod of a group may stand in several
	hangs, lacks causes          // of pods that hang, and of those that get no new node
	late         int             // pods that a time limit leaves
}

// causes says why pods stay.
type causes struct {
	first string // a pod and its cause
	all   map[string]bool
}

func (c *causes) add(pod, cause string) {
	if c.first == "" {
		c.first, c.all = pod+", "+cause, map[string]bool{}
	}
	c.all[cause] = true
}

func (c causes) String() string {
	if len(c.all) < 2 {
		return c.first
	}
	return c.first + ", and " + report.Count(len(c.all)-1, "other cause")
}

type step struct {
	// "surge": nodes come; "replace": nodes are drained and come back new; "retire": surge nodes are drained and leave; "settle":
	// pods that waited get nodes.
	Action  planner.Action `json:"action"`
	Nodes   []string       `json:"nodes"`   // the nodes of the step
	Begin   string         `json:"begin"`   // when the step begins
	Empty   string         `json:"empty"`   // when the last pod has left the nodes
	End     string         `json:"end"`     // when the last node takes pods again
	Waves   []wave         `json:"waves"`   // the waves in order; a wave begins when the wave before has ended
	Budgets []planner.Room `json:"budgets"` // the budgets of the pods that leave
	Skews   []planner.Skew `json:"skews"`   // the spread constraints of the pods that leave, at the end of the step

	begin, end time.Duration
}

type wave struct {
	Begin     string     `json:"begin"`     // when the pods are evicted
	End       string     `json:"end"`       // when the pods are gone and their replacements are ready
	Evictions []eviction `json:"evictions"` // the evictions in order
	Placed    []arrival  `json:"placed"`    // pods that waited and get a node when the wave begins

	begin time.Duration
}

type eviction struct {
	Pod         string   `json:"pod"` // NAMESPACE/NAME; a pod that the plan makes is named after the first pod
	Namespace   string   `json:"namespace"`
	Name        string   `json:"name"`
	Node        string   `json:"node"`        // the node that the pod leaves
	Budgets     []string `json:"budgets"`     // the budgets that cover the pod, as NAMESPACE/NAME
	Bypass      string   `json:"bypass"`      // why no budget is asked, such as Succeeded
	Replacement string   `json:"replacement"` // the pod that takes its place, "" when nobody makes one
	To          string   `json:"to"`          // the node of the replacement, "" when another scheduler decides
	Gone        string   `json:"gone"`        // when the pod has left
	Placed      string   `json:"placed"`      // when the replacement gets its node
	Ready       string   `json:"ready"`       // when the replacement is ready

	over time.Duration // the replacement is ready, or the pod is gone
}

type arrival struct {
	Pod   string `json:"pod"`
	To    string `json:"to"`    // the node
	Ready string `json:"ready"` // when the pod is ready

	over time.Duration
}

// shown returns a plan in the form in which it is printed. -n leaves out the pods of other namespaces.
func shown(p *planner.Plan, o options) *rolloutPlan {
	a := &rolloutPlan{
		Head:    report.HeadOf("RolloutPlan"),
		Summary: summary{counted: map[string]bool{}, Replaced: p.Replaced, Evictions: p.Evictions, Again: len(p.Again), Total: text(p.Total)},
		Steps:   []step{}, Blocked: []planner.Deadlock{}, Skipped: []planner.Skipped{}, Again: []planner.Journey{}, Untried: p.Untried, Waiting: []string{},
	}
	shows := func(pod string) bool {
		namespace, _, _ := strings.Cut(pod, "/")
		return o.Tables.Shows(namespace)
	}
	for i := range p.Steps {
		a.Steps = append(a.Steps, stepOf(&p.Steps[i], shows))
	}
	blocked := map[string]bool{}
	for _, d := range p.Blocked {
		for _, n := range d.Nodes {
			blocked[n] = true
		}
		a.Summary.hang(d)
		if shows(d.Pods[0]) {
			d.Budgets = orEmpty(d.Budgets)
			a.Blocked = append(a.Blocked, d)
		}
	}
	a.Summary.Blocked = len(blocked)
	a.Summary.Leaving = leaving(p)
	a.Summary.Pods = a.Summary.Leaving + a.Summary.Hanging + a.Summary.Homeless + a.Summary.late
	for _, s := range p.Skipped {
		if shows(s.Pod) {
			a.Skipped = append(a.Skipped, s)
		}
	}
	for _, j := range p.Again {
		if shows(j.Pod) {
			a.Again = append(a.Again, j)
		}
	}
	for _, pod := range p.Waiting {
		if shows(pod) {
			a.Waiting = append(a.Waiting, pod)
		}
	}
	return a
}

// hang counts the pods of a deadlock.
func (s *summary) hang(d planner.Deadlock) {
	count, why := &s.Hanging, &s.hangs
	switch {
	case d.Kind == planner.Late:
		count = &s.late
	case roomless(d.Kind):
		count, why = &s.Homeless, &s.lacks
	}
	if d.Kind != planner.Late {
		why.add(d.Pods[0], d.Proof)
	}
	for _, pod := range d.Pods {
		if !s.counted[pod] {
			*count++
		}
		s.counted[pod] = true
	}
}

// roomless reports whether pods of a deadlock may leave and would get no new node.
func roomless(k planner.Kind) bool {
	switch k {
	case planner.NoRoom, planner.AntiAffinity, planner.Spread, planner.Volumes, planner.WaitsForOther:
		return true
	}
	return false
}

// staying counts the pods of the blocked nodes that are to leave: those that hang, also those that have come to the node since, and those that stay
// with them.
func staying(p *planner.Plan, pods []*v1.Pod, drain disruption.DrainOptions) int {
	blocked, on, stay := map[string]bool{}, map[string][]*v1.Pod{}, map[string]bool{}
	for _, pod := range pods {
		on[pod.Spec.NodeName] = append(on[pod.Spec.NodeName], pod)
	}
	for _, d := range p.Blocked {
		for _, name := range d.Pods {
			stay[name] = true
		}
		for _, node := range d.Nodes {
			if blocked[node] {
				continue
			}
			blocked[node] = true
			s := disruption.Select(node, on[node], drain, time.Time{})
			for _, t := range slices.Concat(s.Leaving, s.Refused) {
				stay[dump.Name(t.Pod)] = true
			}
		}
	}
	return len(stay)
}

// leaving counts the pods that leave the nodes on which they are now.
func leaving(p *planner.Plan) (n int) {
	made := map[string]bool{}
	for _, s := range p.Steps {
		for _, w := range s.Waves {
			for _, m := range w.Moves {
				if !made[m.Pod] {
					n++
				}
				made[m.Replacement] = true
			}
		}
	}
	return n
}

func stepOf(s *planner.Step, shows func(pod string) bool) step {
	out := step{s.Action, s.Nodes, text(s.Begin), text(s.Empty), text(s.End), []wave{}, []planner.Room{}, s.Skews, s.Begin, s.End}
	for _, r := range s.Budgets {
		if shows(r.Budget) {
			out.Budgets = append(out.Budgets, r)
		}
	}
	for _, w := range s.Waves {
		x := wave{text(w.Begin), text(w.End), []eviction{}, []arrival{}, w.Begin}
		for _, m := range w.Moves {
			if !shows(m.Pod) {
				continue
			}
			namespace, name, _ := strings.Cut(m.Pod, "/")
			e := eviction{Pod: m.Pod, Namespace: namespace, Name: name, Node: m.From, Budgets: orEmpty(m.Budgets), Bypass: m.Bypass, Replacement: m.Replacement, To: m.To, Gone: text(m.Gone), over: max(m.Gone, m.Ready)}
			if m.Replacement != "" {
				e.Placed, e.Ready = text(m.Placed), text(m.Ready)
			}
			x.Evictions = append(x.Evictions, e)
		}
		for _, p := range w.Placed {
			if shows(p.Pod) {
				x.Placed = append(x.Placed, arrival{p.Pod, p.To, text(p.Ready), p.Ready})
			}
		}
		out.Waves = append(out.Waves, x)
	}
	return out
}

func text(d time.Duration) string { return d.String() }

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
