package reuse

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/key"
)

// shape is the kept work for one kind of pod: statics, states that follow the cluster, and a layout of the nodes.
type shape struct {
	engine *Engine
	pod    *v1.Pod
	key    string // of that pod
	asked  string // key of the pod that is asked about
	heaps  bool   // the layout has heaps over kept rows
	shared bool   // with pods of other keys
	served int    // how many pods a shared shape has served
	usable bool
	cursor cursor

	static  *statics
	rows    *rows
	counted []counted
	layout  *layout

	predicates filter.Predicates // in profile order
	scorers    []Ranking         // in profile order, without those over rows
	own        int               // position of the predicate that reads rows; -1: none
	plugin     []int             // place in the profile of each predicate
	front      int               // predicates in front of the first that is not static
	order      []int             // place in the profile of each scorer
	changes    int               // of the cursor of the statics, when the lists were put together

	effects effects
	moved   []int32  // slots where counts changed
	shifts  bool     // a state is Shifting
	account bool     // a state is Accountable
	shifted []uint64 // by state: the version that the exceptions have followed
	stamp   uint64   // of the engine, when the states changed last

	exceptions exceptions
}

// counted is the state of one plugin of group States.
type counted struct {
	plugin   int
	compiled Compiled
	state    State
	keys     int // topology keys when the layout was made
}

// compiled is what the plugins of group States make of a pod, without the plugins that skip the pod.
type compiled struct {
	list []counted
	ok   bool // no plugin fails
}

// compile asks the plugins of group States.
func (e *Engine) compile(pod *v1.Pod) compiled {
	var out compiled
	for k, c := range e.counting {
		if c == nil {
			continue
		}
		x, err := c.Compile(pod)
		if err != nil {
			return compiled{}
		}
		if x != nil {
			out.list = append(out.list, counted{plugin: k, compiled: x})
		}
	}
	out.ok = true
	return out
}

// appendKey appends what the states depend on.
func (c compiled) appendKey(dst []byte) []byte {
	for k := range c.list {
		dst = key.Len(dst, c.list[k].plugin)
		at := len(dst)
		dst = key.Close(c.list[k].compiled.AppendKey(key.Open(dst)), at)
	}
	return dst
}

// groupOf returns the group of a slot: that of an exception, or that of the layout.
func (s *shape) groupOf(i int32) *group {
	if x := &s.exceptions; x.has(i) {
		return &x.list[x.of[i]]
	}
	return &s.layout.list[s.layout.of[i]]
}

// verdict returns the rejection of all nodes of a group by a predicate before the predicate that reads rows; the zero value when
// there is none. Predicate is the place in the profile.
func (s *shape) verdict(g *group) filter.Rejection {
	if v := s.static.verdict[g.class]; v.Verdict != 0 {
		return v
	}
	return g.before
}

// build makes everything from the start, over these statics; nil: those of the pod.
func (s *shape) build(c compiled, t *statics) {
	e := s.engine
	*s = shape{engine: e, pod: s.pod, key: s.key, asked: s.asked, heaps: s.heaps, shared: s.shared, served: s.served,
		cursor: e.now()}
	if !c.ok {
		return
	}
	if t == nil {
		t = e.staticsOf(s.pod)
	}
	if s.static = t; !t.usable {
		return
	}
	if s.heaps {
		if s.rows = e.rowsOf(s.pod); s.rows == nil {
			return
		}
	}
	s.counted = c.list
	for k := range s.counted {
		x := &s.counted[k]
		x.state = x.compiled.Count()
		x.keys = x.state.Keys()
		e.read(x.state)
		_, shifts := x.state.(Shifting)
		_, account := x.state.(Accountable)
		s.shifts, s.account = s.shifts || shifts, s.account || account
	}
	e.stamp++
	s.stamp = e.stamp
	s.assemble()
	if s.usable = s.inOrder(); s.usable {
		e.lay(s)
	}
}

// rebuild is build for a shape whose states are out of date.
func (s *shape) rebuild() {
	c := s.engine.compile(s.pod)
	if s.shared {
		s.engine.room.key = c.appendKey(s.engine.room.key[:0]) // for its side effect: it notes which term sets match
	}
	s.build(c, nil)
}

// read records what a state reads of nodes.
func (e *Engine) read(s State) {
	for _, x := range s.Reads(nil) {
		e.reads[x] = struct{}{}
	}
}

// assemble puts predicates and scorers together in profile order.
func (s *shape) assemble() {
	e := s.engine
	s.changes, s.own = s.static.cursor.changes, -1
	s.predicates, s.scorers, s.plugin, s.order = nil, nil, s.plugin[:0], s.order[:0]
	for at, k := range e.filters {
		f := s.static.filters[at]
		switch e.plugins[k].Group {
		case Rows:
			if s.own = len(s.plugin); s.rows != nil {
				f = s.rows.filter
			} else {
				f = unscanned{}
			}
		case States:
			if x := s.stateOf(k); x != nil {
				f = x.Filter()
			}
		}
		if f != nil {
			s.predicates, s.plugin = append(s.predicates, f), append(s.plugin, at)
		}
	}
	for at, k := range e.scores {
		p := &e.plugins[k]
		x := s.static.scorers[at]
		if p.Group == States {
			if state := s.stateOf(k); state != nil {
				x = state.Score()
			}
		}
		if x != nil {
			s.scorers, s.order = append(s.scorers, NewRanking(x, p.Name, p.Weight)), append(s.order, at)
		}
	}
	s.front = len(s.plugin)
	for at, k := range s.plugin {
		if k >= s.static.front {
			s.front = at
			break
		}
	}
}

