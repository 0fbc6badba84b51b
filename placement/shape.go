package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/spread"
)

// shape is a pod prepared for good: statics, states that follow the cluster, and a layout of the nodes.
type shape struct {
	reuse   *reuse
	pod     *v1.Pod
	key     string // of that pod
	heaps   bool   // the layout has heaps over kept rows
	shared  bool   // with pods of other keys
	served  int    // how many pods a shared shape has served
	usable  bool
	epoch   uint64
	version uint64
	columns int // of the schema

	compiled
	static *statics
	rows   *rows
	hard   *spread.HardState
	soft   *spread.SoftState
	pods   *affinity.State
	keys   int // topology keys of pods
	layout *layout

	attempt Attempt // predicates and scorers in profile order
	own     int     // position of the predicate that reads rows; -1: none
	plugin  []int   // place in the profile of each predicate
	front   int     // predicates in front of the first that is not static
	order   []int   // place in the profile of each scorer that is not own
	changes int     // of the statics when the attempt was put together

	effects effects
	moved   []int32 // slots where counts changed
	marks   []mark  // of the signature
	nodes   int     // changes of nodes that the exceptions have followed

	exceptions exceptions

	termsets map[int32]bool // of a shared shape: the term sets that match its pods
}

// compiled is what the plugins that count pods make of a pod.
type compiled struct {
	hardE *spread.Hard // nil: no constraints, or no plugin
	softE *spread.Soft
	podsE *affinity.PodEvaluator
	asks  bool // inter-pod affinity is a filter
	ranks bool // and a score
}

// compile asks those plugins. It reports false when one fails, or a plugin is not known to be kept.
func (r *reuse) compile(pod *v1.Pod) (c compiled, ok bool) {
	for _, plugin := range r.plan.profile.Filters {
		switch p := plugin.(type) {
		case PodTopologySpread:
			e, err := spread.CompileHard(pod, p.options(r.log))
			if err != nil {
				return c, false
			}
			if !e.Skip() {
				c.hardE = e
			}
		case InterPodAffinity:
			e, err := affinity.CompilePods(pod, p.Options)
			if err != nil {
				return c, false
			}
			c.podsE, c.asks = e, true
		case NodeResourcesFit:
		default:
			if !static(plugin) && plugin.Filter(pod, r.log).Code != filter.Skip {
				return c, false
			}
		}
	}
	for _, w := range r.plan.profile.Scores {
		switch p := w.Plugin.(type) {
		case PodTopologySpread:
			e, err := spread.CompileSoft(pod, p.options(r.log))
			if err != nil {
				return c, false
			}
			if !e.Skip() {
				c.softE = e
			}
		case InterPodAffinity:
			if c.podsE == nil {
				e, err := affinity.CompilePods(pod, p.Options)
				if err != nil {
					return c, false
				}
				c.podsE = e
			}
			c.ranks = true
		default:
			if !static(w.Plugin) && !byRows(w.Plugin) {
				return c, false
			}
		}
	}
	return c, true
}

// build works out everything anew.
func (s *shape) build() {
	r := s.reuse
	*s = shape{reuse: r, pod: s.pod, key: s.key, heaps: s.heaps, shared: s.shared, served: s.served, epoch: r.epoch, version: r.log.Version(), columns: r.log.Schema().Len(), nodes: len(r.changes)}
	var ok bool
	if s.compiled, ok = r.compile(s.pod); !ok {
		return
	}
	if s.static = r.staticsOf(s.pod); !s.static.usable {
		return
	}
	if s.heaps {
		if s.rows = r.rowsOf(s.pod); s.rows == nil {
			return
		}
	}
	if s.hardE != nil {
		s.hard = s.hardE.Count(r.log)
		r.read(s.hardE.Reads(nil), s.hardE.Keys(nil))
	}
	if s.softE != nil {
		s.soft = s.softE.Count(r.log)
		r.read(s.softE.Reads(nil), s.softE.Keys(nil))
	}
	if s.podsE != nil {
		s.pods = s.podsE.CountWith(r.log, r.terms.Terms)
		s.keys = len(s.pods.AppendKeys(r.names[:0]))
		r.read(nil, s.pods.AppendKeys(nil))
	}
	if s.shared && s.pods != nil {
		s.termsets = map[int32]bool{}
		r.matching(s.pod, func(id int32, _ int, _ uint64) { s.termsets[id] = true })
	}
	s.assemble()
	s.usable = s.inOrder() && r.lay(s)
}

// read takes note of what a state reads of nodes.
func (r *reuse) read(reads, keys []string) {
	for _, x := range reads {
		r.reads[x] = struct{}{}
	}
	for _, k := range keys {
		r.reads["label:"+k] = struct{}{}
	}
}

