package optimal

import (
	"cmp"
	"math"
	"slices"
	"sort"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/resources"
)

// node is the search on one node.
type node struct {
	s *Search
	p *preemption.Problem

	groups  []group
	lacks   []int64   // by tight column: what must become free
	columns []int     // of the resources that the node lacks
	after   []int64   // by position, then by tight column: what the groups from there on can free
	byFree  [][]int32 // by tight column: groups that free most first
	byValue [criteria][]int32
	classes int
	rooms   bool // the node can have room
	answer  []bool
	quorums quorums

	clauses  []clause
	pinned   int  // a group that must stay; -1: none
	needsOne bool // no set gives room in a cluster without the pods that leave
	blind    int  // the step at which a search ends that learns nothing from a set that the filters reject; 0: it learns
	gone     []preemption.Placed

	forcedFrom   []Values // of the groups from a position on that must leave; empty: not known
	forcedBreaks int64    // of all groups that must leave
	// The branch at hand.
	leave  []bool
	stays  []int // by class: decided groups that stay
	open   []int // by class: undecided groups
	forced []int // by twins: decided groups that leave; then the others leave too
	free   []int64
	seen   map[string]Values // the best values with which a state was reached
	text   []byte
}

// group is a preemption.Group with what the search reads of it.
type group struct {
	pods    []preemption.Placed
	matches [][]int32 // budgets by pod
	values  Values    // of the group alone; Violations is 0
	free    []int64   // by tight column
	breaks  int64     // pods that break a budget in every set with the group
	quorums []int32   // workloads of the pods that must keep pods
	barred  bool      // the group is in no better set
	must    bool      // the group is in every set
	class   int       // groups of a class are alike for the filters
	twins   int       // groups of equal twins are alike in all but the start; -1: of no other
}

// load reads what the first bound of a node needs. It keeps the memory of the node before. O(pods of the node x resources).
func (n *node) load(s *Search, p *preemption.Problem) {
	n.s, n.p, n.pinned, n.answer, n.clauses, n.needsOne, n.blind = s, p, -1, nil, nil, false, 0
	n.forcedFrom = n.forcedFrom[:0]
	n.quorums.forget()
	n.tight()
	n.groups = slices.Grow(n.groups[:0], len(p.Groups))[:len(p.Groups)]
	known := true
	for k := range p.Groups {
		known = n.fill(&n.groups[k], k) && known
	}
	if !known { // the resources say nothing
		n.lacks = n.lacks[:0]
		for k := range n.groups {
			n.groups[k].free = n.groups[k].free[:0]
		}
	}
	n.free = append(n.free[:0], make([]int64, len(n.lacks))...)
	n.sortGroups()
}

// fill reads group k of the problem. It reports false if the cluster does not know the requests of a pod. A group that is in no
// better set is barred, and its requests are not read.
func (n *node) fill(g *group, k int) (known bool) {
	g.pods, g.values, g.breaks, g.barred, g.free = n.p.Groups[k].Pods, noVictims, 0, false, g.free[:0]
	g.quorums = g.quorums[:0]
	for range n.columns {
		g.free = append(g.free, 0)
	}
	if n.above(g) {
		g.barred = true
		return true
	}
	if n.s.o.Quorum != nil {
		g.quorums = n.quorums.of(g.quorums, g.pods, n.s.o.Quorum)
		g.barred = !n.quorums.take(g.quorums)
		n.quorums.give(g.quorums)
		if g.barred {
			return true
		}
	}
	n.evaluate(g)
	if alone := n.alone(g); !n.s.better(&alone) {
		g.barred = true
		return true
	}
	for _, q := range g.pods {
		if q.Slot != n.p.Slot || len(n.columns) == 0 {
			continue
		}
		r, ok := n.p.Requests(q.Pod)
		if !ok {
			return false
		}
		for c, column := range n.columns {
			g.free[c] = resources.Add(g.free[c], r.At(column))
		}
	}
	return true
}

// above reports whether a pod of the group has a priority of its own that no better victim has. The priority of a unit may differ from it.
func (n *node) above(g *group) bool {
	return n.s.limit < math.MaxInt32 && slices.ContainsFunc(g.pods, func(q preemption.Placed) bool { return int64(preemption.Priority(q.Pod)) > n.s.limit })
}

