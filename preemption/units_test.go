package preemption_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/preemption"
)

// group is a unit as the slow form sees it.
type group struct {
	pods      []*v1.Pod
	priority  int32
	start     int64
	kind      podgroup.Kind
	foreign   bool
	violating bool
}

// slow finds victims on one node by the words of Options: with whole clusters, and lists in place of indexes.
type slow struct {
	oracle
	place map[*v1.Pod]int
}

func newSlow(t testing.TB, s situation, p *v1.Pod) slow {
	x := slow{newOracle(t, s, p), map[*v1.Pod]int{}}
	for _, q := range s.pods {
		x.place[q] = slices.IndexFunc(s.nodes, func(n *v1.Node) bool { return n.Name == q.Spec.NodeName })
	}
	return x
}

// group returns the unit of a pod; false when one of its pods must stay.
func (x slow) group(q *v1.Pod, foreign bool) (group, bool) {
	of := slices.IndexFunc(x.s.options.Units, func(u preemption.Unit) bool {
		return slices.ContainsFunc(u.Pods, func(m *v1.Pod) bool { return m.Name == q.Name })
	})
	g := group{pods: []*v1.Pod{q}, foreign: foreign}
	if of >= 0 {
		g.pods = nil
		for _, m := range x.s.options.Units[of].Pods {
			at := slices.IndexFunc(x.s.pods, func(p *v1.Pod) bool { return p.Name == m.Name })
			first := slices.IndexFunc(x.s.options.Units, func(u preemption.Unit) bool {
				return slices.ContainsFunc(u.Pods, func(n *v1.Pod) bool { return n.Name == m.Name })
			})
			if at >= 0 && first == of {
				g.pods = append(g.pods, x.s.pods[at])
			}
		}
	}
	for k, m := range g.pods {
		start := podinfo.Start(m, now).UnixNano()
		if k == 0 {
			g.priority, g.start = preemption.Priority(m), start
		}
		g.priority, g.start = max(g.priority, preemption.Priority(m)), min(g.start, start)
		if x.s.options.Eligible != nil && !x.s.options.Eligible(x.place[m], m, x.p) {
			return g, false
		}
	}
	if of >= 0 {
		if u := x.s.options.Units[of]; u.Priority != nil {
			g.priority = *u.Priority
		}
		g.kind = x.s.options.Units[of].Kind
	}
	return g, g.priority < preemption.Priority(x.p)
}

// fitsWithout reports whether the pod fits on node i when pods have left. Without CrossNode those of other nodes do not count.
func (x slow) fitsWithout(i int, all map[*v1.Pod]bool) bool {
	gone := maps.Clone(all)
	if x.s.options.CrossNode == nil {
		maps.DeleteFunc(gone, func(q *v1.Pod, _ bool) bool { return x.place[q] != i })
	}
	o := x.oracle
	o.s.pods = slices.DeleteFunc(slices.Clone(x.s.pods), func(q *v1.Pod) bool { return gone[q] })
	var stay []*v1.Pod
	for _, q := range o.s.pods {
		if x.place[q] == i {
			stay = append(stay, q)
		}
	}
	ok, _ := o.fits(i, stay)
	return ok
}

// draw takes a pod from the budgets and reports whether one of them breaks.
func (x slow) draw(left map[string]int32, p *v1.Pod) (breaks bool) {
	for _, b := range x.s.budgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		_, granted := b.Status.DisruptedPods[p.Name]
		if err == nil && !selector.Empty() && len(p.Labels) > 0 && selector.Matches(labels.Set(p.Labels)) && !granted {
			left[b.Name]--
			breaks = breaks || left[b.Name] < 0
		}
	}
	return breaks
}

func (x slow) budgets() map[string]int32 {
	left := map[string]int32{}
	for _, b := range x.s.budgets {
		left[b.Name] = b.Status.DisruptionsAllowed
	}
	return left
}

// reprieve lets groups come back in order while the pod fits, and returns those that leave.
func (x slow) reprieve(i int, order []group, gone map[*v1.Pod]bool) (leave []group) {
	for _, g := range order {
		for _, q := range g.pods {
			delete(gone, q)
		}
		if !x.fitsWithout(i, gone) {
			leave = append(leave, g)
			for _, q := range g.pods {
				gone[q] = true
			}
		}
	}
	return leave
}

// search finds the groups that leave; nil when there are none.
func (x slow) search(i int, groups []group) []group {
	if len(groups) == 0 {
		return nil
	}
	gone := map[*v1.Pod]bool{}
	for _, g := range groups {
		for _, q := range g.pods {
			gone[q] = true
		}
	}
	if !x.fitsWithout(i, gone) {
		return nil
	}
	slices.SortStableFunc(groups, func(a, b group) int {
		foreign := 0
		if a.foreign != b.foreign {
			foreign = 1
			if a.foreign {
				foreign = -1
			}
		}
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(b.kind, a.kind), cmp.Compare(len(b.pods), len(a.pods)), cmp.Compare(a.start, b.start), foreign)
	})
	left := x.budgets()
	for k := range groups {
		for _, q := range groups[k].pods {
			breaks := x.draw(left, q)
			groups[k].violating = groups[k].violating || breaks
		}
	}
	order := slices.Clone(groups)
	slices.SortStableFunc(order, func(a, b group) int {
		switch {
		case a.violating == b.violating:
			return 0
		case a.violating:
			return -1
		}
		return 1
	})
	leave := x.reprieve(i, order, gone)
	if !x.s.options.NeverViolate || !slices.ContainsFunc(leave, func(g group) bool { return g.violating }) {
		return leave
	}
	for _, ascending := range []bool{true, false} {
		left, gone, may := x.budgets(), map[*v1.Pod]bool{}, make([]bool, len(groups))
		for n := range groups {
			k := n
			if ascending {
				k = len(groups) - 1 - n
			}
			then, breaks := maps.Clone(left), false
			for _, q := range groups[k].pods {
				b := x.draw(then, q)
				breaks = breaks || b
			}
			if breaks {
				continue
			}
			left, may[k] = then, true
			for _, q := range groups[k].pods {
				gone[q] = true
			}
		}
		if !x.fitsWithout(i, gone) {
			continue
		}
		var allowed []group
		for k, g := range groups {
			if g.violating = false; may[k] {
				allowed = append(allowed, g)
			}
		}
		if leave := x.reprieve(i, allowed, gone); leave != nil {
			return leave
		}
	}
	return nil
}

