package reuse

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/intern"
)

// statics is what changes only with the object of a node, for pods that tolerate and select the same: verdicts and raw scores,
// by class of nodes with the same static signature.
type statics struct {
	usable  bool
	storage bool    // storage objects matter to the pods
	pod     *v1.Pod // one of those pods
	cursor  cursor
	filters []filter.Predicate // by filter of the profile; nil: skipped, or not static
	scorers []Scorer           // by score of the profile; nil likewise
	front   int                // filters of the profile in front of the first that is not static

	plugins []nodePlugin       // the predicates and scorers in these lists
	class   []int32            // by slot
	verdict []filter.Rejection // by class, of the predicates in front; Predicate is the place in the profile
	raw     [][]int64          // by class, by score of the profile

	partition  string       // name of the partition that has the classes; "": the classes are by what the plugins answer
	signatures intern.Lists // of the classes, without a partition
}

// staticsOf returns the statics of a pod, up to date.
func (e *Engine) staticsOf(pod *v1.Pod) *statics {
	e.buffers.key = e.staticKeys.append(e.buffers.key[:0], pod)
	if t, ok := e.statics[string(e.buffers.key)]; ok {
		t.pod = pod
		t.follow(e)
		return t
	}
	t := &statics{pod: pod, class: make([]int32, e.log.Len()), cursor: e.now(), storage: e.readsStorage(pod)}
	e.statics[string(e.buffers.key)] = t
	if t.usable = t.prepare(e); t.usable {
		t.classifyAll(e)
	}
	return t
}

// prepare prepares the plugins. It reports false when a plugin rejects the pod before any node, names the only nodes, fails, or
// has no signature.
func (t *statics) prepare(e *Engine) bool {
	t.filters, t.scorers, t.plugins = make([]filter.Predicate, len(e.filters)), make([]Scorer, len(e.scores)), t.plugins[:0]
	t.front = len(e.filters)
	for at, k := range e.filters {
		p := &e.plugins[k]
		if p.Group != Statics {
			t.front = min(t.front, at)
			continue
		}
		f, ok := p.Predicate(t.pod)
		if !ok {
			return false
		}
		if f == nil {
			continue
		}
		x := nodePlugin{filter: f}
		if !x.describe(f) {
			e.unsigned[p.Name] = struct{}{}
			return false
		}
		t.filters[at], t.plugins = f, append(t.plugins, x)
	}
	for at, k := range e.scores {
		p := &e.plugins[k]
		if p.Group != Statics {
			continue
		}
		s, err := p.Scorer(t.pod)
		if err != nil {
			return false
		}
		if s == nil {
			continue
		}
		x := nodePlugin{scorer: s}
		if !x.describe(s) {
			e.unsigned[p.Name] = struct{}{}
			return false
		}
		t.scorers[at], t.plugins = s, append(t.plugins, x)
	}
	return true
}

// classify finds the class of a slot.
func (t *statics) classify(i int) {
	x := &t.signatures
	x.Next = x.Next[:0]
	for k := range t.plugins {
		x.Next = t.plugins[k].appendAnswer(x.Next, i)
	}
	id, known := x.Number()
	if !known {
		t.judge(i)
	}
	t.class[i] = id
}

// judge appends the answers about a slot, for a new class. When a predicate fails the statics are not usable.
func (t *statics) judge(i int) {
	r := t.first(i)
	if filter.Predicates(t.filters).Err(r, i) != nil {
		t.usable = false
	}
	t.verdict, t.raw = append(t.verdict, r), append(t.raw, t.raws(i))
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

// follow classifies the changed nodes again.
func (t *statics) follow(e *Engine) {
	n := e.catchUp(&t.cursor)
	changed := n.nodes()
	if len(changed) == 0 || !t.usable {
		return
	}
	if t.usable = t.prepare(e); t.usable {
		for _, slot := range changed {
			if e.nodes[slot] != nil {
				t.classify(int(slot))
			}
		}
	}
}
