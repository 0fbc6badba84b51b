package placement

import (
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/preemption"
)

// GroupOptions change one decision about a group.
type GroupOptions struct {
	// Options are those of each member. Tie also chooses among placements of equal score, and among claims to give back.
	Options
	Gates podgroup.Gates
	// Preempt lets a group that finds no place preempt; nil does not.
	Preempt *GroupPreempt
	// Order returns the order in which n placements are tried: a permutation of 0 to n-1. v1.37 tries them in a random order; which is
	// first shows in messages. nil: by name.
	Order func(n int) []int
	// Complete finds nodes for members of a group that finds no place one member after the other, before it may preempt: a node by name of
	// each member that gets one, in an order in which the filters accept them; nothing if it finds none. Each is decided again, and a
	// refusal, or a group with too few members or in two domains, counts as nothing found. An error is that of the whole tree. nil is v1.37. Package
	// planning/gang has such a search.
	Complete func(members []*v1.Pod) ([]GroupPlace, error)
	// Begin is called when a part of the decision begins, and what it returns when that part ends, with how it ended: for callers that
	// measure time. nil measures nothing.
	Begin func(GroupStep) (end func(filter.Code))
}

// GroupStep is a part of the decision about a group.
type GroupStep uint8

// The parts of a decision. Each comes as often as it is done, those of the trial of a preemption included.
const (
	MemberStep     GroupStep = iota // one member is decided. It takes no time in a placement whose result is counted, or known from an equal one or from a group before
	PlacementStep                   // the members of one group are decided on one placement; only with Gates.Topology
	PreemptionStep                  // victims are searched
)

// GroupPlace is a member of a group with a node.
type GroupPlace struct {
	Pod  *v1.Pod
	Node string
}

// GroupPreempt configures how a group preempts. The zero value is v1.37's.
type GroupPreempt struct {
	Budgets *disruption.Budgets // nil: those of the snapshot, as of PreemptOptions
	Now     time.Time
}

// GroupDecision says what becomes of a group, or of a tree of groups, and of its members.
type GroupDecision struct {
	// Code is Success, Unschedulable or Error: that of the root, before preemption. With Success at least one member is placed. Skip:
	// all members were dropped, and nothing is written about the groups.
	Code filter.Code
	// Groups has an entry for each group of the tree, in the order in which they are evaluated.
	Groups []GroupOutcome
	// Members has an entry for each queued pod, in the order given.
	Members []MemberOutcome
	// Waiting is true when the group preempts, or waits for victims of an earlier preemption.
	Waiting bool
	// Victims are the pods that leave for the group, most important first. Those that are terminating already are among them; the
	// caller leaves those alone.
	Victims []preemption.Placed
	// Preemption sums up what preemption did; nil when it was not asked.
	Preemption *PreemptionSummary
	// Placements is the number of placements that the groups were given, those of the trial of a preemption included. 0 without
	// Gates.Topology.
	Placements int
	// Claims is what DynamicResources gives back of an unschedulable group; the caller writes it. Nothing without GroupOptions.Preempt.
	Claims devices.GroupFreed
	// Err is the error when no member was tried because members disagree, or a group has no object.
	Err error
	// Next is where the next search begins (Options.Next).
	Next int
}

// PreemptionSummary is the preemption of a group in numbers.
type PreemptionSummary struct {
	// Code is Success when victims were found or an earlier preemption goes on, Unschedulable when the group may not preempt or would
	// find no place without the others, UnschedulableAndUnresolvable when nobody may leave, and Error.
	Code filter.Code
	// Ongoing is true when an earlier preemption goes on, and nothing was searched.
	Ongoing bool
	// Violations is the number of victims that break a disruption budget.
	Violations int
	// Groups is the number of units of groups that leave: groups and composite groups that leave as a whole, and single pods of others.
	Groups int
}

// GroupOutcome is what is written about a group. [podgroup.Group.Condition] makes the condition of it.
type GroupOutcome struct {
	Group *podgroup.Group
	// Reason is the reason of the condition: podgroup.ReasonScheduled, ReasonUnschedulable or ReasonSchedulerError.
	Reason  string
	Message string
}

// MemberOutcome is what becomes of a queued pod of a group.
type MemberOutcome struct {
	Pod *v1.Pod
	// Decision is that of the member's own attempt: with a node if the member is placed.
	Decision
	// Code and Text are what the pod's condition says when the pod is not placed. Code is Error for reason SchedulerError.
	Code filter.Code
	Text string
	// Nominate is the node to which the pod is nominated after the decision, "" for none.
	Nominate string
	// Found is the node that the member's own attempt found, also when its group failed then; "" when it found none or was not made.
	Found string
	// Dropped is true for a terminating pod, which was not tried and leaves the queue.
	Dropped bool
}

// ErrNoGroup is the error of pods that name no group, or groups of different trees.
var ErrNoGroup = errors.New("the pods are not members of one group")

// DecideGroup decides about the queued pods of one group, or of all groups of a tree, as v1.37 does behind its feature gates: all members
// that are needed find a node, or none is placed. queued are pods of the tree in the order of [podgroup.CompareMembers] within each group;
// they must not be on nodes. The snapshot has the groups ([cluster.Objects.PodGroups]) and their members on nodes.
//
// DecideGroup changes nothing: AssumeGroup puts the members of a decision on their nodes. The rules are in docs/podgroup.md. The cost is that of a decision for each member and
// placement; a preemption decides a second time, and checks the members once for each unit that could leave.
func (p *Placer) DecideGroup(queued []*v1.Pod, o GroupOptions) GroupDecision {
	r, err := newGroupRun(p, queued, o)
	if err != nil {
		return r.refused(err)
	}
	if len(r.live) == 0 {
		r.decision.Code = filter.Skip
		return r.decision
	}
	return r.decide()
}

// AssumeGroup puts all placed members of a decision on their nodes, as Assume does, or none of them. The error is that of Assume for
// the first member that fails.
func (p *Placer) AssumeGroup(d GroupDecision) error {
	mark := p.snapshot.Mark()
	for k := range d.Members {
		m := &d.Members[k]
		if !m.Placed() {
			continue
		}
		if err := p.Assume(m.Pod, m.Decision); err != nil {
			for n := k - 1; n >= 0; n-- {
				if d.Members[n].Placed() {
					err = errors.Join(err, p.Forget(d.Members[n].Pod))
				}
			}
			p.snapshot.Rollback(mark)
			return err
		}
	}
	p.snapshot.Commit(mark)
	return nil
}
