// Package reuse is the engine of a plan: it keeps the work done for earlier pods and follows the change log of a cluster.
//
//	e := reuse.New(log, order, plugins) // nil: nothing can be kept
//	answer, ok := e.Decide(&q)          // false: the caller asks node by node
//
// The engine knows no plugin. It keeps seven things. Pods share one of them when they agree in what it depends on:
//
//	statics   answers that only a change of a node can change   by the keys of plugins of group Statics
//	partition classes of nodes, for statics that are new        by what the plugins of group Statics read of nodes
//	rows      answers that pods of the same node change too     by the keys of group Rows
//	states    counts of running pods                            by what Compiled.AppendKey appends
//	layout    the nodes in groups of equal signature            by statics, rows and layout keys of the states
//	shape     all of these together                             by pod
//	failures  answers without a node                            by pod, until the next event
//
// The first pod with some requests uses statics and states, and searches the rows of the nodes in boxes (tree), or looks at the rows
// of every node once (scan). Later pods with the same requests have heaps over kept rows. When a node comes or leaves, states and
// shapes begin again; statics, rows and layouts follow. Every answer is the answer that asking each node gives. An Engine belongs to
// one goroutine. docs/engine.md has the way of a decision and a drawing.
//
// What holds for everything whose cursor is that of the present; valid checks it:
//
//	I1  The engine knows the node of each slot.
//	I2  Statics: the class of a node has the verdict and the raw scores that the plugins give the node.
//	I3  Partition: nodes are of one class when the log has them in one class. A class with nodes names one of them.
//	I4  Rows: the key of a node, or its verdict, is what the plugins of group Rows give.
//	I5  Layout: each node is in one group, a free slot in none. A group counts its nodes and names one of them.
//	I6  Layout with rows: a node is in the heap of its group with its key, or counts with its verdict. Heaps are heaps.
//	I7  A span that is known has the counts and the best nodes that reading it again gives.
//	I8  Boxes: each node is in one box, whose bounds hold its row.
//	I9  Nodes of one group have equal classes and domains, nodes of different groups do not. Exceptions are the nodes with a count, in groups
//	    by group of the layout and counts. A group of the layout knows how many nodes of its heap are exceptions.
//	I10 A state gives the verdicts that a state gives which counts now.
package reuse

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/placement/internal/boxes"
	"github.com/podberth/podberth/placement/internal/heap"
	"github.com/podberth/podberth/resources"
)

// Log is a cluster with pod sets, term sets and a change log; see cluster.Snapshot.
type Log interface {
	Len() int
	Node(i int) *v1.Node
	Schema() *resources.Schema
	Allocatable(i int) resources.Vector
	Requested(i int) resources.Vector
	NonZero(i int) (cpuMilli, memoryBytes int64)
	Version() uint64
	Since(version uint64, yield func([]cluster.Event)) bool
	PodSet(id int32) (rep *v1.Pod, nodes, counts []int32)
	TermSets() int
	TermSet(id int32) (rep *v1.Pod, nodes, counts []int32)
}

// Engine keeps work for one profile over one cluster.
type Engine struct {
	log        Log
	order      func() []int
	plugins    []Plugin
	filters    []int // plugin by place in the profile's list
	scores     []int
	pods       keys // of everything that plugins read of a pod
	staticKeys keys // of group Statics
	rowKeys    keys // of group Rows
	skips      []func(*v1.Pod) bool
	unsigned   map[string]struct{} // names of plugins of group Statics that gave an answer without a signature

	seen       map[string]int      // keys of pods: how many nodes were looked at for questions about few nodes
	asked      map[string]struct{} // keys of rows
	met        map[string]struct{} // keys of statics
	shapes     map[string]*shape
	parts      map[string]*shape
	layouts    map[string]*layout
	failures   map[string]*failure // answers without a node, by key of pods
	rows       map[string]*rows
	statics    map[string]*statics
	partitions map[string]*partition

	stamp    uint64              // grows when states of a shape change or are made, and when states are forgotten
	forgot   uint64              // the stamp when states were forgotten last
	columns  int                 // of the schema when everything was forgotten last
	cursor   cursor              // of watch
	nodes    []*v1.Node          // by slot, as of that cursor
	changes  []int32             // slots whose node object was replaced since everything was forgotten
	reads    map[string]struct{} // what must not change on any node
	survives bool                // statics, rows and layouts follow nodes that come and leave
	counting []Counting          // by plugin; nil for other groups
	keyers   []int               // plugins whose Counting is a PodKeyer
	epochs   []uint64            // by plugin, of a PodKeyer

	ranked []int32 // place in scan order by slot
	of     []int   // the scan order that ranked was made of
	orders int     // how many scan orders there were
	span   int     // nodes of a span

	answers int // how many there were, in a build that checks the invariants

	collect func([]cluster.Event) // keeps blocks of events in room
	room    room
}

