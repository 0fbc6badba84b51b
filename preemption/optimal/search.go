package optimal

import (
	"errors"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/resources"
)

// Options configure a [Search]. The zero value is the default order, without a bound on the work except Steps.
type Options struct {
	// Order are the criteria, the most important first; nil: DefaultOrder. Criteria that are not named do not count. Of two
	// nodes that are equal in all criteria the smaller name is better.
	Order []Criterion
	// Cost returns what the loss of a victim costs, for the criterion Cost; negative costs count as 0. nil: 0 for all pods.
	// Cost is called often: it should be quick, and must return the same number each time.
	Cost func(victim preemption.Placed) int64
	// NeverViolate makes disruption budgets binding: no victim breaks a budget.
	NeverViolate bool
	// Quorum returns the workload of a pod and how many pods of the workload may leave together; "" for a pod of no workload that
	// must keep pods. No set of victims has more pods of a workload than may leave. Quorum must return the same for each pod of a
	// workload, each time. nil: no workload must keep pods. Quorums makes such a function. kube-scheduler knows no quorum: its
	// victims are not kept to it, so that a search that was cut may have none.
	Quorum func(pod *v1.Pod) (workload string, leave int)
	// Steps bounds the steps of one question over all nodes: branches, and filter checks. 0 is 2,000,000.
	Steps int
	// Stop is asked every thousand steps. The search ends when Stop returns true; nil: never.
	Stop func() bool
}

const (
	defaultSteps = 2_000_000
	stopEvery    = 1000
)

// Search searches the best victims. New makes one. A Search belongs to one goroutine.
type Search struct {
	o     Options
	order []Criterion
	// byPriority is true if the start counts only between sets of the same highest priority.
	byPriority bool
	// byNumber is the length of the order before the start, if a larger number of victims comes before the start; 0 otherwise.
	byNumber int

	best  Values // of the nodes seen; noBound: none found yet
	open  Values // the smallest bound of a node whose search was cut; noBound: none was cut
	proof Proof
	now   time.Time
	steps int // left

	node  node
	limit int64 // no better victims have a pod of a higher priority
	left  resources.Vector
	top   []int64
	needs map[int]int64 // by column: what the preemptor needs beside the pods of a node
	rows  rows
	fresh bool                          // the rows follow the cluster of the request
	may   []int32                       // pods of a row that may be in better victims
	bars  map[*preemption.Placed]Values // by the first of a list: pods that must leave
}

// Proof says what a [Search] did for the last question, and why no better victims exist.
type Proof struct {
	// Optimal is true if no set of victims on any node that preemption may try is better than the result.
	Optimal bool
	// Nodes is the number of nodes that preemption tried. Excluded is the number of these nodes whose bound was not better than
	// the victims found on another node, so that no search was needed. Cut is the number of nodes on which the search ended
	// early.
	Nodes, Excluded, Cut int
	// Steps is the number of steps.
	Steps int
	// Bound is proved: no set of victims is better than Bound. With Optimal, Bound has the values of the result; every value is
	// the largest int64 if there are no victims.
	Bound Values
}

// New returns a search. It returns an error for an order with an unknown criterion or with a criterion twice, for the
// criterion [Cost] without the function, and for negative steps.
func New(o Options) (*Search, error) {
	if err := validate(o.Order); err != nil {
		return nil, err
	}
	s := &Search{o: o, order: o.Order}
	if o.Order == nil {
		s.order = DefaultOrder()
	}
	for _, c := range s.order {
		if c == Cost && o.Cost == nil {
			return nil, errors.New("cost: required, because the order has the criterion cost")
		}
	}
	if o.Steps < 0 {
		return nil, errors.New("steps: must not be negative")
	}
	start := slices.Index(s.order, Start)
	before := s.order[:max(0, start)]
	priority := slices.Contains(before, HighestPriority)
	s.byPriority = start < 0 || priority
	if priority && (slices.Contains(before, PrioritySum) || slices.Contains(before, Victims)) {
		s.byNumber = start
	}
	(*searcher)(s).Begin()
	return s, nil
}

