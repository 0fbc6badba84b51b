package placement

import (
	"encoding/binary"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
)

// statics is what only a change of a node can change, for pods that tolerate and select the same: verdicts and raw scores of
// classes of nodes that have the same static signature.
type statics struct {
	usable  bool
	pod     *v1.Pod            // one of those pods
	changes int                // of the reuse, followed so far
	filters []filter.Predicate // by plugin of the profile; nil: skipped, or not static
	scorers []Scorer           // by score of the profile; nil likewise
	front   int                // plugins of the profile in front of the first that is not static

	signed  []Signed
	class   []int32 // by slot
	index   map[string]int32
	verdict []filter.Rejection // by class, of the predicates in front; Predicate is the plugin's place in the profile
	raw     [][]int64          // by class, by static scorer in profile order
	scratch signature
}

// signature is a list of integers with its bytes, to be looked up in a map.
type signature struct {
	ints  []int32
	bytes []byte
}

func (g *signature) key() []byte {
	g.bytes = g.bytes[:0]
	for _, x := range g.ints {
		g.bytes = binary.LittleEndian.AppendUint32(g.bytes, uint32(x))
	}
	return g.bytes
}

// static reports whether a plugin looks at nodes only. A plugin of the user's does if it is Reusable.
func static(plugin any) bool {
	switch plugin.(type) {
	case NodeUnschedulable, NodeName, TaintToleration, NodeAffinity, NodeDeclaredFeatures, DynamicResources:
		return true
	}
	_, ok := plugin.(Reusable)
	return ok
}

// staticsOf returns the statics of a pod, up to date.
func (r *reuse) staticsOf(pod *v1.Pod) *statics {
	r.key.b = r.key.b[:0]
	r.key.statics(r.plan, pod)
	if t, ok := r.static[string(r.key.b)]; ok {
		t.follow(r)
		return t
	}
	key := string(r.key.b)
	t := &statics{pod: pod, index: map[string]int32{}, class: make([]int32, r.log.Len()), changes: len(r.changes)}
	r.static[key] = t
	if t.usable = t.prepare(r); t.usable {
		for _, i := range r.plan.order() {
			t.classify(i)
		}
	}
	return t
}

// prepare asks the plugins. It reports false when one rejects the pod as a whole, narrows the nodes or cannot be kept.
func (t *statics) prepare(r *reuse) bool {
	profile := &r.plan.profile
	t.filters, t.scorers, t.signed = make([]filter.Predicate, len(profile.Filters)), make([]Scorer, len(profile.Scores)), t.signed[:0]
	t.front = len(profile.Filters)
	for k, plugin := range profile.Filters {
		if !static(plugin) {
			t.front = min(t.front, k)
			continue
		}
		f := plugin.Filter(t.pod, r.log)
		if f.Code == filter.Skip || f.Code == filter.Success && f.Predicate == nil && f.Nodes == nil {
			continue
		}
		signed, ok := f.Predicate.(Signed)
		if f.Code != filter.Success || f.Nodes != nil || !ok {
			return false
		}
		t.filters[k], t.signed = f.Predicate, append(t.signed, signed)
	}
	for k, w := range profile.Scores {
		if !static(w.Plugin) {
			continue
		}
		s, err := w.Plugin.Score(t.pod, r.log)
		if err != nil {
			return false
		}
		if s == nil {
			continue
		}
		signed, ok := s.(Signed)
		if !ok {
			return false
		}
		t.scorers[k], t.signed = s, append(t.signed, signed)
	}
	return true
}

// classify gives a slot its class.
func (t *statics) classify(i int) {
	t.scratch.ints = t.scratch.ints[:0]
	for _, s := range t.signed {
		t.scratch.ints = s.AppendSignature(t.scratch.ints, i)
	}
	id, ok := t.index[string(t.scratch.key())]
	if !ok {
		id = int32(len(t.verdict))
		t.index[string(t.scratch.bytes)] = id
		t.verdict, t.raw = append(t.verdict, t.first(i)), append(t.raw, t.raws(i))
	}
	t.class[i] = id
}

func (t *statics) first(i int) filter.Rejection {
	for k, p := range t.filters[:t.front] {
		if p == nil {
			continue
		}
		if v := p.Check(i); v != 0 {
			return filter.Rejection{Predicate: uint16(k), Verdict: v}
		}
	}
	return filter.Rejection{}
}

func (t *statics) raws(i int) []int64 {
	raw := make([]int64, len(t.scorers))
	for k, s := range t.scorers {
		if s != nil {
			raw[k] = s.Raw(i)
		}
	}
	return raw
}

// follow classifies the changed nodes anew.
func (t *statics) follow(r *reuse) {
	if t.changes == len(r.changes) {
		return
	}
	changed := r.changes[t.changes:]
	t.changes = len(r.changes)
	if !t.usable {
		return
	}
	if t.usable = t.prepare(r); t.usable {
		for _, c := range changed {
			t.classify(int(c.slot))
		}
	}
}
