package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/spread"
	"github.com/podberth/podberth/taints"
)

// Reusable is a plugin of the user's whose preparation may be kept: pods with equal keys, as AppendKey appends them, are
// treated the same on every cluster. Its predicate and scorer must be Signed to be kept.
type Reusable interface {
	AppendKey(dst []byte, pod *v1.Pod) []byte
}

// reuse keeps what was worked out for pods that were seen before, and follows the cluster's change log. A pod seen once
// costs nothing lasting but a hash; seen twice it gets a shape.
type reuse struct {
	plan    *Plan
	log     *cluster.Snapshot
	key     keyer
	seen    map[string]struct{}
	shapes  map[string]*shape
	layouts map[string]*layout
	rank    []int32 // place in scan order by slot
	of      []int   // the scan order that rank was made of
	epoch   uint64  // moves when everything kept became worthless
	terms   affinity.Memo
	at      uint64 // version up to which the log was looked through for changes of nodes

	feasible []int32 // scratch: groups
	names    []string
	raw, add []int64
}

// limits of what is kept; beyond them everything is forgotten, which costs time and changes nothing.
const (
	maxSeen   = 1 << 16
	maxShapes = 1 << 12
)

func newReuse(p *Plan) *reuse {
	s, ok := p.cluster.(*cluster.Snapshot)
	if !ok {
		return nil
	}
	return &reuse{plan: p, log: s, seen: map[string]struct{}{}, shapes: map[string]*shape{}, layouts: map[string]*layout{}, names: make([]string, 0, 8), at: s.Version()}
}

// shape returns the shape of a pod, up to date; nil when the pod must be decided node by node.
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
	s, ok := r.shapes[string(r.key.b)]
	if !ok {
		if _, again := r.seen[string(r.key.b)]; !again {
			if len(r.seen) >= maxSeen {
				clear(r.seen)
			}
			r.seen[string(r.key.b)] = struct{}{}
			return nil
		}
		if len(r.shapes) >= maxShapes {
			clear(r.shapes)
			clear(r.layouts)
		}
		key := string(r.key.b)
		s = r.build(pod)
		r.shapes[key] = s
	}
	if !s.usable || !r.follow(s) {
		return nil
	}
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

// watch drops everything when a node or something beside the nodes changed.
func (r *reuse) watch() {
	version := r.log.Version()
	if version == r.at {
		return
	}
	anew := false
	lost := !r.log.Since(r.at, func(events []cluster.Event) {
		for i := range events {
			if events[i].Set < 0 || events[i].Node < 0 {
				anew = true
				return
			}
		}
	})
	r.at = version
	if anew || lost {
		r.epoch++
		clear(r.layouts)
	}
}

// ranks returns the place in scan order of each slot.
func (r *reuse) ranks() []int32 {
	order := r.plan.order()
	if len(r.of) != len(order) || len(order) > 0 && &r.of[0] != &order[0] || len(r.rank) != r.log.Len() {
		r.rank, r.of = make([]int32, r.log.Len()), order
		for k, i := range order {
			r.rank[i] = int32(k)
		}
	}
	return r.rank
}

// shape is a pod prepared for good: its predicates and scorers over states that follow the cluster, and the layout of the
// nodes that it shares with other shapes.
type shape struct {
	reuse   *reuse
	usable  bool
	pod     *v1.Pod
	epoch   uint64
	version uint64
	columns int // of the schema
	attempt Attempt
	statics int         // predicates at the front that only a change of a node can change
	own     int         // position of the predicate that reads rows, right behind those; -1: none
	signed  []Signed    // what static signatures are made of
	kinds   []scoreKind // of the scorers
	fixed   []scorer    // those that only a change of a node can change
	rows    []scorer    // those that read the rows of a node

	hard  *spread.HardState
	soft  *spread.SoftState
	pods  *affinity.State
	keys  int // topology keys of pods
	hardE *spread.Hard
	softE *spread.Soft

	effects effects
	layout  *layout
}

// scoreKind says what moves a raw score.
type scoreKind uint8

const (
	ownScore    scoreKind = iota // the rows of the node; not normalized
	fixedScore                   // only a change of the node
	movingScore                  // counts of whole domains
)

// build prepares a shape. It is not usable when a plugin rejects the pod as a whole, narrows the nodes, or cannot be kept.
func (r *reuse) build(pod *v1.Pod) *shape {
	s := &shape{reuse: r, pod: pod, epoch: r.epoch, version: r.log.Version(), columns: r.log.Schema().Len(), own: -1}
	s.attempt = Attempt{plan: r.plan, pod: pod, scored: true}
	for _, plugin := range r.plan.profile.Filters {
		if !r.addFilter(s, plugin) {
			return s
		}
	}
	for _, w := range r.plan.profile.Scores {
		if !r.addScore(s, w) {
			return s
		}
	}
	s.usable = r.lay(s)
	return s
}

// addFilter adds the predicate of one plugin and reports whether it can be kept.
func (r *reuse) addFilter(s *shape, plugin FilterPlugin) bool {
	if p, ok := plugin.(InterPodAffinity); ok {
		e, err := affinity.CompilePods(s.pod, p.Options)
		if err != nil {
			return false
		}
		s.pods = e.CountWith(r.log, r.terms.Terms)
		s.keys = len(s.pods.AppendKeys(r.names[:0]))
		s.attempt.Predicates = append(s.attempt.Predicates, podAffinity{s.pods})
		return true
	}
	f := plugin.Filter(s.pod, r.log)
	if f.Code == filter.Skip || f.Code == filter.Success && f.Predicate == nil {
		return true
	}
	if f.Code != filter.Success || f.Nodes != nil {
		return false
	}
	at := len(s.attempt.Predicates)
	switch p := f.Predicate.(type) {
	case fit:
		if s.statics != at {
			return false // something that moves with pods stands in front
		}
		s.own = at
	case hardSpread:
		s.hard, s.hardE = p.HardState, p.compiled
	default:
		signed, ok := p.(Signed)
		if !ok || !static(p) && !reusable(plugin) {
			return false
		}
		s.signed = append(s.signed, signed)
		if s.statics == at {
			s.statics++
		}
	}
	s.attempt.Predicates = append(s.attempt.Predicates, f.Predicate)
	return true
}