// Options returns the options of a request with Search, Scores and Offset set: every node is tried, in the order of the names,
// and the search's criteria choose among the nodes. Result.Candidates has the nodes that were better than all nodes before
// them. The result serves any number of requests, one after the other.
func (s *Search) Options(o preemption.Options) preemption.Options {
	o.Search, o.Offset, o.Scores = (*searcher)(s), 0, nil
	for _, c := range s.order {
		o.Scores = append(o.Scores, func(candidate preemption.Candidate) int64 { return -s.Of(candidate, s.now)[c] })
	}
	return o
}

// noBound are values that are worse than those of any victims.
var noBound = func() (v Values) {
	for c := range v {
		v[c] = math.MaxInt64
	}
	return v
}()

// Proof returns what the search did for the last request.
func (s *Search) Proof() Proof {
	p := s.proof
	p.Optimal = p.Cut == 0
	p.Bound = s.best
	if Compare(s.open, s.best, s.order) < 0 {
		p.Bound = s.open
	}
	return p
}

// step counts a step and reports whether the search may go on.
func (s *Search) step() bool {
	if s.steps <= 0 {
		return false
	}
	s.steps--
	s.proof.Steps++
	if s.o.Stop != nil && s.proof.Steps%stopEvery == 1 && s.o.Stop() {
		s.steps = 0
		return false
	}
	return true
}

// searcher is the preemption.Searcher of a Search.
type searcher Search

// Begin forgets the request before.
func (r *searcher) Begin() {
	r.limit = math.MaxInt64
	r.best, r.open, r.proof, r.needs, r.fresh = noBound, noBound, Proof{}, map[int]int64{}, false
	r.bars = map[*preemption.Placed]Values{}
	if r.steps = r.o.Steps; r.steps == 0 {
		r.steps = defaultSteps
	}
}

// Exclude excludes a node on which the pods that could be in better victims do not give room, or on which pods must leave that are
// no better than the best victims so far.
func (r *searcher) Exclude(p *preemption.Problem) bool {
	s := (*Search)(r)
	if s.best == noBound || !s.barred(p) && !s.full(p) {
		return false
	}
	s.proof.Nodes++
	s.proof.Excluded++
	return true
}

// full reports whether the pods that could be in better victims do not give room. Only such nodes count of which every pod of a
// low priority may leave and no other pod.
func (s *Search) full(p *preemption.Problem) bool {
	if s.limit >= math.MaxInt32 {
		return false
	}
	w, ok := p.WhatIf.(without)
	left, certain := p.Left(int32(s.limit) + 1)
	if !ok || !certain {
		return false
	}
	if !s.fresh {
		s.fresh = true
		s.rows.follow(p.Cluster)
	}
	return w.Without(p.Slot, left).Verdict != 0 || s.beaten(p, w)
}

// Solve searches one node.
func (r *searcher) Solve(p *preemption.Problem) []bool {
	s := (*Search)(r)
	s.now = p.Now
	s.proof.Nodes++
	n := &s.node
	n.load(s, p)
	bound := n.bound(0, &noVictims)
	if !s.better(&bound) {
		s.proof.Excluded++
		return nil
	}
	across := n.across()
	needs := across && n.needsPods()
	if s.best != noBound && across && !needs && n.fits(func(int) bool { return true }) && !n.force() {
		s.proof.Excluded++
		return nil
	}
	n.prepare()
	complete := n.solve()
	if n.answer != nil && across && n.comeBack() {
		needs = true
	}
	if needs {
		complete = n.exhaust()
	}
	if !complete {
		s.proof.Cut++
		if Compare(bound, s.open, s.order) < 0 {
			s.open = bound
		}
	}
	return n.answer
}

// take notes the best values so far, and the limit that follows.
func (s *Search) take(v *Values) {
	s.best, s.limit = *v, math.MaxInt64
	bound := noVictims
	bound[HighestPriority] = noBound[HighestPriority] // every higher priority is as bad
	if !s.better(&bound) {
		s.limit = v[HighestPriority]
	}
}

// better reports whether the values are better than those of the best victims so far.
func (s *Search) better(v *Values) bool { return Compare(*v, s.best, s.order) < 0 }
