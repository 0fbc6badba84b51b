package packing

import (
	"cmp"
	"math/rand/v2"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/placement"
)

// Plan is where the pods go.
type Plan struct {
	// Tiers has the pods by priority, the highest first.
	Tiers []Tier `json:"tiers"`
	// Actions are what has to happen, in order: first the evictions, then the pods that get a node. All pods that have a node and get
	// another leave before the first pod gets its node.
	Actions []Action `json:"actions"`
	// Pending are the pods that have no node in the plan, in the order of the queue; evicted pods are before the others of their priority.
	Pending []string `json:"pending"`
	// Optimal is true if no better vector of placed pods exists.
	Optimal        bool `json:"optimal"`
	DefaultOptimal bool `json:"defaultOptimal"` // whether kube-scheduler's places are the best
	// LeaveIt is true if kube-scheduler places as many pods by itself. Then there are no Actions, and Pending has the pods that
	// kube-scheduler leaves without a node.
	LeaveIt bool `json:"leaveIt"`
	// DefaultBreaks is true if kube-scheduler's preemptions break a disruption budget, which the plan never does.
	DefaultBreaks bool `json:"defaultBreaks"`
	Steps         int  `json:"steps"`   // how many steps the search took
	Refused       int  `json:"refused"` // how many pods a filter denied the node that the search had found
}

// Tier has the pods of one priority, running and pending.
type Tier struct {
	Priority int32 `json:"priority"` // the priority
	Pods     int   `json:"pods"`     // how many pods
	Before   int   `json:"before"`   // how many have a node now
	Default  int   `json:"default"`  // how many have a node after kube-scheduler has decided about the queue
	Placed   int   `json:"placed"`   // how many have a node in the plan
	Bound    int   `json:"bound"`    // how many can have a node at most, if the tiers above reach their bounds
}

// Gap returns how many more pods of the tier the bound allows.
func (t Tier) Gap() int { return max(0, t.Bound-t.Placed) }

// Action is one change. A pod with From and To moves. A pod without To is evicted. A pod without From gets its first node.
type Action struct {
	Pod      string `json:"pod"`
	Priority int32  `json:"priority"`       // the priority
	From     string `json:"from,omitempty"` // the node that the pod leaves; not there for a pending pod
	To       string `json:"to,omitempty"`   // the node that the pod gets; not there for a pod that is evicted
	// Placed is the pod as it goes to To; nil for an eviction.
	Placed *v1.Pod `json:"-"`
}

// Pack makes a plan. The errors are [cluster.ErrNoSnapshot], those of Profile.Validate, and an error for a nil or a repeated pod of Pending,
// for a profile that has Volumes or Devices, and for negative steps.
func Pack(in Input, o Options) (_ Plan, err error) {
	defer must.Catch(&err)
	profile, queue, err := in.check(o)
	if err != nil {
		return Plan{}, err
	}
	m := newModel(&in, profile, queue, o.Groups)
	before := slices.Clone(m.placed)
	standard, broken := m.play(&in, profile, o.Groups)
	evicts := m.evictsStaying(standard)
	s := &search{model: m, r: rand.New(rand.NewPCG(o.Seed, 1)), o: o, bound: m.bounds(evicts)}
	if !broken && !evicts && !m.parts(standard) && m.better(standard, m.positions()) {
		m.restore(standard)
	}
	m.anchor(in.Snapshot)
	s.run()
	p := Plan{Steps: s.steps, DefaultBreaks: broken, Actions: []Action{}, Pending: []string{}}
	at := m.carryOut(&in, profile, s.best, &p)
	for m.strip(at, s.best) { // a filter denied a member its node
		at = m.carryOut(&in, profile, s.best, &p)
	}
	if p.LeaveIt = !broken && !m.better(at, standard); p.LeaveIt {
		at = standard
	}
	values, theirs := m.values(at), m.values(standard)
	for tier, priority := range m.tiers {
		p.Tiers = append(p.Tiers, Tier{priority, m.count(tier), before[tier], theirs[tier], values[tier], s.bound[tier]})
	}
	p.Optimal, p.DefaultOptimal = slices.Compare(values, s.bound) >= 0, slices.Compare(theirs, s.bound) >= 0
	m.describe(in.Snapshot, at, &p)
	if p.LeaveIt {
		p.Actions = []Action{}
	}
	return p, nil
}

