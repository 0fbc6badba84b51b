package volume

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
type BindingState struct {
	binding *Binding
	cluster Cluster
	classes view.Classes[resources.Verdict]
}

// Verdict bits of VolumeBinding, beside resources.Unresolvable.
const (
	nodeConflict  resources.Verdict = 1 << 0
	noMatch       resources.Verdict = 1 << 1
	noSpace       resources.Verdict = 1 << 2
	volumeMissing resources.Verdict = 1 << 3
	bindingError  resources.Verdict = 1 << 4 // with the place of the error above
)

const (
	errorShift = 5
	maxErrors  = resources.Unresolvable>>errorShift - 1
)

// Name returns "VolumeBinding".
func (s *BindingState) Name() string { return bindingPlugin }

// Check rejects slot i, always Unresolvable, with a set of bits: 1 a bound volume is not reachable from the node, 2 a
// claim finds neither a volume nor a provisioner there, 4 there is no room to provision one, 8 a bound volume does not
// exist. A free slot is rejected with flag 1. No allocation for up to eight claims.
func (s *BindingState) Check(i int) resources.Verdict {
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

func (e *Binding) idle() bool { return len(e.bound) == 0 && len(e.delayed) == 0 }

func (e *Binding) check(node *v1.Node) resources.Verdict {
	v := e.checkBound(node)
	if len(e.delayed) > 0 && v&bindingError == 0 {
		var buf [8]choice
		more, _ := e.checkDelayed(node, buf[:0])
		v |= more
	}
	if v != 0 {
		v |= resources.Unresolvable
	}
	return v
}

// Code returns the code of a verdict: Error for a claim whose selector, or volume whose in-tree name, cannot be read.
func (s *BindingState) Code(v resources.Verdict) filter.Code {
	switch {
	case v == 0:
		return filter.Success
	case v&bindingError != 0:
		return filter.Error
	}
	return filter.UnschedulableAndUnresolvable
}

// Reasons returns the texts of a verdict.
func (s *BindingState) Reasons(v resources.Verdict) []string {
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

// reaches reports whether a volume can be reached from a node by its labels: unlike a pod's, a volume's node affinity is
// matched without the node's name, so that matchFields do not restrict.
func reaches(s *affinity.Selector, node *v1.Node) bool {
	if s == nil {
		return true
	}
	var nameless v1.Node
	nameless.Labels = node.Labels
	return s.Matches(&nameless)
}

// checkBound returns the first flag that a bound claim raises.
func (e *Binding) checkBound(node *v1.Node) resources.Verdict {
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

// choice is what a delayed claim gets: a volume, or, when it is nil, provisioning.
type choice struct {
	claim  *delayedClaim
	volume *candidate
}

// checkDelayed decides the delayed claims on a node and appends what each gets to dst. Claims that are being provisioned
// for another node reject at once. The others are matched in order, each with a volume that no earlier one took; what is
// left over is provisioned, after the claims that are already being provisioned for this node.
func (e *Binding) checkDelayed(node *v1.Node, dst []choice) (resources.Verdict, []choice) {
	for k := range e.delayed {
		if s := e.delayed[k].selected; s != "" && s != node.Name {
			return noMatch, nil
		}
	}
	if e.unreadable != 0 {
		return e.unreadable, nil
	}
	for k := range e.delayed {
		if d := &e.delayed[k]; d.selected == "" {
			if c := d.match(node, dst); c != nil {
				dst = append(dst, choice{d, c})
			}
		}
	}
	matched := len(dst)
	for _, selected := range [...]bool{true, false} {
		for k := range e.delayed {
			d := &e.delayed[k]
			if (d.selected != "") != selected || taken(dst[:matched], d) {
				continue
			}
			if v := e.provision(d, node, dst[matched:]); v != 0 {
				return v, nil
			}
			dst = append(dst, choice{claim: d})
		}
	}
	return 0, dst
}

func taken(dst []choice, d *delayedClaim) bool {
	return slices.ContainsFunc(dst, func(c choice) bool { return c.claim == d })
}

// match returns the volume that the claim takes on the node, nil for none.
func (d *delayedClaim) match(node *v1.Node, others []choice) *candidate {
	for k := range d.candidates {
		c := &d.candidates[k]
		if slices.ContainsFunc(others, func(o choice) bool { return o.volume.volume.Name == c.volume.Name }) {
			continue
		}
		if reaches(c.affinity, node) {
			return c
		}
		if c.reserved { // reserved for this claim and out of reach: no other will do
			return nil
		}
	}
	return nil
}

// provision returns 0 when the claim can be provisioned for the node, after the earlier ones of this pod.
func (e *Binding) provision(d *delayedClaim, node *v1.Node, earlier []choice) resources.Verdict {
	if d.class.Provisioner == "" || d.class.Provisioner == noProvisioner || !d.inTopology(node) {
		return noMatch
	}
	if !d.counted {
		return 0
	}
	set := labels.Set(node.Labels)
	for k := range d.capacities {
		c := &d.capacities[k]
		if !c.nodes.Matches(set) {
			continue
		}
		if !e.options.ReserveCapacity || e.room(c, d, earlier) {
			return 0
		}
	}
	return noSpace
}

// inTopology reports whether the class allows the node: any term, all of its labels.
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

// Explain returns the claims behind a rejection of slot i, in the order in which they are decided: those of the first flag
// of each step. A free slot has none.
func (s *BindingState) Explain(i int) []ClaimProblem {
	e, node := s.binding, s.cluster.Node(i)
	if node == nil {
		return nil
	}
	var out []ClaimProblem
	for k := range e.bound {
		b := &e.bound[k]
		v := (&Binding{bound: e.bound[k : k+1], objects: e.objects}).checkBound(node)
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
	for k := range e.delayed {
		part := *e
		part.delayed = e.delayed[:k+1]
		if w, _ := part.checkDelayed(node, nil); w == v {
			return append(out, ClaimProblem{Claim: e.delayed[k].claim.Name, Reason: s.Reasons(v)[0]})
		}
	}
	return append(out, ClaimProblem{Reason: s.Reasons(v)[0]})
}

// ClaimProblem says which claim rejects a node.
type ClaimProblem struct {
	Claim string
	// Volume is the volume that the claim is bound to, "" for a claim that waits for its first consumer.
	Volume string
	// Reason is one of the texts of VolumeBinding.
	Reason string
	// ZoneLabel is the label in which the zone of this node was looked for, its CSI driver's, because its CSINode lists the
	// volume's in-tree plugin as migrated; "" when the volume's node affinity counts as written.
	ZoneLabel string
}
