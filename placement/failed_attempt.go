package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/follow"
	"github.com/podberth/podberth/placement/internal/reuse"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/volumes"
)

// This file has what a failed attempt leaves to preemption.

// blank returns the plan's own list with NotAsked for every slot.
func (p *Plan) blank() []filter.Rejection {
	n := p.cluster.Len()
	p.verdicts = slices.Grow(p.verdicts[:0], n)[:n]
	outside := NotAsked()
	for i := range p.verdicts {
		p.verdicts[i] = outside
	}
	return p.verdicts
}

// recorded returns a function that checks one slot and writes the result into verdicts.
func (a *Attempt) recorded(o Options, verdicts []filter.Rejection) func(i int) filter.Rejection {
	check := a.checked(o)
	return func(i int) filter.Rejection {
		r := check(i)
		verdicts[i] = r
		return r
	}
}

// fail stores the attempt as the plan's latest failure. verdicts has the results of the search; nil when the search did not
// check every node.
func (a *Attempt) fail(f *Failure, verdicts []filter.Rejection) {
	if name := a.pod.Status.NominatedNodeName; name != "" && verdicts != nil {
		if i, ok := a.plan.Slot(name); ok && !slices.Contains(a.Candidates(), i) {
			verdicts[i] = NotAsked() // only the message counts a nominated node that the plugins left out
		}
	}
	a.verdicts = verdicts
	a.version = a.plan.version()
	a.plan.failure, a.plan.failed = f, a
}

// refusal is what the engine said about a pod that has no node. Few callers ask for the attempt, so that it is not made at once.
type refusal struct {
	pod        *v1.Pod
	only       []int
	predicates filter.Predicates
	rejected   *filter.Histogram
	kind       reuse.VerdictKey
	version    uint64
}

// version returns a number that grows with every change of the cluster or its devices; 0 for a cluster without a change log.
func (p *Plan) version() uint64 {
	if log, ok := p.cluster.(follow.Log); ok {
		return log.Version() + p.profile.Devices.Version()
	}
	return 0
}

// Failed returns the attempt behind the failure of the plan's latest decision without a node. It returns nil when f is nil or
// an older failure, and after an error. The attempt is right for the cluster as it was at the decision.
func (p *Plan) Failed(f *Failure) *Attempt {
	if f == nil || f != p.failure {
		return nil
	}
	if p.failed == nil {
		r := &p.refusal
		p.failed = &Attempt{plan: p, pod: r.pod, only: r.only, Predicates: r.predicates, rejected: r.rejected, kind: r.kind, version: r.version}
		if !volumes.Ignores(r.pod) { // the predicates may be those of a pod with other claims
			p.failed.Predicates, p.failed.rejected = p.Prepare(r.pod).Predicates, nil
			p.failed.keepAsked(r.predicates)
		}
	}
	return p.failed
}

// keepAsked puts the predicates back that know devices: what they give back depends on what they were asked about.
func (a *Attempt) keepAsked(asked filter.Predicates) {
	for _, x := range asked {
		if _, ok := x.(allocator); !ok {
			continue
		}
		for k, p := range a.Predicates {
			if p.Name() == x.Name() {
				a.Predicates[k] = x
			}
		}
	}
}

// Rejections appends what each slot's rejection means to preemption, for [preemption.Request].
func (a *Attempt) Rejections(dst []preemption.Rejection, o Options) []preemption.Rejection {
	base := len(dst)
	none := preemption.Unresolvable // free slots, and nodes that the plugins left out
	if a.Rejected() {
		none = rejection(a.Pre.Code) // every node has the rejection of the plugin
	}
	for range a.plan.cluster.Len() {
		dst = append(dst, none)
	}
	if a.Rejected() {
		return dst
	}
	var known filter.Rejection // many nodes have the same
	meaning := preemption.Fits
	put := func(i int, r filter.Rejection) {
		if r != known {
			known, meaning = r, rejection(a.Predicates.Code(r))
		}
		dst[base+i] = meaning
	}
	if a.verdicts != nil {
		outside := NotAsked()
		for i, r := range a.verdicts {
			if r != outside {
				put(i, r)
			}
		}
		return dst
	}
	check := a.checked(o)
	for _, i := range a.Candidates() {
		put(i, check(i))
	}
	return dst
}

// everyResolvable reports whether a failed attempt knows that preemption may help on every node.
func (a *Attempt) everyResolvable() bool {
	if a.rejected == nil || a.rejected.Nodes() != len(a.plan.inOrder()) {
		return false
	}
	for r := range a.rejected.Rejections() {
		if rejection(a.Predicates.Code(r)) != preemption.Resolvable {
			return false
		}
	}
	return true
}

// rejection returns what a code means to preemption, which tries only Unschedulable nodes.
func rejection(code filter.Code) preemption.Rejection {
	switch code {
	case filter.Success:
		return preemption.Fits
	case filter.Unschedulable:
		return preemption.Resolvable
	case filter.UnschedulableAndUnresolvable:
		return preemption.Unresolvable
	}
	return preemption.Failed
}
