package packing

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/resources"
)

// model is the cluster as the search sees it: pods of some size on nodes with some room.
type model struct {
	items   []item
	tiers   []int32 // priorities, the highest first
	columns int
	needs   []int64 // by item, then by column
	rooms   []int64 // by slot, then by column: what the node offers to all items
	free    []int64 // by slot, then by column: what the items there leave
	slots   []int   // of nodes
	on      [][]int // items by slot
	placed  []int   // by tier

	allowed []int32 // by budget: how many more running pods may be off their nodes
	mirror  *mirror // nil: no pod has constraints on other pods
	turns   []int   // items in the order in which the plan was carried out

	queue []*v1.Pod // the pending pods as they are, with their nominations
	bonds bonds
}

// item is a running or a pending pod.
type item struct {
	pod     *v1.Pod // without node
	running *v1.Pod // as it runs; nil: a pending pod
	tier    int
	home    int // slot of the running pod; -1: a pending pod
	at      int // slot; -1: none
	stays   bool
	coupled bool    // filters look at other pods
	slots   []bool  // that filters which look at no other pod allow; nil: all
	budgets []int32 // that protect the running pod
	tries   int     // how often the pod was hard to insert
	unit    int     // of bonds.units; -1: none
	gang    int     // of bonds.gangs; -1: none
	barred  bool    // a pending pod that gets no node
}

// newModel reads the cluster and the queue. All running pods are on their nodes.
func newModel(in *Input, profile placement.Profile, queue []*v1.Pod, groups *podgroup.Gates) *model {
	m := &model{queue: queue}
	s := in.Snapshot.Fork()
	pdbs := in.budgets()
	budgets := disruption.NewBudgets(pdbs, disruption.BudgetOptions{EmptySelectorMatchesAll: true})
	for _, b := range pdbs {
		m.allowed = append(m.allowed, b.Status.DisruptionsAllowed)
	}
	for i := range s.Len() {
		if s.Node(i) == nil {
			continue
		}
		m.slots = append(m.slots, i)
		for pod := range s.Pods(i) {
			m.items = append(m.items, item{pod: unbound(pod), running: pod, home: i, at: -1, unit: -1, gang: -1, stays: in.stays(pod),
				budgets: budgets.AppendMatches(nil, pod.Namespace, pod.Labels)})
		}
	}
	for _, pod := range queue {
		m.items = append(m.items, item{pod: unbound(pod), home: -1, at: -1, unit: -1, gang: -1})
	}
	if groups != nil {
		m.bind(s, *groups)
	}
	for k := range m.items {
		m.tiers = append(m.tiers, podinfo.Priority(m.items[k].pod))
	}
	slices.SortFunc(m.tiers, func(a, b int32) int { return cmp.Compare(b, a) })
	m.tiers = slices.Compact(m.tiers)
	m.placed = make([]int, len(m.tiers))
	m.measure(s)
	m.constrain(s, profile)
	for k := range m.items { // put counts them again
		for _, b := range m.items[k].budgets {
			m.allowed[b]--
		}
	}
	for k := range m.items {
		if it := &m.items[k]; it.home >= 0 {
			m.put(k, it.home)
		}
	}
	return m
}

// unbound returns the pod as its controller would make it again.
func unbound(pod *v1.Pod) *v1.Pod {
	p := *pod
	p.Spec.NodeName, p.Status.NominatedNodeName = "", ""
	return &p
}

// measure reads what the pods ask for and what the nodes offer. s has no movable pods afterwards.
func (m *model) measure(s *cluster.Snapshot) {
	for k := range m.items {
		it := &m.items[k]
		it.tier, _ = slices.BinarySearchFunc(m.tiers, podinfo.Priority(it.pod), func(a, b int32) int { return cmp.Compare(b, a) })
	}
	if len(m.slots) == 0 {
		return
	}
	var used []resources.Vector
	probe := m.slots[0]
	for k := range m.items {
		it := &m.items[k]
		if it.home >= 0 {
			r, _ := s.PodRequests(it.running)
			used = append(used, slices.Clone(r))
			continue
		}
		before := slices.Clone(s.Requested(probe))
		must.Do(s.Assume(it.pod, probe))
		r := slices.Clone(s.Requested(probe))
		for c := range r {
			r[c] -= before.At(c)
		}
		used = append(used, r)
		must.Do(s.Remove(it.pod))
	}
	var columns []int
	for c := range s.Schema().Len() {
		if slices.ContainsFunc(used, func(r resources.Vector) bool { return r.At(c) > 0 }) {
			columns = append(columns, c)
		}
	}
	m.columns = len(columns)
	for k := range m.items {
		for _, c := range columns {
			m.needs = append(m.needs, used[k].At(c))
		}
	}
	m.on = make([][]int, s.Len())
	m.rooms = make([]int64, s.Len()*m.columns)
	for _, i := range m.slots {
		for c, column := range columns {
			m.rooms[i*m.columns+c] = s.Allocatable(i).At(column)
		}
	}
	m.free = slices.Clone(m.rooms)
	for k := range m.items {
		if it := &m.items[k]; it.home >= 0 && !it.stays {
			must.Do(s.Remove(it.running))
		}
	}
}