// room is memory that calls use again. Nothing in it outlives a call.
type room struct {
	key              []byte
	groups, feasible []candidate
	frontier         heap.Heap
	raw, add         []int64
	slots, counts    []int32
	sightings        []sighting
	tied             []uint64
	places           []int32
	found            boxes.Search
	blocks           [][]cluster.Event // the events from one version to another
	from, to         uint64            // these versions
	known            bool              // the log reaches back that far
}

// Limits of what is kept. Beyond a limit the engine forgets everything, which takes time and changes no answer.
const (
	maxSeen    = 1 << 16
	maxShapes  = 1 << 11
	maxChanges = 1 << 16
	maxKept    = 1 << 23 // slots in layouts and rows that outlast a change of nodes
)

// keys are the AppendKey functions of some plugins, each key once. Every key is framed: a plugin may append any bytes.
type keys []func(dst []byte, pod *v1.Pod) []byte

func (k keys) append(dst []byte, pod *v1.Pod) []byte {
	for _, f := range k {
		at := len(dst)
		dst = key.Close(f(key.Open(dst), pod), at)
	}
	return dst
}

// New returns an engine for a profile of these plugins; nil when nothing can be kept for the profile, because a plugin is of
// group Never or two filters are of group Rows. order returns the slots of all nodes in scan order, as another slice after a
// change of nodes.
func New(log Log, order func() []int, plugins []Plugin) *Engine {
	e := &Engine{log: log, order: order, plugins: plugins, seen: map[string]int{}, asked: map[string]struct{}{}, met: map[string]struct{}{}, unsigned: map[string]struct{}{}, span: spanNodes}
	e.failures = map[string]*failure{}
	e.collect = func(block []cluster.Event) { e.room.blocks = append(e.room.blocks, block) }
	names := map[string]bool{}
	first := func(name string) bool {
		known := names[name]
		names[name] = true
		return !known
	}
	fresh := func(p *Plugin, what string) bool { return p.KeyName == "" || first(what+p.KeyName) }
	filtering := 0 // filters over rows
	for k := range plugins {
		p := &plugins[k]
		setPlugin(&e.filters, p.Filter, k)
		setPlugin(&e.scores, p.Score, k)
		switch p.Group {
		case Never:
			return nil
		case Statics:
			if fresh(p, "statics ") {
				e.staticKeys = append(e.staticKeys, p.AppendKey)
			}
		case Rows:
			if p.Filter >= 0 {
				filtering++
			}
			if p.AppendRowKey != nil {
				e.rowKeys = append(e.rowKeys, p.AppendRowKey)
			} else if fresh(p, "rows ") {
				e.rowKeys = append(e.rowKeys, p.AppendKey)
			}
		case Absent:
			e.skips = append(e.skips, p.Skips)
		}
	}
	if filtering > 1 {
		return nil
	}
	e.epochs = make([]uint64, len(plugins))
	e.forget()
	for k := range plugins {
		p := &plugins[k]
		_, keyer := e.counting[k].(PodKeyer)
		if keyer {
			e.keyers = append(e.keyers, k)
		}
		switch {
		case p.Group == Absent || keyer: // the engine serves only pods that a plugin of group Absent skips
		case p.Parts != nil:
			for _, x := range p.Parts {
				if first("pods " + x.Name) {
					e.pods = append(e.pods, x.Append)
				}
			}
		case fresh(p, "pods "):
			e.pods = append(e.pods, p.AppendKey)
		}
	}
	return e
}

func setPlugin(list *[]int, at, plugin int) {
	if at < 0 {
		return
	}
	for len(*list) <= at {
		*list = append(*list, -1)
	}
	(*list)[at] = plugin
}

// forget drops everything except the memory of which pods were seen.
func (e *Engine) forget() {
	e.layouts, e.rows, e.statics, e.partitions = map[string]*layout{}, map[string]*rows{}, map[string]*statics{}, map[string]*partition{}
	e.changes, e.columns = nil, e.log.Schema().Len()
	e.cursor, e.nodes = e.now(), e.nodes[:0]
	for i := range e.log.Len() {
		e.nodes = append(e.nodes, e.log.Node(i))
	}
	_, e.survives = e.log.(domains)
	for k := range e.plugins {
		if e.plugins[k].Group == Statics && len(e.plugins[k].Reads) > 0 {
			e.survives = false
		}
	}
	e.forgetStates()
}

