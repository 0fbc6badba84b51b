package gang

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/gang/proof"
	"github.com/podberth/podberth/podgroup"
)

// Difference is what kube-scheduler does with a group beside what is possible.
type Difference struct {
	Answer
	// Group is the root: "podgroup/default/train".
	Group string `json:"group"`
	// Default is true if kube-scheduler places the group by itself, without preemption. Then there is no Help.
	Default bool `json:"default"`
	// Fit is how many members run or find a node before kube-scheduler gives up, in the domain that takes most.
	Fit     int    `json:"fit"`
	Members int    `json:"members"`          // members that exist
	Needed  int    `json:"needed"`           // members that are needed
	Domain  string `json:"domain,omitempty"` // the domain of the topology constraint for which this is so
	// Stuck is the first member that kube-scheduler finds no node for, and Cause its text; "" if there is none.
	Stuck string `json:"stuck,omitempty"`
	Cause string `json:"cause,omitempty"` // its text
	// States has the members that wait.
	States []Member `json:"states"`
	// Help are changes with each of which kube-scheduler places the group, the smallest first. Each was decided again.
	Help []Help `json:"help"`
	// Untried says which kinds of help were not tried to the end, and why.
	Untried []string `json:"untried,omitempty"`

	absent    string // why no placement exists
	running   int    // members that have nodes
	enough    bool   // they are enough: the members that wait come on top
	dying     int    // members without a node that are being deleted
	namesake  string // a group has the name of a composite group above it; "" if none has
	childless string // a composite group has fewer groups than it needs; "" if none has
}

// Member is what kube-scheduler did with a member.
type Member struct {
	Pod string `json:"pod"`
	// "rejected itself", "would fit but the group fails", "not tried because the group was given up before".
	State State `json:"state"`
	// Cause is the text of a rejected member.
	Cause string `json:"cause,omitempty"`
	Node  string `json:"node,omitempty"` // where it would fit
}

// State is one of three.
type State string

// The states of a member of a group that waits. kube-scheduler writes one text for all but the first.
const (
	Rejected State = "rejected itself"
	WouldFit State = "would fit but the group fails"
	NotTried State = "not tried because the group was given up before"
)

// Explain finds what kube-scheduler does with a group, whether a placement exists, and the smallest changes that help. The errors are those of
// [Find]. The cost is that of Find and of some dozens of decisions about the group.
func Explain(q proof.Question, o Options) (_ Difference, err error) {
	defer must.Catch(&err)
	e := &explainer{m: must.Get(newModel(&q)), o: o}
	e.d = Difference{Answer: must.Get(Find(q, o)), Group: e.m.Tree.Root().String(), States: []Member{}, Help: []Help{}}
	if e.d.Places == nil {
		e.d.Places = []proof.Place{} // a list in JSON
	}
	root := e.m.Tree.Root()
	if n := childless(root); n != nil {
		e.d.childless = fmt.Sprintf("%d of %s of %s exist, %d needed", len(n.Children), plural(n.Needs(), "group"), n, n.Needs())
	}
	for _, leaf := range e.m.Tree.Leaves() {
		if home := e.m.Tree.Home(leaf.Name); home.Composite != nil {
			e.d.namesake = fmt.Sprintf("%s has the name of %s, so that kube-scheduler gives it no members: make one of them again with another name", leaf, home)
		}
	}
	e.d.Needed, e.d.Members = e.needed(root), len(e.m.Members)
	for _, running := range e.m.Scheduled {
		e.d.Members += len(running)
		e.d.Fit += len(running)
	}
	e.d.running = e.d.Fit
	e.d.enough = root.Ready(func(g *podgroup.Group) int {
		n := 0
		for range q.Snapshot.Members(g.Namespace, g.Name) {
			n++
		}
		return n
	})
	for _, p := range q.Queued {
		if p.DeletionTimestamp != nil {
			e.d.dying++
		}
	}
	run := e.decide(e.m.q.Snapshot, e.m.Members, e.fullest(root))
	e.d.Default = run.Code == filter.Success
	for k := range run.Members {
		e.found = append(e.found, run.Members[k].Found != "")
		e.note(&run.Members[k])
	}
	if e.d.Outcome == None {
		e.d.absent = e.absence(e.d.Absence)
	}
	if !e.d.Default {
		e.help()
	}
	return e.d, nil
}

