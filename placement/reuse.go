package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
)

// Reusable is a plugin of the user's whose preparation may be kept: pods with equal keys, as AppendKey appends them, are
// treated the same on every cluster, and only a change of a node can change an answer about it. Its predicate and scorer
// must be Signed.
type Reusable interface {
	AppendKey(dst []byte, pod *v1.Pod) []byte
}

// reuse keeps what was worked out for pods seen before, and follows the cluster's change log. Five things are kept, each
// shared by all pods that agree in what it depends on:
//
//	statics   what only a change of a node can change      by what the pod tolerates and selects
//	rows      fit and resource scores of every node        by what the pod asks for
//	states    counts of running pods, in a shape           by constraints, and by labels as far as they matter
//	layout    the nodes in groups of equal signature       by topology keys, statics and rows
//	shape     all of these together                        by pod
//
// A pod that asks for what no pod before it did uses statics and states and looks at the rows of every node once (scan); others
// have heaps over kept rows.
type reuse struct {
	plan *Plan
	log  *cluster.Snapshot
	key  keyer

	seen    map[string]struct{} // keys of pods
	asked   map[string]struct{} // keys of rows
	shapes  map[string]*shape
	parts   map[string]*shape
	layouts map[string]*layout
	row     map[string]*rows
	static  map[string]*statics

	epoch   uint64
	at      uint64              // version up to which the log was looked through for changes of nodes
	nodes   []*v1.Node          // by slot, as of that version
	changes []nodeChange        // since the epoch began
	reads   map[string]struct{} // what the states of shapes read of nodes

	terms  affinity.Memo
	ranked []int32 // place in scan order by slot
	of     []int   // the scan order that ranked was made of

	groups, feasible []candidate // scratch
	frontier         heap
	raw, add         []int64
	names            []string
	which            []uint64
	slots            []int32
	weighed, counts  []int32 // arguments of Weigh
}

// nodeChange is a node whose object was replaced.
type nodeChange struct{ slot int32 }

// limits of what is kept; beyond them everything is forgotten, which costs time and changes nothing.
const (
	maxSeen    = 1 << 16
	maxShapes  = 1 << 11
	maxChanges = 1 << 16
)

func newReuse(p *Plan) *reuse {
	s, ok := p.cluster.(*cluster.Snapshot)
	if !ok {
		return nil
	}
	r := &reuse{plan: p, log: s, seen: map[string]struct{}{}, asked: map[string]struct{}{}, names: make([]string, 0, 8)}
	r.forget()
	return r
}

// forget drops everything but the memory of which pods were seen.
func (r *reuse) forget() {
	r.epoch++
	r.shapes, r.parts = map[string]*shape{}, map[string]*shape{}
	r.layouts, r.row, r.static = map[string]*layout{}, map[string]*rows{}, map[string]*statics{}
	r.reads, r.changes = map[string]struct{}{}, nil
	r.at, r.nodes = r.log.Version(), r.nodes[:0]
	for i := range r.log.Len() {
		r.nodes = append(r.nodes, r.log.Node(i))
	}
	r.terms = affinity.Memo{}
}

// watch looks for changes of nodes and of what stands beside them.
func (r *reuse) watch() {
	version := r.log.Version()
	if version == r.at {
		return
	}
	anew := false
	known := r.log.Since(r.at, func(events []cluster.Event) {
		for i := range events {
			if e := &events[i]; e.Node < 0 || e.Set < 0 && !r.changed(int(e.Node)) {
				anew = true
			}
		}
	})
	r.at = version
	if !known || anew || len(r.changes) > maxChanges {
		r.forget()
	}
}

// changed takes note of a node whose object was replaced. It reports false when states or orders may depend on what changed.
func (r *reuse) changed(slot int) bool {
	if slot >= len(r.nodes) {
		return false
	}
	old, node := r.nodes[slot], r.log.Node(slot)
	if old == node {
		return true
	}
	if old == nil || node == nil || old.Name != node.Name || !sameImages(old, node) {
		return false
	}
	r.nodes[slot] = node
	r.changes = append(r.changes, nodeChange{int32(slot)})
	return !r.readChanged(old, node)
}

func sameImages(a, b *v1.Node) bool {
	if len(a.Status.Images) != len(b.Status.Images) {
		return false
	}
	for i := range a.Status.Images {
		x, y := &a.Status.Images[i], &b.Status.Images[i]
		if x.SizeBytes != y.SizeBytes || len(x.Names) != len(y.Names) {
			return false
		}
		for k := range x.Names {
			if x.Names[k] != y.Names[k] {
				return false
			}
		}
	}
	return true
}

