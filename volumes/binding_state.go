package volumes

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/resources"
)

// BindingState is VolumeBinding for one pod and one cluster.
//
// Check always rejects with [resources.Unresolvable]. The verdict is a set of bits: 1 for a bound volume that the node does not
// reach, 2 for a claim without a volume and a provisioner, 4 for too little room to provision, 8 for a bound volume that does
// not exist. A free slot is rejected with bit 1. Check does not allocate for up to eight claims.
//
// Code is Error for a claim whose selector cannot be read and for a volume whose in-tree name cannot be read. Explain
// returns the claims behind a rejection in the order in which Check decides them. On a free slot the result is empty.
type BindingState interface {
	filter.State[ClaimProblem]
	filter.Coder
	// Raw returns v1.37's score of slot i, 0 to 100, which needs no normalization (rule L2.4): the share of storage that stays
	// free on average over the classes of the claims that wait. It is 0 when nothing waits and when Check rejects the slot.
	Raw(i int) int64
	// Bindings returns what would be bound and provisioned on slot i, without claims that are bound already. It returns
	// false when Check rejects the slot.
	Bindings(i int) (Decision, bool)
}

type bindingState struct {
	binding *bindingFilter
	cluster filter.Cluster
	classes view.Classes[resources.Verdict]
}

// Verdict bits of VolumeBinding, beside [resources.Unresolvable].
const (
	nodeConflict  resources.Verdict = 1 << 0
	noMatch       resources.Verdict = 1 << 1
	noSpace       resources.Verdict = 1 << 2
	volumeMissing resources.Verdict = 1 << 3
	bindingError  resources.Verdict = 1 << 4 // the position of the error is in the bits above
)

const (
	errorShift = 5
	maxErrors  = resources.Unresolvable>>errorShift - 1
)

func (s *bindingState) Name() string { return bindingPlugin }

func (s *bindingState) Check(i int) resources.Verdict {
	if v := s.classes.At(i); v != nil {
		return *v
	}
	node := s.cluster.Node(i)
	switch {
	case node == nil:
		return nodeConflict | resources.Unresolvable
	case s.binding.idle():
		return 0
	}
	return s.binding.check(node)
}

func (e *bindingFilter) idle() bool { return len(e.bound) == 0 && len(e.delayed) == 0 }

func (e *bindingFilter) check(node *v1.Node) resources.Verdict {
	v := e.checkBound(node)
	if v&bindingError == 0 {
		var buf [8]choice
		more, _ := e.checkDelayed(node, buf[:0])
		v |= more
	}
	if v != 0 {
		v |= resources.Unresolvable
	}
	return v
}

func (s *bindingState) Code(v resources.Verdict) filter.Code {
	switch {
	case v == 0:
		return filter.Success
	case v&bindingError != 0:
		return filter.Error
	}
	return filter.UnschedulableAndUnresolvable
}

func (s *bindingState) Reasons(v resources.Verdict) []string {
	if v&bindingError != 0 {
		return []string{s.binding.errs[v&^resources.Unresolvable>>errorShift]}
	}
	var out []string
	if v&nodeConflict != 0 {
		out = append(out, "node(s) didn't match PersistentVolume's node affinity")
	}
	if v&noMatch != 0 {
		out = append(out, "node(s) didn't find available persistent volumes to bind")
	}
	if v&noSpace != 0 {
		out = append(out, "node(s) did not have enough free storage")
	}
	if v&volumeMissing != 0 {
		out = append(out, "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)")
	}
	return out
}

// reaches reports whether a node reaches a volume by its labels. A volume's node affinity is matched without the node's name,
// unlike that of a pod, so that matchFields do not restrict.
func reaches(s *affinity.Selector, node *v1.Node) bool {
	if s == nil {
		return true
	}
	var nameless v1.Node
	nameless.Labels = node.Labels
	return s.Matches(&nameless)
}

// checkBound returns the first bit that a bound claim sets.
func (e *bindingFilter) checkBound(node *v1.Node) resources.Verdict {
	for k := range e.bound {
		b := &e.bound[k]
		if b.volume == nil {
			return volumeMissing
		}
		if m := b.migrated; m != nil && e.objects.migratedOn(node.Name, m.kind) {
			if m.failed != 0 {
				return m.failed
			}
			if !reaches(m.affinity, node) {
				return nodeConflict
			}
		} else if !reaches(b.affinity, node) {
			return nodeConflict
		}
	}
	return 0
}

// choice is the volume that a delayed claim gets; nil means that a volume is provisioned.
type choice struct {
	claim    *delayedClaim
	volume   *candidate
	capacity *capacity // from which the volume is provisioned; nil when nobody counts
}