// evictsStaying reports whether kube-scheduler's outcome evicts a pod that a plan leaves where it is, such as a pod of a DaemonSet.
func (m *model) evictsStaying(at []int) bool {
	for k := range m.items {
		if m.items[k].stays && at[k] != m.items[k].home {
			return true
		}
	}
	return false
}

// values returns the number of placed pods by tier.
func (m *model) values(at []int) []int {
	out := make([]int, len(m.tiers))
	for k, i := range at {
		if i >= 0 {
			out[m.items[k].tier]++
		}
	}
	return out
}

// count returns the number of items of a tier.
func (m *model) count(tier int) (n int) {
	for k := range m.items {
		if m.items[k].tier == tier {
			n++
		}
	}
	return n
}

// better reports whether positions a place more pods than positions b.
func (m *model) better(a, b []int) bool { return slices.Compare(m.values(a), m.values(b)) > 0 }

// carryOut places the pods on a fork by the filters, notes the order, and returns where they are then. Pods whose turn has not come, such as a pod
// that needs another pod, are tried again. A pod that its node rejects goes where it can.
func (m *model) carryOut(in *Input, profile placement.Profile, want []int, p *Plan) []int {
	s := in.Snapshot.Fork()
	placer := must.Get(placement.NewPlacer(s, profile))
	at := slices.Clone(want)
	m.turns = nil
	var todo []int
	for k, i := range want {
		it := &m.items[k]
		if it.home == i {
			continue
		}
		if it.home >= 0 {
			must.Do(s.Remove(it.running))
		}
		if i >= 0 {
			at[k] = -1
			todo = append(todo, k)
		}
	}
	slices.SortStableFunc(todo, func(a, b int) int { return cmp.Compare(m.items[a].tier, m.items[b].tier) })
	place := func(k int, node string) bool {
		pod := *m.items[k].pod
		pod.Status.NominatedNodeName = node
		d := placer.Decide(&pod, placement.Options{})
		if !d.Placed() || node != "" && d.Node != node {
			return false
		}
		at[k] = d.Slot
		m.turns = append(m.turns, k)
		must.Do(placer.Assume(m.items[k].pod, d))
		return true
	}
	for _, nominate := range []bool{true, false} {
		for again := true; again; {
			again = false
			var left []int
			for _, k := range todo {
				node := ""
				if nominate {
					node = s.Node(want[k]).Name
				}
				if place(k, node) {
					again = true
				} else {
					left = append(left, k)
				}
			}
			todo = left
		}
		if nominate {
			p.Refused = len(todo)
		}
	}
	return at
}

// describe fills in the actions and the pending pods.
func (m *model) describe(s *cluster.Snapshot, at []int, p *Plan) {
	node := func(i int) string {
		if i < 0 {
			return ""
		}
		return s.Node(i).Name
	}
	order := make([]int, len(at))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(m.items[a].tier, m.items[b].tier) })
	action := func(k int) Action {
		it := &m.items[k]
		return Action{Pod: it.name(), Priority: m.tiers[it.tier], From: node(it.home), To: node(at[k])}
	}
	for _, k := range order {
		it := &m.items[k]
		if at[k] < 0 {
			p.Pending = append(p.Pending, it.name())
		}
		if it.home >= 0 && at[k] < 0 {
			p.Actions = append(p.Actions, action(k))
		}
	}
	for _, k := range m.turns {
		a := action(k)
		a.Placed = m.items[k].pod
		p.Actions = append(p.Actions, a)
	}
}