// readChanged reports whether something differs that the states of some shape read.
func (r *reuse) readChanged(a, b *v1.Node) bool {
	for read := range r.reads {
		if key, ok := cutLabel(read); ok {
			x, hadX := a.Labels[key]
			y, hadY := b.Labels[key]
			if x != y || hadX != hadY {
				return true
			}
			continue
		}
		if read == "name" {
			continue
		}
		return true // taints and what else a constraint may honour: seldom read
	}
	return false
}

func cutLabel(read string) (key string, ok bool) {
	const prefix = "label:"
	if len(read) > len(prefix) && read[:len(prefix)] == prefix {
		return read[len(prefix):], true
	}
	return "", false
}

// shape returns the shape of a pod, up to date; nil when the pod must be decided node by node. A shape without heaps is one
// that the pod shares with others that ask for something else.
func (r *reuse) shape(pod *v1.Pod) *shape {
	if !simple(pod) {
		return nil
	}
	r.watch()
	r.key.b = r.key.b[:0]
	r.key.pod(pod)
	for _, f := range r.plan.custom {
		r.key.b = f.AppendKey(r.key.b, pod)
	}
	if s, ok := r.shapes[string(r.key.b)]; ok {
		return r.use(s)
	}
	key := string(r.key.b)
	if _, again := r.seen[key]; !again {
		remember(r.seen, key)
		return r.part(pod, key)
	}
	if len(r.shapes) >= maxShapes {
		r.forget()
	}
	s := r.promoted(pod, key)
	if s == nil {
		s = &shape{reuse: r, pod: pod, key: key, heaps: true}
		s.build()
	}
	r.shapes[key] = s
	return r.use(s)
}

// remember puts a key into a set of limited size.
func remember(set map[string]struct{}, key string) {
	if len(set) >= maxSeen {
		clear(set)
	}
	set[key] = struct{}{}
}

// use brings a shape up to date; nil when it does not serve.
func (r *reuse) use(s *shape) *shape {
	if s.follow() {
		return s
	}
	return nil
}

// part returns the shape of all pods that the states cannot tell from this one; nil when there is none. Once a second pod
// has asked for the same, it has heaps for those that do.
func (r *reuse) part(pod *v1.Pod, key string) *shape {
	heaps, ok := r.partKey(pod)
	if !ok {
		return nil
	}
	s, ok := r.parts[string(r.key.b)]
	if !ok {
		if len(r.parts) >= maxShapes {
			r.forget()
		}
		part := string(r.key.b)
		s = &shape{reuse: r, pod: pod, key: key, heaps: heaps, shared: true}
		s.build()
		r.parts[part] = s
	}
	s.served++
	return r.use(s)
}

// partKey makes the key of a part, and reports whether it has heaps.
func (r *reuse) partKey(pod *v1.Pod) (heaps, ok bool) {
	own, ok := r.compile(pod)
	if !ok {
		return false, false
	}
	r.key.b = r.key.b[:0]
	r.key.rows(pod, r.log)
	if _, heaps = r.asked[string(r.key.b)]; !heaps {
		remember(r.asked, string(r.key.b))
		r.key.b = r.key.b[:0]
	}
	r.key.flag(heaps)
	r.key.text(pod.Namespace)
	r.key.statics(r.plan, pod)
	r.key.part(own, pod, r)
	return heaps, true
}

// promoted returns the part that was made for this pod and has served no other, as the pod's own shape; nil without one.
func (r *reuse) promoted(pod *v1.Pod, key string) *shape {
	if _, ok := r.partKey(pod); !ok {
		return nil
	}
	s := r.parts[string(r.key.b)]
	if s == nil || !s.heaps || s.key != key || s.served > 1 {
		return nil
	}
	delete(r.parts, string(r.key.b)) // it has not followed the log yet: what it remembers of term sets is still nothing
	s.shared, s.termsets = false, nil
	return s
}

// simple reports whether nothing about the pod needs more than nodes, pods, namespaces and owners.
func simple(pod *v1.Pod) bool {
	if len(pod.Spec.ResourceClaims) > 0 || pod.Status.NominatedNodeName != "" {
		return false
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i].VolumeSource
		if v.EmptyDir == nil && v.ConfigMap == nil && v.Secret == nil && v.Projected == nil && v.DownwardAPI == nil && v.HostPath == nil {
			return false
		}
	}
	return true
}

// ranks returns the place in scan order of each slot.
func (r *reuse) ranks() []int32 {
	order := r.plan.order()
	if len(r.of) != len(order) || len(order) > 0 && &r.of[0] != &order[0] || len(r.ranked) != r.log.Len() {
		r.ranked, r.of = make([]int32, r.log.Len()), order
		for k, i := range order {
			r.ranked[i] = int32(k)
		}
	}
	return r.ranked
}