// evaluate computes the values of a group alone.
func (n *node) evaluate(g *group) {
	g.values = noVictims
	for _, q := range g.pods {
		n.s.addPod(&g.values, q, n.p.Slot, n.p.Now)
	}
}

// prepare reads what the search needs beyond the first bound.
func (n *node) prepare() {
	n.classes = 0
	kinds, twins, sets := map[any]int{}, map[twin]twinSet{}, 0
	for k := range n.groups {
		g := &n.groups[k]
		if g.barred { // stays, so that nobody asks what it is like
			g.matches, g.class, g.twins = g.matches[:0], n.classes, -1
			n.classes++
			continue
		}
		n.match(g)
		g.breaks = n.alwaysBreak(k)
		g.class, g.twins = n.classOf(g, kinds, k), -1
		if g.counted() {
			continue
		}
		t := twin{g.class, g.values[HighestPriority], g.values[Cost]}
		set, ok := twins[t]
		if !ok || g.values[Start] > set.start { // not in the order of the starts: no twin of the groups before
			set.id = sets
			sets++
		}
		g.twins, set.start = set.id, g.values[Start]
		twins[t] = set
	}
	n.surrogate()
	n.leave = make([]bool, len(n.groups))
	n.stays, n.open, n.forced = make([]int, n.classes), make([]int, n.classes), make([]int, sets)
	for k := range n.groups {
		n.open[n.groups[k].class]++
	}
}

// match finds the budgets that protect the pods of a group.
func (n *node) match(g *group) {
	g.matches = g.matches[:0]
	for _, q := range g.pods {
		g.matches = append(g.matches, n.p.Matches(q.Pod))
	}
}

// surrogate adds a column that is the sum of all tight columns, each divided by what the node lacks of it. Together the columns
// need more groups than each alone. Amounts are rounded up, so that the column keeps no set out that the other columns allow.
func (n *node) surrogate() {
	const unit = 1 << 20
	columns := len(n.lacks)
	if columns < 2 {
		return
	}
	for k := range n.groups {
		g, sum := &n.groups[k], 0.0
		for c, lack := range n.lacks {
			sum += min(1, float64(g.free[c])/float64(lack))
		}
		g.free = append(g.free, int64(sum*unit)+1)
	}
	n.lacks, n.free = append(n.lacks, int64(columns)*unit), append(n.free, 0)
	n.sortGroups()
}

// sortGroups computes what the groups from each position on can free, and the orders that the bounds need. Barred groups free
// nothing and are in no order.
func (n *node) sortGroups() {
	columns := len(n.lacks)
	n.after = slices.Grow(n.after[:0], (len(n.groups)+1)*columns)[:(len(n.groups)+1)*columns]
	clear(n.after)
	for k := len(n.groups) - 1; k >= 0; k-- {
		for c := range columns {
			sum := n.after[(k+1)*columns+c]
			if !n.groups[k].barred {
				sum = resources.Add(sum, n.groups[k].free[c])
			}
			n.after[k*columns+c] = sum
		}
	}
	for len(n.byFree) < columns {
		n.byFree = append(n.byFree, nil)
	}
	for c := range columns {
		n.byFree[c] = n.sorted(n.byFree[c][:0], func(g *group) int64 { return -g.free[c] })
	}
	for _, c := range n.s.order {
		if c == PrioritySum || c == Victims || c == Cost {
			n.byValue[c] = n.sorted(n.byValue[c][:0], func(g *group) int64 { return g.values[c] })
		}
	}
}

// bar bars the groups that are in no set that is better than the best set so far, because the group alone is not better.
func (n *node) bar() {
	more := false
	for k := range n.groups {
		g := &n.groups[k]
		if g.barred {
			continue
		}
		if alone := n.alone(g); !n.s.better(&alone) || n.s.o.NeverViolate && alone[Violations] > 0 {
			g.barred, more = true, true
		}
	}
	if more {
		n.sortGroups()
	}
}

// alone returns values that no set with the group is better than.
func (n *node) alone(g *group) Values {
	v := g.values
	v[Violations] = g.breaks
	if !n.s.byPriority {
		v[Start] = math.MinInt64 // a victim of a higher priority replaces the start
	}
	return v
}