// domains is a log whose domains keep their numbers when nodes come and leave, or that logs an event without a node.
type domains interface {
	Domains(key string) (ids []int32, domains, have int)
}

// forgetStates drops the shapes with their states, which count pods of all nodes. Layouts go whose states follow other objects.
func (e *Engine) forgetStates() {
	e.stamp++
	e.forgot = e.stamp
	clear(e.failures)
	e.shapes, e.parts = map[string]*shape{}, map[string]*shape{}
	maps.DeleteFunc(e.layouts, func(_ string, l *layout) bool { return l.shifts })
	e.reads = map[string]struct{}{}
	counting := e.counting
	e.counting = make([]Counting, len(e.plugins))
	for k := range e.plugins {
		for _, read := range e.plugins[k].Reads {
			e.reads[read] = struct{}{}
		}
		if e.plugins[k].Group == States {
			if counting != nil && lasts(counting[k]) {
				e.counting[k] = counting[k]
			} else {
				e.counting[k] = e.plugins[k].Open()
			}
		}
	}
}

// lasts reports whether a Counting checks what it remembers by id, so that the engine may keep the Counting when nodes change and
// when ids get other meanings.
func lasts(c Counting) bool {
	_, ok := c.(interface{ Lasts() })
	return ok
}

// Answer is the decision about one pod.
type Answer struct {
	Slot     int // -1: no node is feasible
	Total    int64
	Examined int // 0: every node
	Feasible int
	// Predicates and Rejected say why there is no node. When there is a node, Predicates are those of an Accountable.
	Predicates filter.Predicates
	Rejected   *filter.Histogram
	// Statics are the predicates of group Statics, by place in the profile; nil for a plugin that skips the pod. They may be those of
	// another pod with the same keys. Statics are set when there is a node.
	Statics []filter.Predicate
	// Kind and Memo are set when there is no node. Memo is a cell where the caller stores the failure that it makes of the
	// answer. Pods of equal Kind get the same cell, which is empty at first. nil: there is no cell.
	Kind Kind
	Memo *any
}

// Kind is equal for pods that get equal verdicts. While State is the same, the verdict about a node, with all of its pods or without some,
// changes only with that node or its pods. Key is empty when nothing is known.
type Kind struct {
	Key   string
	State uint64
}

// Unsigned returns the names of the plugins of group Statics whose predicate or scorer for a pod had no signature, sorted.
func (e *Engine) Unsigned() []string { return slices.Sorted(maps.Keys(e.unsigned)) }

// Decide decides about a pod. The nomination of the pod does not count. Decide reports false when the caller must ask node by node: a
// plugin of group Absent does not skip the pod, a plugin fails, the reasons of a verdict differ from node to node, or no node is
// feasible and Without or Slots is not empty.
func (e *Engine) Decide(q *Question) (Answer, bool) {
	for _, skips := range e.skips {
		if !skips(q.Pod) {
			return Answer{}, false
		}
	}
	e.watch()
	if !e.podKey(q.Pod) {
		return Answer{}, false
	}
	if answer, known := e.failed(); known {
		return answer, len(q.Without) == 0 && q.Slots == nil
	}
	s := e.shape(q.Pod, len(q.Slots))
	if s == nil {
		return Answer{}, false
	}
	out, ok := s.decide(q)
	if out.Slot >= 0 {
		out.Statics = s.static.filters
	}
	if checking > 0 {
		e.check()
	}
	return out, ok
}

// check panics when an invariant does not hold. It looks at one answer of so many.
func (e *Engine) check() {
	if e.answers++; e.answers%max(checking, 1) != 0 {
		return
	}
	if err := e.valid(); err != nil {
		panic(err)
	}
}

