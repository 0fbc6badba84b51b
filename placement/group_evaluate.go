package placement

import (
	"fmt"
	"iter"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/podgroup"
)

// groupStatus is why a node of the tree is not scheduled. Nodes may share one.
type groupStatus struct {
	code    filter.Code // Success, Unschedulable or Error
	reasons []string
}

func (s *groupStatus) text() string { return podgroup.Join(s.reasons...) }

func failedStatus(reasons ...string) *groupStatus {
	return &groupStatus{filter.Unschedulable, reasons}
}

func errorStatus(text string) *groupStatus { return &groupStatus{filter.Error, []string{text}} }

// memberTrial is what a member's own attempt said.
type memberTrial struct {
	pod  *v1.Pod
	done bool // the member was tried
	d    Decision
}

// groupTrial is the result of a node of the tree.
type groupTrial struct {
	node     *podgroup.Node
	status   *groupStatus
	members  []memberTrial
	strays   []memberTrial // pods of the group that belong to a composite group of the same name: nobody tries them
	children []*groupTrial // of a composite group; those that were not evaluated have no status
	in       podgroup.Placement
	sum      *trialSum // nil: not made yet
	kept     bool      // it has a status without reasons, a placement, a sum, and the place from which the search began
	from     int
}

// trialSum is what the choice among placements reads of a trial, and how each member that was tried ended.
type trialSum struct {
	placed   int
	fullness int64 // score of the plugins
	steps    []filter.Code
	vague    bool // the steps are not known
}

// placed returns the members that found nodes, below successful groups only, in the order of the algorithm.
func (t *groupTrial) placed() []*memberTrial { return t.found(nil, false) }

// proposed returns the members that a preemption counts as placed: all that found nodes, in groups and trees that failed too.
func (t *groupTrial) proposed() []*memberTrial { return t.found(nil, true) }

func (t *groupTrial) found(out []*memberTrial, failed bool) []*memberTrial {
	if !failed && (t.status == nil || t.status.code != filter.Success) {
		return out
	}
	for k := range t.members {
		if t.members[k].done && t.members[k].d.Placed() {
			out = append(out, &t.members[k])
		}
	}
	for _, child := range t.children {
		out = child.found(out, failed)
	}
	return out
}

// root evaluates the whole tree and undoes everything.
func (r *groupRun) root() *groupTrial {
	t := r.node(r.tree.Root(), podgroup.Placement{Slots: r.p.order()})
	r.undo(0)
	if t.status.code == filter.Success && len(t.placed()) == 0 {
		t.status = failedStatus(podgroup.TextUnschedulable)
	}
	return t
}

// node evaluates a node of the tree inside a placement. Members stay assumed if the node is successful and composites are on.
func (r *groupRun) node(n *podgroup.Node, parent podgroup.Placement) *groupTrial {
	if !r.o.Gates.Topology {
		return r.leaf(n, parent)
	}
	placements, status := r.placements(n, parent)
	if status != nil {
		return r.untried(n, status)
	}
	return r.choose(n, placements)
}

// leaf tries the members of a group, one after the other, on the nodes of a placement.
func (r *groupRun) leaf(n *podgroup.Node, in podgroup.Placement) *groupTrial {
	t := r.untried(n, nil)
	within := r.restriction(in)
	r.gather(t, podgroup.Quorum{Minimum: n.Needs(), Scheduled: r.scheduled(n), Remaining: len(t.members)}, func(k int) (placed bool, failure string) {
		m := &t.members[k]
		m.d, m.done = r.place(m.pod, within), true
		if !m.d.Placed() && m.d.Failure.Code == filter.Error {
			failure = "failed to schedule other pod from a pod group: " + m.d.Failure.Text()
		}
		return m.d.Placed(), failure
	})
	return t
}

// gather tries the members or the children of a result one after the other until the quorum is out of reach, and writes its status. try
// reports whether one was placed; a failure ends the result with that error. What was assumed for a result without success is undone.
func (r *groupRun) gather(t *groupTrial, q podgroup.Quorum, try func(k int) (placed bool, failure string)) {
	if q.State() == podgroup.Unsatisfiable {
		t.status = failedStatus(q.Text())
		if t.node.Composite == nil {
			t.status = failedStatus(podgroup.TextUnschedulable, q.Text())
		}
		return
	}
	before := len(r.assumed)
	for k := range q.Remaining {
		placed, failure := try(k)
		if failure != "" {
			t.status = errorStatus(failure)
			r.undo(before)
			return
		}
		q.Remaining--
		if placed {
			q.Scheduled++
		}
		if q.State() == podgroup.Unsatisfiable {
			break
		}
	}
	if q.State() != podgroup.Satisfied {
		t.status = failedStatus(q.Text())
		r.undo(before)
		return
	}
	t.status = &groupStatus{code: filter.Success}
}