type explainer struct {
	m     *model
	o     Options
	d     Difference
	found []bool // by member: kube-scheduler found a node before it gave up
}

// needed counts the members that a tree needs at least, running ones included.
func (e *explainer) needed(n *podgroup.Node) int {
	if n.Group != nil {
		return n.Needs()
	}
	var all []int
	for _, child := range n.Children {
		all = append(all, e.needed(child))
	}
	slices.Sort(all)
	sum := 0
	for _, x := range all[:min(n.Needs(), len(all))] {
		sum += x
	}
	return sum
}

// neededBy is needed of the group with a text like that of [podgroup.Node.String].
func (e *explainer) neededBy(group string) int {
	for _, n := range e.m.Tree.Nodes() {
		if n.String() == group {
			return e.needed(n)
		}
	}
	return e.d.Needed
}

// childless returns the composite group that keeps a tree from ever being placed because it has fewer groups than it needs; nil if none does.
func childless(n *podgroup.Node) *podgroup.Node {
	if n.Group != nil {
		return nil
	}
	if len(n.Children) < n.Needs() {
		return n
	}
	var lost []*podgroup.Node
	for _, child := range n.Children {
		if c := childless(child); c != nil {
			lost = append(lost, c)
		}
	}
	if len(n.Children)-len(lost) < n.Needs() {
		return lost[0]
	}
	return nil
}

// fullest returns the order of domains that begins with the one that takes most members: kube-scheduler explains the first.
func (e *explainer) fullest(root *podgroup.Node) func(n int) []int {
	all, kinds := e.m.domains(root, e.m.slots), e.m.below(root)
	best, most := 0, -1
	for k, d := range all {
		sum := 0
		for _, i := range d.Slots {
			sum += e.m.most(i, kinds)
		}
		if sum > most {
			best, most = k, sum
		}
	}
	if len(all) > 0 {
		e.d.Domain = all[best].Name
	}
	return func(n int) []int {
		out := make([]int, n)
		for k := range out {
			out[k] = k
		}
		if n == len(all) && n > 0 {
			out = slices.Insert(slices.Delete(out, best, best+1), 0, best)
		}
		return out
	}
}

// decide is kube-scheduler's decision about members in a cluster.
func (e *explainer) decide(s *cluster.Snapshot, members []*v1.Pod, order func(n int) []int) placement.GroupDecision {
	placer := must.Get(placement.NewPlacer(s.Fork(), e.m.Profile))
	return placer.DecideGroup(members, placement.GroupOptions{Options: placement.Options{Nominated: e.m.q.Nominated}, Gates: e.m.Gates, Order: order})
}

// helps reports whether kube-scheduler places the group in a cluster.
func (e *explainer) helps(s *cluster.Snapshot, members []*v1.Pod) bool {
	return e.decide(s, members, nil).Code == filter.Success
}

func (e *explainer) note(m *placement.MemberOutcome) {
	x := Member{Pod: podinfo.Name(m.Pod)}
	switch {
	case m.Found != "":
		x.State, x.Node = WouldFit, m.Found
		if e.d.Stuck == "" {
			e.d.Fit++
		}
	case m.Failure != nil:
		x.State, x.Cause = Rejected, m.Failure.Text()
		if e.d.Stuck == "" {
			e.d.Stuck, e.d.Cause = x.Pod, x.Cause
		}
	default:
		x.State = NotTried
	}
	e.d.States = append(e.d.States, x)
}

// sizes orders members by what they ask for of the scarcest resource, the largest first.
func (e *explainer) sizes() []*v1.Pod {
	f := &finder{model: e.m, plan: style{column: -1}}
	at := make([]int, len(e.m.Members))
	for k := range at {
		at[k] = k
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(f.share(e.m.of[b]), f.share(e.m.of[a])) })
	var out []*v1.Pod
	for _, k := range at {
		out = append(out, e.m.Members[k])
	}
	return out
}
