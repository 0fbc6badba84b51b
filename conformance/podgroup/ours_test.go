package podgroup

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit/situation"
	"github.com/podberth/podberth/placement"
	own "github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/scheduler/groups"
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
	chances  *chances // of the path
}

func newWorld(s *situation.Situation) (*world, error) {
	snapshot, err := s.Snapshot()
	if err != nil {
		return nil, err
	}
	for _, g := range s.Groups { // the objects that kube-scheduler reads
		err = errors.Join(err, snapshot.Set(groups.Of(apiGroup(g))))
	}
	for _, c := range s.Composites {
		err = errors.Join(err, snapshot.Set(groups.OfComposite(apiComposite(c))))
	}
	if err != nil {
		return nil, err
	}
	w := &world{snapshot: snapshot, s: s}
	if w.placer, err = placement.NewPlacer(snapshot, w.profile()); err != nil {
		return nil, err
	}
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

// profile is that of the situation. Preemption may see claims that were given back as free already, as the informer brings them.
func (w *world) profile() placement.Profile {
	p := w.s.Profile()
	for k, plugin := range p.Filters {
		if plugin.Name != plugins.DynamicResources {
			continue
		}
		mine := *plugin
		mine.WithShared = func(p placement.Profile) *placement.Plugin {
			over := *plugin.WithShared(p)
			giveBack := over.GroupPostFilter
			over.GroupPostFilter = func(f placement.GroupFailure) (placement.GroupAnswer, error) {
				a, err := giveBack(f)
				for _, c := range a.Claims.Deallocate {
					if w.chances.take(2) == 1 {
						err = errors.Join(err, w.snapshot.Set(devices.Deallocated(c)))
					}
				}
				return a, err
			}
			return &over
		}
		p.Filters[k] = &mine
	}
	return p
}

// decide decides on one path.
func (w *world) decide(c *chances) placement.GroupDecision {
	o := w.o
	o.Tie, o.Order, w.chances = c.take, c.order, c
	mark := w.snapshot.Mark()
	defer w.snapshot.Rollback(mark)
	return w.placer.DecideGroup(w.s.Queued, o)
}

// unchosen is the outcome when podberth takes the first of everything by itself, with what it keeps of placements.
func (w *world) unchosen() string {
	w.chances = &chances{}
	mark := w.snapshot.Mark()
	defer w.snapshot.Rollback(mark)
	return shown(w.s, w.placer.DecideGroup(w.s.Queued, w.o))
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
	return shown(w.s, w.decide(c))
}

// shown prints a decision as outcome does.
func shown(s *situation.Situation, d placement.GroupDecision) string {
	var lines []string
	for _, m := range d.Members {
		line := m.Pod.Name + ": " + m.Text
		switch {
		case m.Placed():
			lines = append(lines, m.Pod.Name+" -> "+m.Node+shares(s, m.Pod))
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
	return strings.Join(lines, "\n") + "\nleave: " + strings.Join(gone, " ") + given(s, func(c *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
		switch {
		case slices.Contains(d.Claims.Deallocate, c):
			return devices.Deallocated(c)
		case d.Claims.Unreserve == c:
			return devices.Unreserved(c, d.Groups[0].Group.UID)
		}
		return c
	})
}

// shares is " shared" for a pod that has a claim without allocation together with another queued pod.
func shares(s *situation.Situation, pod *v1.Pod) string {
	users := map[string]int{}
	for _, q := range s.Queued {
		for _, e := range q.Spec.ResourceClaims {
			users[*e.ResourceClaimName]++
		}
	}
	for _, e := range pod.Spec.ResourceClaims {
		for _, c := range s.Claims {
			if c.Name == *e.ResourceClaimName && c.Status.Allocation == nil && users[c.Name] > 1 {
				return " shared"
			}
		}
	}
	return ""
}

// given prints which claims have lost their allocation or a reservation. now returns a claim as it is after the cycle.
func given(s *situation.Situation, now func(*resourcev1.ResourceClaim) *resourcev1.ResourceClaim) (out string) {
	for _, c := range s.Claims {
		switch after := now(c); {
		case c.Status.Allocation != nil && after.Status.Allocation == nil:
			out += "\nfree: " + c.Name
		case len(after.Status.ReservedFor) < len(c.Status.ReservedFor):
			out += "\ngiven up: " + c.Name
		}
	}
	return out
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
	if first, taken := w.try(&chances{}), w.unchosen(); !w.alone() && first != taken {
		return false, false, nil, fmt.Errorf("the first path:\n%s\nwithout functions that choose:\n%s", first, taken)
	}
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