// checkDelayed decides the delayed claims on a node and appends what each claim gets to dst:
//
//  1. A claim that is being provisioned for another node rejects at once.
//  2. Claims are matched in order, each with a volume that no earlier claim took.
//  3. Claims that are being provisioned for this node are checked, then the claims without a match.
func (e *bindingFilter) checkDelayed(node *v1.Node, dst []choice) (resources.Verdict, []choice) {
	for k := range e.delayed {
		if s := e.delayed[k].selected; s != "" && s != node.Name {
			return noMatch, nil
		}
	}
	if e.unreadable != 0 {
		return e.unreadable, nil
	}
	for k := range e.delayed {
		d := &e.delayed[k]
		if c := d.candidates.match(node, dst); c != nil { // nil for a claim that is being provisioned
			dst = append(dst, choice{claim: d, volume: c})
		}
	}
	matched := len(dst)
	for _, selected := range [...]bool{true, false} {
		for k := range e.delayed {
			d := &e.delayed[k]
			if (d.selected != "") != selected || isTaken(dst[:matched], d) {
				continue
			}
			v, from := e.provision(d, node, dst[matched:])
			if v != 0 {
				return v, nil
			}
			dst = append(dst, choice{claim: d, capacity: from})
		}
	}
	return 0, dst
}

func isTaken(dst []choice, d *delayedClaim) bool {
	return slices.ContainsFunc(dst, func(c choice) bool { return c.claim == d })
}

// provision returns 0 when the claim can be provisioned for the node after the earlier claims of this pod, and the capacity from
// which, if somebody counts capacity.
func (e *bindingFilter) provision(d *delayedClaim, node *v1.Node, earlier []choice) (resources.Verdict, *capacity) {
	if d.class.Provisioner == "" || d.class.Provisioner == noProvisioner || !d.inTopology(node) {
		return noMatch, nil
	}
	if !d.counted {
		return 0, nil
	}
	set := labels.Set(node.Labels)
	for k := range d.capacities {
		c := &d.capacities[k]
		if !c.nodes.Matches(set) {
			continue
		}
		if !e.options.ReserveCapacity || e.room(c, d, earlier) {
			return 0, c
		}
	}
	return noSpace, nil
}

// inTopology reports whether the class allows the node: at least one term must match in all labels.
func (d *delayedClaim) inTopology(node *v1.Node) bool {
	if len(d.topologies) == 0 {
		return true
	}
	for _, t := range d.topologies {
		ok := len(t) > 0
		for k := range t {
			value, has := node.Labels[t[k].Key]
			ok = ok && has && slices.Contains(t[k].Values, value)
		}
		if ok {
			return true
		}
	}
	return false
}

// Explain returns the claims of the first bit of each step: bound claims, then claims that wait.
func (s *bindingState) Explain(i int) []ClaimProblem {
	e, node := s.binding, s.cluster.Node(i)
	if node == nil {
		return nil
	}
	var out []ClaimProblem
	for k := range e.bound {
		b := &e.bound[k]
		v := (&bindingFilter{bound: e.bound[k : k+1], objects: e.objects}).checkBound(node)
		if v == 0 {
			continue
		}
		c := ClaimProblem{Claim: b.claim.Name, Volume: b.claim.Spec.VolumeName, Reason: s.Reasons(v)[0]}
		if v&nodeConflict != 0 && b.migrated != nil && e.objects.migratedOn(node.Name, b.migrated.kind) {
			c.ZoneLabel = b.migrated.kind.zone
		}
		out = append(out, c)
		if v&bindingError != 0 {
			return out
		}
		break
	}
	v, _ := e.checkDelayed(node, nil)
	if v == 0 {
		return out
	}
	for part, k := *e, 0; ; k++ { // all of them together have the verdict v, if no fewer have
		part.delayed = e.delayed[:k+1]
		if w, _ := part.checkDelayed(node, nil); w == v {
			return append(out, ClaimProblem{Claim: e.delayed[k].claim.Name, Reason: s.Reasons(v)[0]})
		}
	}
}

// ClaimProblem is a claim that rejects a node.
type ClaimProblem struct {
	Claim string
	// Volume is the volume that the claim is bound to, "" for a claim that waits for its first consumer.
	Volume string
	// Reason is one of the texts of VolumeBinding.
	Reason string
	// ZoneLabel is the CSI driver's label in which the node's zone was looked for, when the CSINode lists the volume's
	// in-tree plugin as migrated. ZoneLabel is "" when the volume's node affinity counts as written.
	ZoneLabel string
}