// constrain asks the filters that look at no other pod where each pod may go, over a cluster of the pods that stay, and finds the
// pods whose filters look at other pods.
func (m *model) constrain(s *cluster.Snapshot, profile placement.Profile) {
	plan := must.Get(placement.New(s, profile))
	repels := slices.ContainsFunc(m.items, func(it item) bool {
		a := it.pod.Spec.Affinity
		return a != nil && a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0
	})
	coupled := false
	alike := staticProfile(profile)
	known := map[string]reach{} // by what these filters read of a pod
	for k := range m.items {
		it := &m.items[k]
		if it.stays {
			continue
		}
		if it.barred {
			it.slots = make([]bool, s.Len())
			continue
		}
		text := alike.PodKey(withoutPriority(it.pod))
		r, ok := known[text]
		if !ok || text == "" {
			r = m.reach(plan.Prepare(it.pod), s.Len())
			known[text] = r
		}
		it.slots, it.coupled = r.slots, r.coupled || repels
		coupled = coupled || it.coupled
	}
	if coupled {
		m.mirror = &mirror{m: m, plan: plan, snapshot: s}
	}
}

// reach is where a pod may go by the filters that look at no other pod.
type reach struct {
	slots   []bool // nil: all
	coupled bool   // other filters look at other pods
}

// reach asks the filters of an attempt.
func (m *model) reach(a *placement.Attempt, slots int) reach {
	r := reach{slots: make([]bool, slots), coupled: a.Rejected()} // without the pods that left, a pod may miss the pod that it needs
	open := 0
	for _, i := range a.Candidates() {
		ok := true
		for _, p := range a.Predicates {
			if _, looks := p.(placement.Trialer); !looks {
				ok = ok && p.Check(i) == 0
			} else if p.Name() != plugins.NodeResourcesFit {
				r.coupled = true
			}
		}
		if r.slots[i] = ok; ok {
			open++
		}
	}
	if open == len(m.slots) {
		r.slots = nil
	}
	return r
}

// staticProfile returns the filters of a profile without NodeResourcesFit: pods of one signature are alike to all of them.
func staticProfile(p placement.Profile) placement.Profile {
	p.Scores = nil
	p.Filters = slices.DeleteFunc(slices.Clone(p.Filters), func(f *placement.Plugin) bool { return f.Name == plugins.NodeResourcesFit })
	return p
}

// withoutPriority returns the pod without what only preemption reads.
func withoutPriority(pod *v1.Pod) *v1.Pod {
	p := *pod
	p.Spec.Priority, p.Spec.PreemptionPolicy = nil, nil
	return &p
}

// need returns what an item asks for.
func (m *model) need(k int) []int64 { return m.needs[k*m.columns : (k+1)*m.columns] }

// left returns what is free on a slot.
func (m *model) left(i int) []int64 { return m.free[i*m.columns : (i+1)*m.columns] }

// put puts an item on a slot.
func (m *model) put(k, i int) {
	it := &m.items[k]
	it.at = i
	m.on[i] = append(m.on[i], k)
	m.placed[it.tier]++
	free := m.left(i)
	for c, n := range m.need(k) {
		free[c] -= n
	}
	m.disrupt(it, i, 1)
	if m.mirror != nil {
		m.mirror.put(it, i)
	}
}

// take takes an item off its slot.
func (m *model) take(k int) {
	it := &m.items[k]
	i := it.at
	m.disrupt(it, i, -1)
	it.at = -1
	at := slices.Index(m.on[i], k)
	m.on[i] = slices.Delete(m.on[i], at, at+1)
	m.placed[it.tier]--
	free := m.left(i)
	for c, n := range m.need(k) {
		free[c] += n
	}
	if m.mirror != nil {
		m.mirror.take(it)
	}
}

// disrupt counts a running pod in the budgets that protect it when it leaves its node (-1) or comes back (1).
func (m *model) disrupt(it *item, i int, n int32) {
	if it.home == i {
		for _, b := range it.budgets {
			m.allowed[b] += n
		}
	}
}

// may reports whether an item may leave its slot.
func (m *model) may(k int) bool {
	it := &m.items[k]
	if it.stays || m.whole(k) {
		return false
	}
	if it.home == it.at {
		for _, b := range it.budgets {
			if m.allowed[b] <= 0 {
				return false
			}
		}
	}
	return true
}

// fits reports whether an item has room on a slot.
func (m *model) fits(k, i int) bool {
	it := &m.items[k]
	if it.barred || it.slots != nil && !it.slots[i] {
		return false
	}
	free := m.left(i)
	for c, n := range m.need(k) {
		if n > 0 && n > free[c] {
			return false
		}
	}
	return !it.coupled || m.mirror.allows(it, i, nil)
}

// positions returns where every item is.
func (m *model) positions() []int {
	out := make([]int, len(m.items))
	m.copyTo(out)
	return out
}

// copyTo writes where every item is.
func (m *model) copyTo(out []int) {
	for k := range m.items {
		out[k] = m.items[k].at
	}
}

// restore brings every item to its position.
func (m *model) restore(at []int) {
	for k := range m.items {
		if m.items[k].at >= 0 && m.items[k].at != at[k] {
			m.take(k)
		}
	}
	for k, i := range at {
		if m.items[k].at != i {
			m.put(k, i)
		}
	}
}