// restriction returns the slots of a placement, nil for one with as many nodes as the cluster.
func (r *groupRun) restriction(in podgroup.Placement) []int {
	if len(in.Slots) == len(r.p.order()) {
		return nil
	}
	return in.Slots
}

// untried returns the result of a node of which no member or child was tried.
func (r *groupRun) untried(n *podgroup.Node, status *groupStatus) *groupTrial {
	t := &groupTrial{node: n, status: status}
	if n.Group != nil {
		if home := r.tree.Home(n.Name); home == n {
			t.members = untriedMembers(r.queued[n])
		} else {
			t.strays = untriedMembers(r.queued[home])
		}
	}
	for _, child := range n.Children {
		t.children = append(t.children, r.untried(child, nil))
	}
	return t
}

func untriedMembers(pods []*v1.Pod) (out []memberTrial) {
	for _, pod := range pods {
		out = append(out, memberTrial{pod: pod, d: Decision{Slot: -1}})
	}
	return out
}

// composite evaluates the children of a composite group inside a placement.
func (r *groupRun) composite(n *podgroup.Node, in podgroup.Placement) *groupTrial {
	t := r.untried(n, nil)
	r.gather(t, podgroup.Quorum{Minimum: n.Needs(), Remaining: len(n.Children)}, func(k int) (placed bool, failure string) {
		t.children[k] = r.node(n.Children[k], in)
		s := t.children[k].status
		if s.code == filter.Error {
			failure = "composite pod group evaluation failed due to child error: " + s.text()
		}
		return s.code == filter.Success, failure
	})
	return t
}

// placements returns the placements of a node inside that of its parent, or why there are none.
func (r *groupRun) placements(n *podgroup.Node, parent podgroup.Placement) ([]podgroup.Placement, *groupStatus) {
	key := n.Key()
	if key == "" {
		return []podgroup.Placement{parent}, nil
	}
	if deep := tooDeep(n, 1); deep != nil {
		return nil, errorStatus(fmt.Sprintf("exceeded maximum hierarchy depth at %s", deep))
	}
	list, err := r.divide(n, parent, key)
	switch {
	case err != nil:
		return nil, errorStatus(err.Error())
	case len(list) == 0:
		return nil, failedStatus(podgroup.TextNoPlacements)
	}
	if r.o.Order != nil {
		ordered := make([]podgroup.Placement, 0, len(list))
		for _, k := range r.o.Order(len(list)) {
			ordered = append(ordered, list[k])
		}
		list = ordered
	}
	return list, nil
}

// divide returns the placements by a topology key inside that of a parent.
func (r *groupRun) divide(n *podgroup.Node, parent podgroup.Placement, key string) ([]podgroup.Placement, error) {
	if r.p.log != nil && r.restriction(parent) == nil && !some(r.before(n)) {
		return r.p.nodesOfGroups().whole(r.p.order(), key).placements, nil
	}
	return podgroup.Placements(r.p.snapshot, parent.Slots, key, r.before(n))
}

func some(pods iter.Seq2[*v1.Pod, int]) bool {
	for range pods {
		return true
	}
	return false
}

// countedDepth is how many levels below a constraint can be counted, the constrained level included.
const countedDepth = 4

// tooDeep returns the first node below n that is too deep to be counted; nil: none is.
func tooDeep(n *podgroup.Node, depth int) *podgroup.Node {
	if depth > countedDepth {
		return n
	}
	for _, child := range n.Children {
		if x := tooDeep(child, depth+1); x != nil {
			return x
		}
	}
	return nil
}

// before yields the members of a node that were on nodes before the decision.
func (r *groupRun) before(n *podgroup.Node) func(yield func(*v1.Pod, int) bool) {
	return func(yield func(*v1.Pod, int) bool) {
		for pod, slot := range r.members(n) {
			if _, own := r.own[podinfo.Name(pod)]; !own && !yield(pod, slot) {
				return
			}
		}
	}
}

// choose tries every placement and takes the best of those that are feasible.
func (r *groupRun) choose(n *podgroup.Node, placements []podgroup.Placement) *groupTrial {
	before := len(r.assumed)
	if n.Composite == nil {
		r.decision.Placements += len(placements)
	}
	best, status := r.compare(n, placements)
	if best.kept { // what became of each member is not known; its steps were told
		next, begin := r.next, r.o.Begin
		r.next, r.o.Begin = best.from, nil
		best = r.try(n, best.in)
		r.next, r.o.Begin = next, begin
	}
	switch {
	case status != nil:
		best.status = status
	case best.status.code == filter.Unschedulable:
		best.status = failedStatus(podgroup.NoPlacementText(len(placements), best.status.reasons[0]))
	}
	if best.status.code != filter.Success {
		return best
	}
	if r.o.Gates.Composites {
		for _, m := range best.placed() {
			if err := r.hold(m.pod, m.d); err != nil {
				r.undo(before)
				best.status = errorStatus("failed to assume the subtree: " + err.Error())
				return best
			}
		}
	}
	return best
}