// stateOf returns the state of a plugin; nil when it has none.
func (s *shape) stateOf(plugin int) State {
	for k := range s.counted {
		if s.counted[k].plugin == plugin {
			return s.counted[k].state
		}
	}
	return nil
}

// unscanned takes the place of the predicate that reads rows until a scan sets the predicate of its pod.
type unscanned struct{ filter.Predicate }

// inOrder reports whether all predicates before the predicate that reads rows give the nodes of a group one verdict: the groups count
// first rejections in that order.
func (s *shape) inOrder() bool {
	for k := s.front; k < s.own; k++ {
		plugin := s.engine.filters[s.plugin[k]]
		if _, ok := s.engine.counting[plugin].(Dividing); !ok && s.engine.plugins[plugin].Group != Statics {
			return false
		}
	}
	return true
}

// divide asks the predicates between those in front and the predicate that reads rows about each group. It reports false when a
// predicate fails.
func (s *shape) divide() bool {
	if s.own <= s.front {
		return true
	}
	between := s.predicates[s.front:s.own]
	for g := range s.layout.list {
		x := &s.layout.list[g]
		if x.before = (filter.Rejection{}); x.size == 0 || s.verdict(x).Verdict != 0 {
			continue
		}
		r := between.First(int(x.member))
		if between.Err(r, int(x.member)) != nil {
			return false
		}
		x.before = filter.Rejection{Predicate: uint16(s.plugin[s.front+int(r.Predicate)]), Verdict: r.Verdict}
	}
	for g := range s.exceptions.list {
		x := &s.exceptions.list[g]
		x.before = s.layout.list[x.base].before
	}
	return true
}

// use brings the shape up to date for a pod; nil when the shape cannot be used.
func (s *shape) use(pod *v1.Pod) *shape {
	s.pod = pod // of the same key: the objects that an earlier pod names may be gone
	if s.follow() {
		return s
	}
	return nil
}

// follow brings the shape to the version of the cluster and reports whether it can be used.
func (s *shape) follow() bool {
	e := s.engine
	if !s.usable {
		return false
	}
	s.static.pod = s.pod // objects that an earlier pod names may be gone
	if s.static.follow(e); !s.static.usable {
		s.usable = false
		return false
	}
	if s.changes != s.static.cursor.changes {
		s.assemble()
	}
	n := e.catchUp(&s.cursor)
	if s.rows != nil && !s.rows.follow(e) || !s.moveStates(&n) {
		s.rebuild()
		return s.usable
	}
	if s.newKeys() { // a running pod brought a new topology key
		s.moved = s.moved[:0]
		e.lay(s)
		return true
	}
	s.layout.follow(e, s)
	for _, i := range n.nodes() {
		s.exceptions.move(s, i)
	}
	for _, i := range s.moved {
		s.exceptions.move(s, i)
	}
	s.moved = s.moved[:0]
	if s.shifts && s.exceptions.some() {
		s.shift(s.shifted, func(i int) { s.exceptions.move(s, int32(i)) })
	}
	return true
}

// moveStates applies the events. It reports false when the log does not reach back that far.
func (s *shape) moveStates(n *news) bool {
	blocks, known := n.events()
	for _, events := range blocks {
		for i := range events {
			e := &events[i]
			if e.N == 0 { // no pods came or left
				continue
			}
			if s.exceptions.has(e.Node) {
				s.exceptions.rank(s, e.Node)
			}
			if !s.effects.none(e) {
				s.apply(e)
			}
		}
	}
	return known
}

// shift yields the slots whose domains may have changed since the versions, by state, and writes the versions now. A nil yield
// asks for the versions alone.
func (s *shape) shift(versions []uint64, yield func(slot int)) {
	for k := range s.counted {
		if x, ok := s.counted[k].state.(Shifting); ok {
			versions[k] = x.Shifted(versions[k], yield)
		}
	}
}

// newKeys reports whether a state counts by more topology keys than the layout has.
func (s *shape) newKeys() bool {
	grown := false
	for k := range s.counted {
		if x := &s.counted[k]; x.keys != x.state.Keys() {
			x.keys, grown = x.state.Keys(), true
			s.engine.read(x.state)
		}
	}
	return grown
}

// apply applies one event to the states.
func (s *shape) apply(e *cluster.Event) {
	moves := s.effects.ofSet(s, e.Set)
	for _, m := range moves {
		m(int(e.Node), e.N)
	}
	moved := moves != nil
	if e.Terms >= 0 {
		moves = s.effects.ofTerms(s, e.Terms)
		for _, m := range moves {
			m(int(e.Node), e.N)
		}
		moved = moved || moves != nil
	}
	if moved {
		s.moved = append(s.moved, e.Node)
		s.engine.stamp++
		s.stamp = s.engine.stamp
	}
}

// kind returns which pods the filters judge like the pod that is asked about.
func (s *shape) kind() Kind {
	switch e := s.engine; {
	case s.shifts || s.account || s.static.storage:
		return Kind{}
	case len(s.counted) > 0:
		return Kind{s.asked, 4*s.stamp + 1}
	case e.survives:
		return Kind{s.asked, 4*uint64(e.columns) + 2} // verdicts name columns
	default:
		return Kind{s.asked, 4*e.forgot + 3}
	}
}
