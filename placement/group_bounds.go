package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/resources"
)

// bounds are what is known of a group of several kinds of members: placements where all of them find room in any order, and placements where too few
// can. In others the members are tried.
type bounds struct {
	members  []*v1.Pod
	quorum   podgroup.Quorum
	least    [2]leastRoom
	smallest resources.Vector // no member asks for less
	most     []int32          // by number of the rows of a node: no more members than that come to it; -1: not counted yet
	times    uint64           // how often the numbers had begun again
	rooms    []int32
	steps    []filter.Code           // of members that all find nodes
	fullness func(slots []int) int64 // of the placement with all members
}

// leastRoom counts for how many members a node has room for certain, when some rare ones are left aside.
type leastRoom struct {
	rare    int
	largest resources.Vector // no other member asks for more
	rooms   []int32          // by number of the rows of a node; -1: not counted yet
}

// bounds returns the bounds of a group whose members have these kinds, before any placement; nil when its members must be tried. The slot is that of
// some node.
func (r *groupRun) bounds(n *podgroup.Node, kinds []int, slot int) *bounds {
	b := &bounds{members: r.queued[n]}
	b.quorum = podgroup.Quorum{Minimum: n.Needs(), Scheduled: r.scheduled(n), Remaining: len(b.members)}
	if b.quorum.State() == podgroup.Unsatisfiable {
		return nil
	}
	count, requests := map[int]int{}, map[int]resources.Vector{}
	common := kinds[0]
	for k, kind := range kinds {
		if count[kind]++; count[kind] > count[common] {
			common = kind
		}
		if _, known := requests[kind]; known {
			continue
		}
		v, known := r.requestsOf(b.members[k], slot)
		if !known {
			return nil
		}
		requests[kind] = v
	}
	b.smallest = slices.Clone(requests[common])
	b.least[0].largest = slices.Clone(requests[common])
	for _, v := range requests {
		b.smallest, b.least[0].largest = b.smallest.Grow(len(v)), b.least[0].largest.Grow(len(v))
		for c := range b.smallest {
			b.smallest[c], b.least[0].largest[c] = min(b.smallest[c], v.At(c)), max(b.least[0].largest[c], v.At(c))
		}
	}
	b.least[1] = leastRoom{rare: len(kinds) - count[common], largest: requests[common]}
	for range b.members {
		b.steps = append(b.steps, filter.Success)
	}
	b.fullness = r.fullness(b.members)
	return b
}

// requestsOf returns what a member asks for on a node. It reports false when that is not known, or when an amount is negative.
func (r *groupRun) requestsOf(pod *v1.Pod, slot int) (requests resources.Vector, known bool) {
	mark := r.p.snapshot.Mark()
	if r.p.snapshot.Assume(pod, slot) == nil {
		requests, known = r.p.snapshot.PodRequests(pod)
	}
	r.p.snapshot.Rollback(mark)
	for _, amount := range requests {
		known = known && amount >= 0
	}
	return requests, known
}

// bound returns what would be kept of the trial of the placement that was described, and goes on as after it; nil when the members must be tried. The
// steps of a group that fails are not known, so it is tried for callers that measure them.
func (a *alike) bound(in podgroup.Placement) *groupTrial {
	b, nodes := a.bounds, a.r.p.nodesOfGroups()
	if b == nil || a.r.p.limit(len(in.Slots), a.r.o.Options) < len(in.Slots) {
		return nil
	}
	if b.times != nodes.times {
		b.times, b.most = nodes.times, nil
		for k := range b.least {
			b.least[k].rooms = nil
		}
	}
	code, sum := filter.Success, &trialSum{placed: len(b.members), steps: b.steps}
	switch {
	case a.all(in.Slots, &b.least[0]) || a.all(in.Slots, &b.least[1]):
		sum.fullness = b.fullness(in.Slots)
	case a.r.o.Begin == nil && a.few(in.Slots):
		code, sum = filter.Unschedulable, &trialSum{vague: true}
	default:
		return nil
	}
	from := a.r.next
	a.r.next = view.Around(from, len(in.Slots))
	return outline(code, in, from, sum)
}

// all reports whether all members find nodes, whatever node each takes. A member finds none only when every node has one of the rare members or as many of
// the others as it has room for at least.
func (a *alike) all(slots []int, x *leastRoom) bool {
	b, row := a.bounds, a.r.p.nodesOfGroups().row
	need := len(b.members) - x.rare
	b.rooms = b.rooms[:0]
	sum := 0
	for _, i := range slots {
		if !a.open(i, true) {
			continue
		}
		n := kept(&x.rooms, row[i], func() int {
			log := a.r.p.cluster
			return a.locals.RoomAtLeast(len(b.members), log.Allocatable(i), log.Requested(i), x.largest)
		})
		sum += int(n)
		b.rooms = append(b.rooms, n)
	}
	if sum < need || x.rare == 0 {
		return sum >= need
	}
	slices.Sort(b.rooms)
	for k := 0; k < x.rare && k < len(b.rooms); k++ {
		sum -= int(b.rooms[len(b.rooms)-1-k])
	}
	return sum >= need
}

// few reports whether too few members find nodes, whatever node each takes.
func (a *alike) few(slots []int) bool {
	b, row := a.bounds, a.r.p.nodesOfGroups().row
	q := b.quorum
	for _, i := range slots {
		if !a.open(i, false) {
			continue
		}
		q.Scheduled += int(kept(&b.most, row[i], func() int {
			log := a.r.p.cluster
			return a.locals.RoomAtMost(i, len(b.members), log.Allocatable(i), log.Requested(i), b.smallest)
		}))
		if q.Scheduled >= q.Minimum {
			return false
		}
	}
	q.Remaining = 0
	return q.State() != podgroup.Satisfied
}

// open reports whether nothing but its rows can keep members out of a slot: those of all kinds, or those of one at least.
func (a *alike) open(slot int, all bool) bool {
	for kind := range a.locals.Kinds() {
		if a.locals.Open(kind, slot) != all {
			return !all
		}
	}
	return all
}

// kept returns the number of a row, which is counted once.
func kept(numbers *[]int32, row int32, count func() int) int32 {
	for int(row) >= len(*numbers) {
		*numbers = append(*numbers, -1)
	}
	if (*numbers)[row] < 0 {
		(*numbers)[row] = int32(count())
	}
	return (*numbers)[row]
}