// compare tries the placements and returns the best trial, or the first one if none is feasible: a trial that failed with an error at once.
// The status is why none can be the best.
func (r *groupRun) compare(n *podgroup.Node, placements []podgroup.Placement) (best *groupTrial, status *groupStatus) {
	known := r.alike(n, placements)
	var first *groupTrial
	var feasible []*groupTrial // one of those that are alike
	fit := 0                   // placements
	for at, in := range placements {
		end := func(filter.Code) {}
		if n.Composite == nil {
			end = r.begin(PlacementStep)
		}
		t, again := known.recall(at, in)
		if t != nil {
			r.repeat(t)
		} else {
			from := r.next
			t = r.try(n, in)
			known.keep(at, from, t)
		}
		end(t.status.code)
		switch t.status.code {
		case filter.Error:
			return t, nil
		case filter.Success:
			if fit++; !again {
				feasible = append(feasible, t)
			}
		}
		if first == nil {
			first = t
		}
	}
	if len(feasible) == 0 {
		return first, nil
	}
	return r.best(n, feasible, fit)
}

// try evaluates a node of the tree inside one of its placements, and undoes everything.
func (r *groupRun) try(n *podgroup.Node, in podgroup.Placement) (t *groupTrial) {
	before := len(r.assumed)
	if n.Composite != nil {
		t = r.composite(n, in)
	} else {
		t = r.leaf(n, in)
	}
	r.undo(before)
	t.in = in
	return t
}

// sumOf sums up a trial: the score of the plugins is that of its placement with the members that would go there.
func (r *groupRun) sumOf(t *groupTrial) *trialSum {
	if t.sum != nil {
		return t.sum
	}
	t.sum = &trialSum{}
	for k := range t.members {
		if m := &t.members[k]; m.done {
			t.sum.steps = append(t.sum.steps, codeOf(m.d))
		}
	}
	if t.status.code == filter.Success {
		var pods []*v1.Pod
		for _, m := range t.placed() {
			pods = append(pods, m.pod)
		}
		t.sum.placed, t.sum.fullness = len(pods), r.fullness(pods)(t.in.Slots)
	}
	return t.sum
}

// repeat tells the steps of a trial that is not made again.
func (r *groupRun) repeat(t *groupTrial) {
	if r.o.Begin == nil {
		return
	}
	for _, code := range r.sumOf(t).steps {
		r.begin(MemberStep)(code)
	}
}

// fullness returns the sum of the scores of the plugins for sets of nodes with these members.
func (r *groupRun) fullness(members []*v1.Pod) func(slots []int) int64 {
	var scores []func(slots []int) int64
	for _, w := range r.p.profile.Scores {
		if w.PlacementScore != nil {
			scores = append(scores, w.PlacementScore(r.p.snapshot, members))
		}
	}
	return func(slots []int) (sum int64) {
		for _, score := range scores {
			sum += score(slots)
		}
		return sum
	}
}

// best returns the feasible placement with the largest score, one of those that are alike. fit is how many placements are feasible: a single
// one needs no scores.
func (r *groupRun) best(n *podgroup.Node, feasible []*groupTrial, fit int) (*groupTrial, *groupStatus) {
	if fit == 1 {
		return feasible[0], nil
	}
	scheduled, counts, fullness := r.scheduled(n), make([]int, len(feasible)), make([]int64, len(feasible))
	for k, t := range feasible {
		sum := r.sumOf(t)
		counts[k], fullness[k] = scheduled+sum.placed, sum.fullness
	}
	scores := podgroup.PodCounts(counts)
	if scores == nil {
		return feasible[0], errorStatus(`running PlacementScore plugins: plugin "PodGroupPodsCount" failed with: no pods from pod group are assigned to any of the candidate placements`)
	}
	var tied []int
	for k := range feasible {
		scores[k] += fullness[k]
		switch {
		case len(tied) == 0 || scores[k] > scores[tied[0]]:
			tied = []int{k}
		case scores[k] == scores[tied[0]]:
			tied = append(tied, k)
		}
	}
	if r.o.Tie != nil && len(tied) > 1 {
		return feasible[tied[r.o.Tie(len(tied))]], nil
	}
	return feasible[tied[0]], nil
}
