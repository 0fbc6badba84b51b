package podgroup

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit/situation"
	"github.com/podberth/podberth/placement"
	own "github.com/podberth/podberth/podgroup"
)

// chances goes through all ways in which random choices may end: each run takes one path.
type chances struct {
	path, width []int
	at          int
}

func (c *chances) take(n int) int {
	if c.at == len(c.path) {
		c.path, c.width = append(c.path, 0), append(c.width, n)
	}
	c.at++
	return c.path[c.at-1]
}

// next moves to the next path and reports whether there is one.
func (c *chances) next() bool {
	c.at = 0
	for k := len(c.path) - 1; k >= 0; k-- {
		if c.path[k]+1 < c.width[k] {
			c.path[k]++
			c.path, c.width = c.path[:k+1], c.width[:k+1]
			return true
		}
	}
	return false
}

// order is a random permutation.
func (c *chances) order(n int) (out []int) {
	left := make([]int, n)
	for k := range left {
		left[k] = k
	}
	for len(left) > 0 {
		k := c.take(len(left))
		out = append(out, left[k])
		left = slices.Delete(left, k, k+1)
	}
	return out
}

// world is a situation as podberth sees it.
type world struct {
	snapshot *cluster.Snapshot
	placer   *placement.Placer
	s        *situation.Situation
	o        placement.GroupOptions
}

func newWorld(s *situation.Situation) (*world, error) {
	snapshot, err := cluster.New(cluster.Objects{Nodes: s.Nodes, Pods: s.Running, PodGroups: s.Groups, CompositePodGroups: s.Composites})
	if err != nil {
		return nil, err
	}
	placer, err := placement.NewPlacer(snapshot, placement.DefaultProfile())
	if err != nil {
		return nil, err
	}
	w := &world{snapshot: snapshot, placer: placer, s: s}
	w.o = placement.GroupOptions{Gates: s.Gates, Preempt: &placement.GroupPreempt{Budgets: disruption.NewBudgets(s.Budgets, disruption.BudgetOptions{}), Now: situation.Noon}}
	w.o.Nominated = func(i int) (out []*v1.Pod) {
		for _, p := range s.Queued {
			if p.Status.NominatedNodeName == snapshot.Node(i).Name {
				out = append(out, p)
			}
		}
		return out
	}
	return w, nil
}

// decide decides on one path.
func (w *world) decide(c *chances) placement.GroupDecision {
	o := w.o
	o.Tie, o.Order = c.take, c.order
	return w.placer.DecideGroup(w.s.Queued, o)
}

// leaves are the groups of the tree of the queued pods, in the order of a decision.
func leaves(s *situation.Situation) (out []*own.Group) {
	w, err := newWorld(s)
	if err != nil {
		return nil
	}
	for _, g := range w.decide(&chances{}).Groups {
		out = append(out, g.Group)
	}
	return out
}

// try decides about the queued pods on one path.
func (w *world) try(c *chances) string {
	if w.alone() {
		return w.single(c)
	}
	return shown(w.decide(c))
}

// shown prints a decision as outcome does.
func shown(d placement.GroupDecision) string {
	var lines []string
	for _, m := range d.Members {
		line := m.Pod.Name + ": " + m.Text
		switch {
		case m.Placed():
			lines = append(lines, m.Pod.Name+" -> "+m.Node)
			continue
		case m.Dropped:
			line = m.Pod.Name + " dropped"
		case m.Code == filter.Error:
			line = m.Pod.Name + " ERR " + m.Text
		}
		if m.Nominate != "" {
			line += " @" + m.Nominate
		}
		lines = append(lines, line)
	}
	for _, g := range d.Groups {
		lines = append(lines, groupLine(g.Group.Name, g.Reason, g.Message))
	}
	var gone []string
	for _, v := range d.Victims {
		if v.Pod.DeletionTimestamp == nil {
			gone = append(gone, v.Pod.Name)
		}
	}
	slices.Sort(gone)
	return strings.Join(lines, "\n") + "\nleave: " + strings.Join(gone, " ")
}

// most is the largest number of paths.
const most = 5000

// among reports whether an outcome is one of podberth's. all has podberth's, and whole is false when there are too many to try.
func among(s *situation.Situation, outcome string) (found, whole bool, all []string, err error) {
	w, err := newWorld(s)
	if err != nil {
		return false, false, nil, err
	}
	outcome = w.oneOrder(outcome)
	c := &chances{}
	for range most {
		mine := anyOrder(w.try(c))
		if mine == anyOrder(outcome) {
			return true, true, nil, nil
		}
		if !slices.Contains(all, mine) {
			all = append(all, mine)
		}
		if !c.next() {
			return false, true, all, nil
		}
	}
	return false, false, all, nil
}

// oneOrder gives an outcome whose members disagree the text that podberth has: which member is named first depends on the random order of
// the groups of a tree.
func (w *world) oneOrder(outcome string) string {
	group, _ := own.Of(w.s.Queued[0])
	tree, err := own.TreeOf(w.snapshot, situation.Namespace, group, w.s.Gates)
	if err != nil {
		return outcome
	}
	mine := w.decide(&chances{}).Err
	if mine == nil {
		return outcome
	}
	for c := (&chances{}); ; {
		var queued, scheduled []*v1.Pod
		for _, k := range c.order(len(tree.Leaves())) {
			leaf := tree.Leaves()[k]
			for _, p := range w.s.Queued {
				if name, _ := own.Of(p); name == leaf.Name {
					queued = append(queued, p)
				}
			}
			for p := range w.snapshot.Members(leaf.Namespace, leaf.Name) {
				scheduled = append(scheduled, p)
			}
		}
		if err := own.Check(tree.Root().Spec, queued, scheduled, w.s.Gates); err != nil {
			outcome = strings.ReplaceAll(outcome, err.Error(), mine.Error())
		}
		if !c.next() {
			return outcome
		}
	}
}
