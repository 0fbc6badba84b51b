package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/placement/internal/reuse"
	volumetracker "github.com/podberth/podberth/volumes/tracker"
)

// Plan answers questions about pods over one cluster under one profile. It follows the changes of the cluster: by the change
// log, or from the start at each question when the cluster has no log. A Plan belongs to one goroutine. Several plans of one
// cluster may be used at the same time while the cluster does not change. The methods panic when the pod is nil.
type Plan struct {
	cluster Cluster
	profile Profile
	engine  *reuse.Engine // nil: nothing is kept

	log     reuse.Log // the cluster's; nil: it has none
	slots   []int32   // in scan order: the cluster's own list
	ordered uint64    // version of the cluster when slots was found to be right
	scan    []int     // the same, for callers
	scanOf  []int32   // the list that scan was made of
	named   []int     // slots by name
	namedOf []int     // the scan order that named was made of

	groups     *groupNodes // made by the first decision about a group in one of several placements
	preempter  *preempter  // made by the first question about preemption
	unadmitted unadmitted
	holds      keptNominations
	ahead      int // of readAhead

	verdicts  []filter.Rejection // memory of decisions that found a node
	failure   *Failure           // the latest
	failed    *Attempt           // behind that failure; nil: Failed makes the attempt of refusal
	refusal   refusal
	refused   map[*filter.Histogram]Failure // by the rejections that the engine keeps
	refusedAt uint64                        // version of the cluster that refused is of
}

// New returns a plan over a cluster, which must not be nil. The error is that of [Profile.Validate].
func New(c Cluster, profile Profile) (*Plan, error) {
	if errs := profile.Validate(nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	p := &Plan{cluster: c, profile: profile.over(c)}
	if log, ok := c.(reuse.Log); ok {
		p.log = log
		p.engine = reuse.New(log, p.profile.units(c))
	}
	return p, nil
}

// Volumes returns the tracker of volumes that the plan's volume plugins share.
func (p *Plan) Volumes() *volumetracker.Tracker { return p.profile.Volumes }

// Options change one question. The zero value asks about the cluster as it is.
type Options struct {
	// Nominated returns the pods that are nominated to the node of a slot; nil: there are none. A nominated pod counts when
	// its priority is at least the pod's and it is another pod. The pod must fit with the nominated pods on the node and
	// without them. A decision calls the function for every node, or for those of NominatedSlots.
	Nominated func(i int) []*v1.Pod
	// NominatedSlots are the slots for which Nominated returns pods, and perhaps other slots of the cluster. A decision then asks about these
	// alone. Their order changes no decision, but more is kept when it stays. nil: a decision asks about every node.
	NominatedSlots []int
	// Next is the place in scan order where the search begins: the Next of the decision before. It matters only when the
	// profile's sampling ends searches early.
	Next int
	// Tie chooses among n nodes of equal total, in the order in which they were found, and returns 0 to n-1. nil chooses the
	// first.
	Tie func(n int) int
	// Scored means that the caller adds other scores, such as those of an extender: the search must find more than one
	// feasible node even in a profile without scores.
	Scored bool

	within []int // the only slots, in scan order; nil: all nodes
}

// about reports whether the question is about a slot.
func (o *Options) about(i int) bool { return o.within == nil || slices.Contains(o.within, i) }

// inOrder returns the slots of all nodes in scan order: the zones take turns, a node each. It is a new list whenever nodes changed.
func (p *Plan) inOrder() []int32 {
	if p.log != nil {
		version := p.log.Version()
		if version == p.ordered && len(p.slots) > 0 {
			return p.slots
		}
		p.ordered = version
	}
	if o, ok := p.cluster.(interface{ Order() []int32 }); ok {
		p.slots = o.Order()
	} else {
		p.slots = view.ScanOrder(p.cluster)
	}
	return p.slots
}

// order is inOrder for callers, who may keep the slice and must not change it.
func (p *Plan) order() []int {
	list := p.inOrder()
	if len(list) == 0 {
		return nil
	}
	if view.SameList(list, p.scanOf) {
		return p.scan
	}
	p.scanOf, p.scan = list, make([]int, len(list))
	for k, i := range list {
		p.scan[k] = int(i)
	}
	return p.scan
}

// nodes returns how many nodes the question is about.
func (p *Plan) nodes(o *Options) int {
	if o.within != nil {
		return len(o.within)
	}
	return len(p.inOrder())
}

// has reports whether a slot has a node.
func (p *Plan) has(i int) bool { return i >= 0 && i < p.cluster.Len() && p.cluster.Node(i) != nil }

// Slot returns the slot of the node with that name; false when the cluster has no such node.
func (p *Plan) Slot(name string) (int, bool) {
	i := slotNamed(p.cluster, name)
	return i, i >= 0
}

// slotNamed returns the slot of the node with that name; -1: there is none.
func slotNamed(c Cluster, name string) int {
	if s, ok := c.(interface{ Slot(string) int }); ok {
		return s.Slot(name)
	}
	for i := range c.Len() {
		if n := c.Node(i); n != nil && n.Name == name {
			return i
		}
	}
	return -1
}
