package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/resources"
)

// counts is what is known of a group whose members are all of one kind: which nodes they find room on follows from how many each node takes.
type counts struct {
	members  []*v1.Pod
	quorum   podgroup.Quorum
	requests resources.Vector        // of a member on a node
	rooms    []int32                 // by number of the rows of a node: for how many members it has room; -1: not counted yet
	times    uint64                  // how often the numbers had begun again
	outcomes map[int]*countedOutcome // by members that find room
}

// countedOutcome is what becomes of the members in a placement with room for so many of them.
type countedOutcome struct {
	sum      trialSum
	fullness func(slots []int) int64 // of the placement; nil: the group is unschedulable
}

// counts returns the counts of a group, before any placement; nil when its members must be tried. The slot is that of some node.
func (r *groupRun) counts(n *podgroup.Node, slot int) *counts {
	c := &counts{members: r.queued[n], outcomes: map[int]*countedOutcome{}}
	c.quorum = podgroup.Quorum{Minimum: n.Needs(), Scheduled: r.scheduled(n), Remaining: len(c.members)}
	var known bool
	if c.requests, known = r.requestsOf(c.members[0], slot); !known || c.quorum.State() == podgroup.Unsatisfiable {
		return nil
	}
	return c
}

// count returns what would be kept of the trial of the placement that was described, and goes on as after it; nil when the members must be tried.
func (a *alike) count(in podgroup.Placement) *groupTrial {
	c, nodes := a.counts, a.r.p.nodesOfGroups()
	if c == nil || a.r.p.limit(len(in.Slots), a.r.o.Options) < len(in.Slots) {
		return nil
	}
	if c.times != nodes.times {
		c.times, c.rooms = nodes.times, nil
	}
	room := 0
	for _, i := range in.Slots {
		if a.locals.Open(0, i) {
			room += int(a.room(nodes.row[i], i))
		}
	}
	from := a.r.next
	a.r.next = view.Around(from, len(in.Slots))
	x := c.outcomeOf(a.r, min(room, len(c.members)))
	if x.fullness == nil {
		return outline(filter.Unschedulable, in, from, &x.sum)
	}
	return outline(filter.Success, in, from, &trialSum{placed: x.sum.placed, fullness: x.fullness(in.Slots), steps: x.sum.steps})
}

// outcomeOf returns what becomes of the members when so many find room.
func (c *counts) outcomeOf(r *groupRun, placed int) *countedOutcome {
	if x := c.outcomes[placed]; x != nil {
		return x
	}
	x := &countedOutcome{}
	c.outcomes[placed] = x
	q := c.quorum
	for q.Remaining > 0 && q.State() != podgroup.Unsatisfiable {
		q.Remaining--
		if len(x.sum.steps) < placed {
			q.Scheduled++
			x.sum.steps = append(x.sum.steps, filter.Success)
		} else {
			x.sum.steps = append(x.sum.steps, filter.Unschedulable)
		}
	}
	if q.State() == podgroup.Satisfied {
		x.sum.placed, x.fullness = placed, r.fullness(c.members[:placed])
	}
	return x
}

// room returns for how many members a slot has room, by the number of its rows.
func (a *alike) room(row int32, slot int) int32 {
	c := a.counts
	return kept(&c.rooms, row, func() int {
		log := a.r.p.cluster
		return a.locals.Room(0, slot, len(c.members), log.Allocatable(slot), log.Requested(slot), c.requests)
	})
}