// node returns the victims on node i in words; "" when there are none.
func (x slow) node(i int) string {
	collect := func(list []*v1.Pod, foreign bool, seen []group) []group {
		for _, q := range list {
			twice := slices.ContainsFunc(seen, func(g group) bool { return slices.Contains(g.pods, q) })
			if g, ok := x.group(q, foreign); ok && !twice {
				seen = append(seen, g)
			}
		}
		return seen
	}
	var here []*v1.Pod
	for _, q := range x.s.pods {
		if x.place[q] == i {
			here = append(here, q)
		}
	}
	local := collect(here, false, nil)
	leave := x.search(i, slices.Clone(local))
	if c := x.s.options.CrossNode; leave == nil && c != nil {
		var there []*v1.Pod
		for _, f := range c.Foreign(i) {
			if f.Slot != i {
				there = append(there, f.Pod)
			}
		}
		all := collect(there, true, slices.Clone(local))
		n := 0
		for _, g := range all[len(local):] {
			n += len(g.pods)
		}
		if n > 0 && n <= cmp.Or(c.Max, 50) {
			leave = x.search(i, all)
		}
	}
	return x.words(i, leave)
}

func (x slow) words(i int, leave []group) string {
	if leave == nil {
		return ""
	}
	var names []string
	foreign := 0
	for _, g := range leave {
		for _, q := range g.pods {
			names = append(names, q.Name)
			if x.place[q] != i && x.s.options.CrossNode != nil {
				foreign++
			}
		}
	}
	slices.Sort(names)
	return fmt.Sprint(names, " foreign ", foreign)
}

// Units, eligible pods, pods of other nodes and binding budgets: on every node the victims are those of the slow form.
func TestUnitsAgainstSlowForm(t *testing.T) {
	kinds := map[string]int{}
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 29))
		s, p := chance(r, seed%2 == 0)
		s.options = preemption.Options{NeverViolate: r.IntN(3) == 0}
		if r.IntN(2) == 0 {
			for range 1 + r.IntN(3) {
				u := preemption.Unit{Kind: podgroup.Kind(r.IntN(3)), Pods: []*v1.Pod{pod("nowhere", 0, "1", "").Obj()}}
				for range 1 + r.IntN(4) {
					u.Pods = append(u.Pods, s.pods[r.IntN(len(s.pods))])
				}
				if r.IntN(3) == 0 {
					u.Priority = new(int32(r.IntN(6) - 2))
				}
				slices.SortFunc(u.Pods, func(a, b *v1.Pod) int { return cmp.Compare(a.Name, b.Name) })
				u.Pods = slices.Compact(u.Pods)
				s.options.Units = append(s.options.Units, u)
			}
		}
		if r.IntN(3) == 0 {
			s.options.Eligible = func(i int, victim, preemptor *v1.Pod) bool {
				require.Same(t, p, preemptor)
				require.Equal(t, s.nodes[i].Name, victim.Spec.NodeName)
				return victim.Name[len(victim.Name)-1]%3 != 0
			}
		}
		if r.IntN(2) == 0 {
			var all []preemption.Placed
			for _, q := range s.pods {
				if r.IntN(2) == 0 {
					all = append(all, preemption.Placed{Pod: q, Slot: slices.IndexFunc(s.nodes, func(n *v1.Node) bool { return n.Name == q.Spec.NodeName })})
				}
			}
			s.options.CrossNode = &preemption.CrossNode{Foreign: func(int) []preemption.Placed { return all }, Max: r.IntN(5)}
		}
		plan, o := s.plan(t)
		d := plan.Decide(p, o)
		if d.Placed() {
			continue
		}
		rejections := plan.Prepare(p).Rejections(nil, o)
		x := newSlow(t, s, p)
		want := map[string]string{}
		for i, n := range s.nodes {
			if rejections[i] == preemption.Resolvable {
				if words := x.node(i); words != "" {
					want[n.Name] = words
				}
			}
		}
		got := map[string]string{}
		result := s.preempt(t, p)
		for _, c := range result.Candidates {
			var names []string
			violations := int64(0)
			for _, v := range c.Victims {
				names = append(names, v.Pod.Name)
				if v.Violates {
					violations++
				}
			}
			require.Equal(t, violations, c.Violations, "seed %d", seed)
			require.True(t, violations == 0 || !s.options.NeverViolate, "seed %d", seed)
			slices.Sort(names)
			got[c.Node] = fmt.Sprint(names, " foreign ", c.Foreign)
			kinds[fmt.Sprint("units ", s.options.Units != nil)]++
			kinds[fmt.Sprint("foreign ", c.Foreign > 0)]++
			kinds[fmt.Sprint("never ", s.options.NeverViolate)]++
		}
		require.Equal(t, want, got, "seed %d", seed)
		require.Equal(t, len(want) > 0, result.Outcome == preemption.Success, "seed %d", seed)
	}
	for _, kind := range []string{"units true", "foreign true", "never true"} {
		require.Greater(t, kinds[kind], 30, kind)
	}
}
