package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/reuse"
)

// Plan answers questions about pods over one cluster under one profile. It follows the cluster: what it keeps is brought
// up to date by the cluster's change log, or made again when the cluster has none (see cluster.Snapshot). It belongs to one
// goroutine; several plans of one cluster may work side by side while the cluster does not change.
type Plan struct {
	cluster Cluster
	profile Profile
	engine  *reuse.Engine // nil: nothing is kept

	scan    []int   // slots in scan order
	scanned []int32 // the cluster's own list that scan was made of
	named   []int   // slots by name
	namedOf []int   // the scan order that named was made of

	preempter *preempter // made by the first Preempt

	verdicts []filter.Rejection // memory of decisions that found a node
	failure  *Failure           // the latest, and its attempt
	failed   *Attempt
}

// New returns a plan. The error is that of Profile.Validate.
func New(c Cluster, profile Profile) (*Plan, error) {
	if errs := profile.Validate(nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	p := &Plan{cluster: c, profile: profile.over(c)}
	if log, ok := c.(reuse.Log); ok {
		p.engine = reuse.New(log, p.order, p.profile.units(c))
	}
	return p, nil
}

// Volumes returns what the plan's volume plugins share.
func (p *Plan) Volumes() *Volumes { return p.profile.Volumes }

// Options are what one question may add. The zero value asks about the cluster as it is.
type Options struct {
	// Nominated returns the pods nominated to the node of a slot. Those of at least the pod's priority, but the pod itself,
	// count as placed there where they stand in the way, and do not where they would help. nil: there are none.
	Nominated func(i int) []*v1.Pod
	// Next is where the search begins in scan order: the Next of the decision before. It matters only while the profile's
	// sampling stops a search early.
	Next int
	// Tie chooses among n nodes of equal total, listed in the order in which they were found; nil takes the first.
	Tie func(n int) int
	// Scored says that something beside the profile's plugins scores the nodes, so that one feasible node is not enough.
	Scored bool
}

// order returns the slots of all nodes in scan order: zone by zone, a node of each in turn. Must not be changed.
func (p *Plan) order() []int {
	o, ok := p.cluster.(interface{ Order() []int32 })
	if !ok {
		p.scan = filter.ScanOrder(p.cluster)
		return p.scan
	}
	list := o.Order() // a new list whenever nodes changed
	if len(list) == 0 {
		return nil
	}
	if len(list) == len(p.scanned) && &list[0] == &p.scanned[0] {
		return p.scan
	}
	p.scanned, p.scan = list, make([]int, len(list))
	for k, i := range list {
		p.scan[k] = int(i)
	}
	return p.scan
}

// Slot returns the slot of a node by name, and false when there is none.
func (p *Plan) Slot(name string) (int, bool) {
	if s, ok := p.cluster.(interface{ Slot(string) int }); ok {
		i := s.Slot(name)
		return i, i >= 0
	}
	for _, i := range p.order() {
		if p.cluster.Node(i).Name == name {
			return i, true
		}
	}
	return -1, false
}