// shape returns the shape of a pod whose key is in the engine's room, up to date; nil when the pod has none. The pods that share a shape
// without heaps may ask for different requests. A question about few nodes (0: it is about all) has a shape without heaps, until as many nodes were looked
// at for such questions as heaps are made of.
func (e *Engine) shape(pod *v1.Pod, few int) *shape {
	if s, ok := e.shapes[string(e.room.key)]; ok {
		return s.use(pod)
	}
	key := string(e.room.key)
	looked, again := e.seen[key]
	if bare := few > 0 && looked+few < e.log.Len(); bare || !again {
		remember(e.seen, key, looked+few)
		return e.sharedShape(pod, key, bare)
	}
	if len(e.shapes) >= maxShapes {
		e.forget()
	}
	c := e.compile(pod)
	s := e.promoted(pod, key, c)
	if s == nil {
		s = &shape{engine: e, pod: pod, key: key, asked: key, heaps: true}
		s.build(c, nil)
	}
	e.shapes[key] = s
	return s.use(pod)
}

// podKey writes the key of a pod into the engine's room. It reports false when the engine does not serve the pod.
func (e *Engine) podKey(pod *v1.Pod) bool {
	e.room.key = e.pods.append(e.room.key[:0], pod)
	for _, k := range e.keyers {
		x := e.counting[k].(PodKeyer)
		at := len(e.room.key)
		own, ok := x.AppendPodKey(key.Open(e.room.key), pod)
		if e.room.key = own; !ok {
			return false
		}
		e.room.key = key.Close(e.room.key, at)
		if now := x.Epoch(); now != e.epochs[k] {
			e.epochs[k] = now
			e.drop(k)
		}
	}
	return true
}

// drop forgets what depends on the states of one plugin.
func (e *Engine) drop(plugin int) {
	outdated := func(_ string, s *shape) bool { return s.stateOf(plugin) != nil }
	maps.DeleteFunc(e.shapes, outdated)
	maps.DeleteFunc(e.parts, outdated)
	maps.DeleteFunc(e.layouts, func(_ string, l *layout) bool { return slices.Contains(l.plugins, plugin) })
}

// remember puts a key into a map of limited size.
func remember[T any](set map[string]T, key string, x T) {
	if len(set) >= maxSeen {
		clear(set)
	}
	set[key] = x
}

// sharedShape returns the shape that is shared by all pods with the same effect on the states and the same statics; nil when there is
// none. From the second pod with the same requests on, those pods have a shape with heaps, but for a bare one.
func (e *Engine) sharedShape(pod *v1.Pod, key string, bare bool) *shape {
	c := e.compile(pod)
	if !c.ok {
		return nil
	}
	if s := e.looseShape(pod, key, c); s != nil {
		return s.use(pod)
	}
	part, heaps := e.partKey(pod, c, bare)
	s, ok := e.parts[part]
	if !ok {
		if len(e.parts) >= maxShapes {
			e.forget()
		}
		s = &shape{engine: e, pod: pod, key: key, heaps: heaps, shared: true}
		s.build(c, nil)
		e.parts[part] = s
	}
	s.served++
	s.asked = key
	return s.use(pod)
}

// partKey returns the key of a part, and whether the part has heaps: a bare one has none.
func (e *Engine) partKey(pod *v1.Pod, c compiled, bare bool) (key string, heaps bool) {
	b := append(e.room.key[:0], 0)
	if !bare {
		b = e.rowKeys.append(b, pod)
		if _, heaps = e.asked[string(b[1:])]; heaps {
			b[0] = 1
		} else {
			remember(e.asked, string(b[1:]), struct{}{})
			b = b[:1]
		}
	}
	b = e.staticKeys.append(b, pod)
	b = c.appendKey(b)
	e.room.key = b
	return string(b), heaps
}

// promoted returns the shared shape that was made for this pod and has served no other pod: it becomes the pod's own shape.
// nil: there is none.
func (e *Engine) promoted(pod *v1.Pod, key string, c compiled) *shape {
	if !c.ok {
		return nil
	}
	part, _ := e.partKey(pod, c, false)
	s := e.parts[part]
	if s == nil || !s.heaps || s.key != key || s.served > 1 {
		return nil
	}
	delete(e.parts, part) // safe: the shape is new and has not learnt any effects
	s.shared = false
	return s
}

// ranks returns the place in scan order of each slot.
func (e *Engine) ranks() []int32 {
	if !e.inOrder() || len(e.ranked) != e.log.Len() {
		order := e.order()
		e.ranked, e.of = make([]int32, e.log.Len()), order
		e.orders++
		for k, i := range order {
			e.ranked[i] = int32(k)
		}
	}
	return e.ranked
}

// inOrder reports whether the scan order is the order that the ranks were made of.
func (e *Engine) inOrder() bool {
	order := e.order()
	return len(e.of) == len(order) && (len(order) == 0 || &e.of[0] == &order[0])
}