// static reports whether only a change of the node can change the predicate's verdict on it.
func static(p filter.Predicate) bool {
	switch p.(type) {
	case cordon, tainted, nodeAffinity, *filter.NodeNameState, *filter.FeaturesState:
		return true
	}
	return false
}

func reusable(plugin any) bool {
	_, ok := plugin.(Reusable)
	return ok
}

// addScore adds the scorer of one plugin and reports whether it can be kept.
func (r *reuse) addScore(s *shape, w Weighted) bool {
	var sc Scorer
	if p, ok := w.Plugin.(InterPodAffinity); ok {
		if s.pods == nil {
			e, err := affinity.CompilePods(s.pod, p.Options)
			if err != nil {
				return false
			}
			s.pods = e.CountWith(r.log, r.terms.Terms)
			s.keys = len(s.pods.AppendKeys(r.names[:0]))
		}
		sc = s.pods
	} else {
		var err error
		if sc, err = w.Plugin.Score(s.pod, r.log); err != nil {
			return false
		}
	}
	kind := fixedScore
	switch x := sc.(type) {
	case nil:
		return true
	case softSpread:
		s.soft, s.softE, kind = x.SoftState, x.compiled, movingScore
	case *affinity.State:
		kind = movingScore
	case *taints.State:
		s.signed = append(s.signed, x)
	case *affinity.NodeState:
		s.signed = append(s.signed, x)
	case *score.AllocationState, *score.BalanceState, *score.ImageState:
		kind = ownScore
	default:
		signed, ok := x.(Signed)
		if !ok || !reusable(w.Plugin) {
			return false
		}
		s.signed = append(s.signed, signed)
	}
	s.kinds = append(s.kinds, kind)
	x := scorer{Scorer: sc, name: w.Plugin.Name(), weight: w.weight()}
	x.normalize, _ = sc.(Normalizer)
	x.weigher, _ = sc.(Weigher)
	x.ignorer, _ = sc.(Ignorer)
	s.attempt.scorers = append(s.attempt.scorers, x)
	switch kind {
	case fixedScore:
		s.fixed = append(s.fixed, x)
	case ownScore:
		s.rows = append(s.rows, x)
	}
	return true
}

// follow brings a shape up to date and reports whether it still serves.
func (r *reuse) follow(s *shape) bool {
	if s.epoch != r.epoch || s.columns != r.log.Schema().Len() {
		*s = *r.build(s.pod)
		return s.usable
	}
	if version := r.log.Version(); version != s.version {
		if !r.log.Since(s.version, func(events []cluster.Event) {
			for i := range events {
				s.apply(r, &events[i])
			}
		}) {
			*s = *r.build(s.pod)
			return s.usable
		}
		s.version = version
	}
	if s.pods != nil && s.keys != len(s.pods.AppendKeys(r.names[:0])) { // a running pod brought a topology key of its own
		s.keys = len(s.pods.AppendKeys(r.names[:0]))
		return r.lay(s)
	}
	return s.layout.follow(r)
}

// apply does to the shape what an event did to the cluster.
func (s *shape) apply(r *reuse, e *cluster.Event) {
	slot, n := int(e.Node), e.N
	if n == 0 {
		return
	}
	if s.hard != nil || s.soft != nil || s.pods != nil {
		x := s.effects.set(r, s, e.Set)
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
	if s.pods != nil && e.Terms >= 0 {
		if x := s.effects.terms(r, s, e.Terms); !x.Empty() {
			s.pods.Apply(x, slot, n)
		}
	}
}

// effects remembers what a pod of each pod set and term set does to the states of one shape.
type effects struct {
	sets      []setEffect
	termsets  []affinity.Effect
	termsDone []bool
}

type setEffect struct {
	known bool
	hard  spread.Effect
	soft  spread.Effect
	pods  affinity.Effect
}

func (x *effects) set(r *reuse, s *shape, id int32) *setEffect {
	for int(id) >= len(x.sets) {
		x.sets = append(x.sets, setEffect{})
	}
	e := &x.sets[id]
	if e.known {
		return e
	}
	rep, _, _ := r.log.PodSet(id)
	e.known = true
	if s.hard != nil {
		e.hard = s.hardE.Effect(rep)
	}
	if s.soft != nil {
		e.soft = s.softE.Effect(rep)
	}
	if s.pods != nil {
		e.pods = s.pods.LabelEffect(rep)
	}
	return e
}

func (x *effects) terms(r *reuse, s *shape, id int32) affinity.Effect {
	for int(id) >= len(x.termsets) {
		x.termsets, x.termsDone = append(x.termsets, affinity.Effect{}), append(x.termsDone, false)
	}
	if !x.termsDone[id] {
		rep, _, _ := r.log.TermSet(id)
		x.termsets[id], x.termsDone[id] = s.pods.TermEffect(r.terms.Terms(id, rep)), true
	}
	return x.termsets[id]
}
