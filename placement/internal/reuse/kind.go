package reuse

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/placement/internal/hooks"
)

// podKind is the kept work for one kind of pod: statics, states that follow the cluster, and a layout of the nodes.
type podKind struct {
	engine  *Engine
	pod     *v1.Pod
	madeFor string // the key of the pod that the kind was made for
	podKey  string // that of the pod that is asked about
	heaps   bool   // the layout has heaps over kept rows
	usable  bool
	sharing
	cursor cursor

	static  *statics
	rows    *rows      // nil: the kind has no heaps
	row     rowPlugins // without kept rows: those of the pod that is asked about
	counted []counted
	layout  *layout

	predicates filter.Predicates // in profile order
	scorers    []hooks.Ranking   // in profile order, without those over rows
	rowsAt     int               // position of the predicate that reads rows; -1: none
	plugin     []int             // place in the profile of each predicate
	front      int               // predicates in front of the first that is not static
	order      []int             // place in the profile of each scorer
	prepared   int               // how often the statics were prepared, when the lists were put together

	effects       effects
	recounted     []int32  // slots where counts changed
	given         bool     // an answer, or another caller, has predicates of the states
	shifts        bool     // a state is Shifting
	perPod        bool     // a state is PerPod
	shifted       []uint64 // by state: the version that the exceptions have followed
	statesChanged uint64   // stateChanges of the engine when the states changed last

	exceptions exceptions
	apart      apart
}

// counted is the state of one plugin with KeepByAllPods.
type counted struct {
	plugin   int
	compiled hooks.Compiled
	state    hooks.State
	keys     int    // topology keys when the layout was made
	key      [2]int // where its key is in the engine's buffer
	idle     bool   // the state counts no running pod; a pod for which one counts has another key
}

// compile asks the plugins with KeepByAllPods. It leaves out the plugins that skip the pod, and returns nil when a plugin fails.
func (e *Engine) compile(pod *v1.Pod) []counted {
	out := []counted{}
	for k, c := range e.counting {
		if c == nil {
			continue
		}
		x, err := c.Compile(pod)
		if err != nil {
			return nil
		}
		if x != nil {
			out = append(out, counted{plugin: k, compiled: x})
		}
	}
	return out
}

// appendStateKeys appends what the states depend on.
func appendStateKeys(dst []byte, c []counted) []byte {
	for k := range c {
		x := &c[k]
		from := len(dst)
		dst = key.Len(dst, x.plugin)
		at := len(dst)
		dst = key.Close(x.compiled.AppendKey(key.Open(dst)), at)
		x.key = [2]int{from, len(dst)}
	}
	return dst
}

// appendIdleKeys appends what the states depend on as long as some count no running pod, which it marks. It reports false when there are none. keys are
// those of appendStateKeys.
func appendIdleKeys(dst, keys []byte, c []counted) (_ []byte, some bool) {
	for k := range c {
		x := &c[k]
		if i, may := x.compiled.(hooks.Idle); may {
			from := len(dst)
			dst = key.Len(dst, x.plugin)
			at := len(dst)
			if dst, x.idle = i.AppendIdleKey(key.Open(dst)); x.idle {
				dst, some = key.Close(dst, at), true
				continue
			}
			dst = dst[:from]
		}
		dst = append(dst, keys[x.key[0]:x.key[1]]...)
	}
	return dst, some
}

// groupOf returns the group of a slot: that of an exception, or that of the layout.
func (s *podKind) groupOf(i int32) *group {
	if x := &s.exceptions; x.has(i) {
		return &x.list[x.of[i]]
	}
	return &s.layout.list[s.layout.of[i]]
}

// verdict returns the rejection of all nodes of a group by a predicate before the predicate that reads rows; the zero value when
// there is none. Predicate is the place in the profile.
func (s *podKind) verdict(g *group) filter.Rejection {
	if v := s.static.verdict[g.class]; v.Verdict != 0 {
		return v
	}
	return s.layout.list[g.base].before
}

// build makes everything from the start.
func (s *podKind) build(c []counted) {
	e := s.engine
	*s = podKind{engine: e, pod: s.pod, madeFor: s.madeFor, podKey: s.podKey, sharing: s.sharing, heaps: s.heaps, cursor: e.present}
	if c == nil {
		return
	}
	if s.static = e.staticsOf(s.pod); !s.static.usable {
		return
	}
	if s.heaps {
		if s.rows = e.rowsOf(s.pod); s.rows == nil {
			return
		}
	}
	s.counted = c
	for k := range s.counted {
		x := &s.counted[k]
		x.state = e.count(x.compiled)
		x.keys = x.state.Keys()
		e.read(x.state)
		_, shifts := x.state.(hooks.Shifting)
		_, perPod := x.state.(hooks.PerPod)
		s.shifts, s.perPod = s.shifts || shifts, s.perPod || perPod
	}
	e.stateChanges++
	s.statesChanged = e.stateChanges
	s.assemble()
	if s.usable = s.inOrder(); s.usable {
		e.divideNodes(s)
	}
}