// assemble puts predicates and scorers together in profile order.
func (s *shape) assemble() {
	r := s.reuse
	s.changes, s.own = s.static.changes, -1
	s.attempt = Attempt{plan: r.plan, pod: s.pod, scored: true}
	s.plugin, s.order = s.plugin[:0], s.order[:0]
	for k, plugin := range r.plan.profile.Filters {
		p := s.static.filters[k]
		switch plugin.(type) {
		case NodeResourcesFit:
			if s.own = len(s.plugin); s.rows != nil {
				p = s.rows.fit
			} else {
				p = anyFit{}
			}
		case PodTopologySpread:
			if s.hard != nil {
				p = hardSpread{s.hard, s.hardE}
			}
		case InterPodAffinity:
			p = podAffinity{s.pods}
		}
		if p != nil {
			s.attempt.Predicates, s.plugin = append(s.attempt.Predicates, p), append(s.plugin, k)
		}
	}
	for k, w := range r.plan.profile.Scores {
		x := s.static.scorers[k]
		switch w.Plugin.(type) {
		case PodTopologySpread:
			if s.soft != nil {
				x = softSpread{s.soft, s.softE}
			}
		case InterPodAffinity:
			x = s.pods
		}
		if x == nil {
			continue
		}
		sc := scorer{Scorer: x, name: w.Plugin.Name(), weight: w.weight()}
		sc.normalize, _ = x.(Normalizer)
		sc.weigher, _ = x.(Weigher)
		sc.ignorer, _ = x.(Ignorer)
		s.attempt.scorers, s.order = append(s.attempt.scorers, sc), append(s.order, k)
	}
	s.front = len(s.plugin)
	for at, k := range s.plugin {
		if k >= s.static.front {
			s.front = at
			break
		}
	}
}

// anyFit stands in the place of the predicate that reads rows while a pod of its own is scanned.
type anyFit struct{ filter.Predicate }

// inOrder reports whether nothing that moves with pods stands in front of the predicate that reads rows: the groups count
// first rejections in that order.
func (s *shape) inOrder() bool { return s.own < 0 || s.own == s.front }

// follow brings the shape to the version of the cluster and reports whether it serves.
func (s *shape) follow() bool {
	r := s.reuse
	if s.epoch != r.epoch || s.columns != r.log.Schema().Len() {
		s.build()
		return s.usable
	}
	if !s.usable {
		return false
	}
	if s.static.follow(r); !s.static.usable {
		s.usable = false
		return false
	}
	if s.changes != s.static.changes {
		s.assemble()
	}
	if s.rows != nil && !s.rows.follow(r) {
		s.build()
		return s.usable
	}
	if version := r.log.Version(); version != s.version {
		if !r.log.Since(s.version, func(events []cluster.Event) {
			for i := range events {
				e := &events[i]
				if e.N == 0 || e.Set < 0 {
					continue
				}
				if s.exceptions.some && s.exceptions.group[e.Node] >= 0 {
					s.exceptions.rank(s, e.Node)
				}
				if !s.effects.none(e) {
					s.apply(e)
				}
			}
		}) {
			s.build()
			return s.usable
		}
		s.version = version
	}
	if s.pods != nil && s.keys != len(s.pods.AppendKeys(r.names[:0])) { // a running pod brought a topology key of its own
		s.keys = len(s.pods.AppendKeys(r.names[:0]))
		r.read(nil, s.pods.AppendKeys(nil))
		s.moved, s.nodes = s.moved[:0], len(r.changes)
		return r.lay(s)
	}
	if !s.layout.follow(r, s) {
		s.build()
		return s.usable
	}
	for ; s.nodes < len(r.changes); s.nodes++ {
		s.exceptions.move(s, r.changes[s.nodes].slot)
	}
	for _, i := range s.moved {
		s.exceptions.move(s, i)
	}
	s.moved = s.moved[:0]
	return true
}

// apply does to the states what an event did to the cluster.
func (s *shape) apply(e *cluster.Event) {
	slot, n := int(e.Node), e.N
	moved := false
	if x := s.effects.set(s, e.Set); x != nil {
		moved = true
		if s.hard != nil && x.hard != 0 {
			s.hard.Apply(x.hard, slot, n)
		}
		if s.soft != nil && x.soft != 0 {
			s.soft.Apply(x.soft, slot, n)
		}
		if s.pods != nil && !x.pods.Empty() {
			s.pods.Apply(x.pods, slot, n)
		}
	}
	if e.Terms >= 0 {
		if x := s.effects.terms(s, e.Terms); x != nil {
			moved = true
			s.pods.Apply(*x, slot, n)
		}
	}
	if moved {
		s.moved = append(s.moved, e.Node)
	}
}