// sorted appends the groups with the smallest value first.
func (n *node) sorted(list []int32, value func(g *group) int64) []int32 {
	for k := range n.groups {
		if !n.groups[k].barred {
			list = append(list, int32(k))
		}
	}
	slices.SortFunc(list, func(a, b int32) int { return cmp.Compare(value(&n.groups[a]), value(&n.groups[b])) })
	return list
}

// twin is what groups have in common of which the group with the latest start leaves first.
type twin struct {
	class          int
	priority, cost int64
}

type twinSet struct {
	id    int
	start int64 // of the last group
}

// counted reports whether it matters which groups like this leave: a budget protects a pod, or a workload must keep pods.
func (g *group) counted() bool {
	if len(g.quorums) > 0 {
		return true
	}
	for _, m := range g.matches {
		if len(m) > 0 {
			return true
		}
	}
	return false
}

// kindOf is what a cluster offers that knows which pods count the same.
type kindOf interface {
	PodKind(pod *v1.Pod) (kind any, terms int32)
}

// classOf returns the class of group k. Two single pods of one slot are of one class if the cluster counts them alike and they
// use no host port and no volume.
func (n *node) classOf(g *group, kinds map[any]int, k int) int {
	type place struct {
		kind any
		slot int
	}
	var id any = k
	if len(g.pods) == 1 && plain(g.pods[0].Pod) {
		if c, ok := n.p.Cluster.(kindOf); ok {
			if kind, _ := c.PodKind(g.pods[0].Pod); kind != nil {
				id = place{kind, g.pods[0].Slot}
			}
		}
	}
	if _, ok := kinds[id]; !ok {
		kinds[id] = n.classes
		n.classes++
	}
	return kinds[id]
}

// plain reports whether no filter can tell the pod from another pod of its kind.
func plain(p *v1.Pod) bool {
	if len(p.Spec.ResourceClaims) > 0 {
		return false
	}
	for k := range p.Spec.Volumes {
		switch v := &p.Spec.Volumes[k]; {
		case v.ConfigMap != nil, v.Secret != nil, v.Projected != nil, v.EmptyDir != nil, v.DownwardAPI != nil, v.HostPath != nil:
		default:
			return false
		}
	}
	for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for k := range list {
			for m := range list[k].Ports {
				if list[k].Ports[m].HostPort != 0 {
					return false
				}
			}
		}
	}
	return true
}

// without is the optional method of a WhatIf that says what the filters answer if the pods of the slot ask for less.
type without interface {
	Without(i int, left []int64) preemption.Answer
}

// tight finds the columns of which the node has too little room, and what must become free of each (lacks).
func (n *node) tight() {
	n.columns, n.lacks, n.rooms = n.columns[:0], n.lacks[:0], true
	w, ok := n.p.WhatIf.(without)
	c, rows := n.p.Cluster.(interface {
		Requested(i int) resources.Vector
		Allocatable(i int) resources.Vector
	})
	if !ok || !rows {
		return
	}
	used, offered := c.Requested(n.p.Slot), c.Allocatable(n.p.Slot)
	left := append(n.s.left[:0], used...)
	n.s.left = left
	clear(left)
	if n.rooms = w.Without(n.p.Slot, left).Verdict == 0; !n.rooms {
		return
	}
	for column, amount := range used {
		tooMuch := func(m int64) bool {
			left[column] = m
			return w.Without(n.p.Slot, left).Verdict != 0
		}
		if amount > 0 && tooMuch(amount) {
			n.columns, n.lacks = append(n.columns, column), append(n.lacks, amount-n.roomOf(column, amount, offered.At(column), tooMuch))
		}
		left[column] = 0
	}
}

// roomOf returns the most that the pods of the node may ask for of a column: less than amount, which is too much. A filter that
// subtracts the request of the preemptor from what the node offers gives each node the same difference.
func (n *node) roomOf(column int, amount, offered int64, tooMuch func(int64) bool) int64 {
	if room := offered - n.s.needs[column]; !tooMuch(room) && tooMuch(room+1) {
		return room
	}
	room := int64(sort.Search(int(amount), func(m int) bool { return tooMuch(int64(m) + 1) }))
	n.s.needs[column] = offered - room
	return room
}