// rebuild is build for a kind whose states are out of date.
func (s *podKind) rebuild() {
	c := s.engine.compile(s.pod)
	if s.heaps {
		s.leaveOthers()
	} else {
		s.engine.buffers.key = appendStateKeys(s.engine.buffers.key[:0], c) // for its side effect: it notes which term sets match
		for k := range c {
			c[k].idle = slices.ContainsFunc(s.counted, func(x counted) bool { return x.plugin == c[k].plugin && x.idle })
		}
	}
	s.build(c)
}

// assemble puts predicates and scorers together in profile order.
func (s *podKind) assemble() {
	e := s.engine
	s.prepared, s.rowsAt = s.static.prepared, -1
	predicates, scorers := e.buffers.predicates[:0], e.buffers.scorers[:0]
	s.plugin, s.order = slices.Grow(s.plugin[:0], len(e.filters)), slices.Grow(s.order[:0], len(e.scores))
	for at, k := range e.filters {
		f := s.static.filters[at]
		switch e.plugins[k].Keep {
		case hooks.KeepByNodeAndPods:
			if s.rowsAt = len(s.plugin); s.rows != nil {
				f = s.rows.filter
			} else {
				f = struct{ filter.Predicate }{} // until a scan sets the predicate of its pod
			}
		case hooks.KeepByAllPods:
			if x := s.stateOf(k); x != nil {
				f = x.Filter()
			}
		}
		if f != nil {
			predicates, s.plugin = append(predicates, f), append(s.plugin, at)
		}
	}
	for at, k := range e.scores {
		p := &e.plugins[k]
		x := s.static.scorers[at]
		if p.Keep == hooks.KeepByAllPods {
			if state := s.stateOf(k); state != nil {
				x = state.Score()
			}
		}
		if x != nil {
			scorers, s.order = append(scorers, hooks.NewRanking(x, p.Name, p.Weight)), append(s.order, at)
		}
	}
	e.buffers.predicates, e.buffers.scorers = predicates, scorers
	s.predicates, s.scorers = append(s.predicates[:0], predicates...), append(s.scorers[:0], scorers...)
	s.front, _ = slices.BinarySearch(s.plugin, s.static.front)
}

// refresh makes the predicates new, for somebody who asks them about nodes. It reports false when a plugin fails.
func (s *podKind) refresh() bool {
	if !s.static.refresh(s.engine) {
		return false
	}
	if s.prepared != s.static.prepared {
		if s.assemble(); s.rows == nil && s.rowsAt >= 0 {
			s.predicates[s.rowsAt] = s.row.filter
		}
	}
	return true
}

// stateOf returns the state of a plugin; nil when it has none.
func (s *podKind) stateOf(plugin int) hooks.State {
	for k := range s.counted {
		if s.counted[k].plugin == plugin {
			return s.counted[k].state
		}
	}
	return nil
}

// inOrder reports whether all predicates before the predicate that reads rows give the nodes of a group one verdict: the groups count
// first rejections in that order.
func (s *podKind) inOrder() bool {
	for k := s.front; k < s.rowsAt; k++ {
		plugin := s.engine.filters[s.plugin[k]]
		if _, ok := s.engine.counting[plugin].(hooks.Dividing); !ok && s.engine.plugins[plugin].Keep != hooks.KeepByNode {
			return false
		}
	}
	return true
}

// verdictKey returns which pods the filters judge like the pod that is asked about.
func (s *podKind) verdictKey() VerdictKey {
	switch e := s.engine; {
	case s.shifts || s.perPod || s.static.storage:
		return VerdictKey{}
	case len(s.counted) > 0:
		return VerdictKey{s.podKey, 4*s.statesChanged + 1}
	default:
		return e.nodeKey(s.podKey)
	}
}

// nodeKey is the key of pods of which no filter counts pods.
func (e *Engine) nodeKey(pods string) VerdictKey {
	if e.survives {
		return VerdictKey{pods, 4*uint64(e.columns) + 2} // verdicts name columns
	}
	return VerdictKey{pods, 4*e.forgotAt + 3}
}
