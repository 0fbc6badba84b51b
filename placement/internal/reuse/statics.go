package reuse

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/hooks"
)

// statics is what changes only with the object of a node, for pods that tolerate and select the same: verdicts and raw scores by class of nodes.
type statics struct {
	usable  bool
	storage bool    // storage objects matter to the pods
	pod     *v1.Pod // one of those pods
	cursor  cursor
	filters []filter.Predicate // by filter of the profile; nil: skipped, or not static
	scorers []hooks.Scorer     // by score of the profile; nil likewise
	front   int                // filters of the profile in front of the first that is not static
	plugins []nodePlugin       // the predicates and scorers in these lists

	prepared int  // how often these were prepared
	stale    bool // nodes changed since. What is known of the classes holds
	live     bool // decisions ask a predicate or a scorer, beside what is known of the classes

	classes *classes           // nil: not usable
	verdict []filter.Rejection // by class, of the predicates in front; Predicate is the place in the profile
	raw     [][]int64          // by class, by score of the profile
}

// nodePlugin is a predicate or a scorer with KeepByNode.
type nodePlugin struct {
	filter filter.Predicate // nil: a scorer
	scorer hooks.Scorer
	signed hooks.Signed // nil: reader
	reader hooks.Reader
}

// appendAnswer appends integers that determine the answer about a slot. A signature has its length behind it, because it may have
// another length for every slot.
func (a *nodePlugin) appendAnswer(dst []int32, i int) []int32 {
	switch {
	case a.signed != nil:
		n := len(dst)
		dst = a.signed.AppendSignature(dst, i)
		return append(dst, int32(len(dst)-n))
	case a.filter != nil:
		return append(dst, int32(a.filter.Check(i)))
	}
	raw := a.scorer.Raw(i)
	return append(dst, int32(raw), int32(raw>>32))
}

// staticsOf returns the statics of a pod, up to date.
func (e *Engine) staticsOf(pod *v1.Pod) *statics {
	e.buffers.key = e.staticKeys.append(e.buffers.key[:0], pod)
	if t, ok := e.statics[string(e.buffers.key)]; ok && t.follow(e, pod) {
		return t
	}
	t := &statics{pod: pod, cursor: e.present, storage: e.readsStorage(pod)}
	e.statics[string(e.buffers.key)] = t
	if t.usable = t.prepare(e); t.usable {
		t.classes = e.classesOf(t)
		t.judge()
	}
	return t
}

// prepare prepares the plugins. It reports false when a plugin rejects the pod before any node, names the only nodes, fails, or has no signature.
func (t *statics) prepare(e *Engine) bool {
	t.filters, t.scorers = make([]filter.Predicate, len(e.filters)), make([]hooks.Scorer, len(e.scores))
	plugins := e.buffers.plugins[:0]
	t.front, t.live, t.stale = len(e.filters), false, false
	t.prepared++
	add := func(p *hooks.Plugin, x any, a nodePlugin) bool {
		a.reader, _ = x.(hooks.Reader)
		a.signed, _ = x.(hooks.Signed)
		if a.reader == nil && a.signed == nil {
			e.unsigned[p.Name] = struct{}{}
			return false
		}
		plugins = append(plugins, a)
		return true
	}
	for at, k := range e.filters {
		p := &e.plugins[k]
		if p.Keep != hooks.KeepByNode {
			t.front = min(t.front, at)
			continue
		}
		f, ok := p.Predicate(t.pod)
		if !ok || f != nil && !add(p, f, nodePlugin{filter: f}) {
			return false
		}
		t.filters[at] = f
		t.live = t.live || f != nil && at > t.front
	}
	for at, k := range e.scores {
		p := &e.plugins[k]
		if p.Keep != hooks.KeepByNode {
			continue
		}
		s, err := p.Scorer(t.pod)
		if err != nil || s != nil && !add(p, s, nodePlugin{scorer: s}) {
			return false
		}
		t.scorers[at] = s
		_, weighs := s.(hooks.Weigher)
		_, ignores := s.(hooks.Ignorer)
		t.live = t.live || weighs || ignores
	}
	e.buffers.plugins, t.plugins = plugins, slices.Clone(plugins)
	return true
}

// reads appends to an empty list what the plugins read of a node, sorted; false when a plugin does not say so.
func (t *statics) reads(reads []string) (list []string, ok bool) {
	for k := range t.plugins {
		if t.plugins[k].reader == nil {
			return reads, false
		}
		reads = t.plugins[k].reader.Reads(reads)
	}
	slices.Sort(reads)
	return slices.Compact(reads), true
}

// judge asks about the classes that are new. When a predicate fails the statics are not usable.
func (t *statics) judge() {
	reps, n := t.classes.reps[len(t.verdict):], len(t.scorers)
	t.verdict, t.raw = slices.Grow(t.verdict, len(reps)), slices.Grow(t.raw, len(reps))
	block := make([]int64, n*len(reps))
	for _, slot := range reps {
		var r filter.Rejection
		raw := block[:n:n]
		if block = block[n:]; slot >= 0 {
			r = t.first(int(slot))
			t.usable = t.usable && filter.Predicates(t.filters).Err(r, int(slot)) == nil
			t.score(raw, int(slot))
		}
		t.verdict, t.raw = append(t.verdict, r), append(t.raw, raw)
	}
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

// score writes the raw scores of a slot, by score of the profile, over zeros.
func (t *statics) score(raw []int64, i int) []int64 {
	for k, s := range t.scorers {
		if s != nil {
			raw[k] = s.Raw(i)
		}
	}
	return raw
}

// follow classifies the changed nodes again. The objects that an earlier pod names may be gone, so that this pod is asked about from now on.
// follow reports false when the statics must be made again, because their classes were dropped.
func (t *statics) follow(e *Engine, pod *v1.Pod) bool {
	t.pod = pod
	n := e.catchUp(&t.cursor)
	switch changed := n.nodes(); {
	case !t.usable:
	case t.classes.dropped:
		return false
	case len(changed) == 0:
	case t.classes.name == "":
		if t.usable = t.prepare(e); !t.usable {
			break
		}
		for _, slot := range changed {
			if e.nodes[slot] != nil {
				t.classes.byAnswers(t, int(slot))
			}
		}
		t.judge()
	case !t.classes.follow(e):
		return false
	default:
		t.stale = true
		if known := len(t.verdict) == len(t.classes.reps); (t.live || !known) && t.refresh(e) {
			t.judge()
		}
	}
	return true
}

// refresh prepares the plugins again if they are stale. It reports whether the statics are usable.
func (t *statics) refresh(e *Engine) bool {
	if t.stale && t.usable {
		t.usable = t.prepare(e)
	}
	return t.usable
}
