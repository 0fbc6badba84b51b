package reuse

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/placement/internal/hooks"
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
	plugins    []hooks.Plugin
	filters    []int // plugin by place in the profile's list
	scores     []int
	pods       keys // of everything that plugins read of a pod
	staticKeys keys // with KeepByNode
	rowKeys    keys // with KeepByNodeAndPods
	skips      []func(*v1.Pod) bool
	unsigned   map[string]struct{} // names of plugins with KeepByNode that gave an answer without a signature

	pastPods    past                // keys of pods: how many nodes were looked at for questions about few nodes
	pastRows    past                // keys of rows
	kinds       map[string]member   // by the key of a pod, for pods that came at least twice
	sharedKinds map[string]*podKind // by shared key
	layouts     map[string]*layout
	failures    map[string]*Answer // without a node, by key of pods
	rows        map[string]*rows
	statics     map[string]*statics
	classes     map[string]*classes // by what is read of the nodes

	stateChanges uint64              // grows when states of a kind change or are made, and when states are forgotten
	forgotAt     uint64              // stateChanges when states were forgotten last
	columns      int                 // of the schema when everything was forgotten last
	present      cursor              // how far the engine has followed; watch moves it
	nodes        []*v1.Node          // by slot, as of that cursor
	changes      []int32             // slots whose node object was replaced since everything was forgotten
	reads        map[string]struct{} // what must not change on any node
	survives     bool                // statics, rows and layouts follow nodes that come and leave
	counting     []hooks.Counting    // by plugin; nil for other groups
	keyers       []int               // plugins whose Counting is a PodKeyer
	epochs       []uint64            // by plugin, of a PodKeyer

	order    []int32 // that of the question: the slots of all nodes in scan order
	scan     []int   // the same
	ranked   []int32 // place in scan order by slot
	rankedOf []int32 // the order that ranked was made of
	span     int     // nodes of a span

	answers int // how many there were, in a build that checks the invariants

	collect func([]cluster.Event) // that of buffers
	buffers buffers
}

// New returns an engine for a profile of these plugins; nil when nothing can be kept for the profile, because a plugin is of
// KeepNothing or two filters are with KeepByNodeAndPods.
func New(log Log, plugins []hooks.Plugin) *Engine {
	e := &Engine{log: log, plugins: plugins, pastPods: past{}, pastRows: past{}, kinds: map[string]member{}, sharedKinds: map[string]*podKind{}, failures: map[string]*Answer{}, unsigned: map[string]struct{}{}, span: 64}
	e.collect = e.buffers.collect
	place := func(list *[]int, at, plugin int) {
		for at >= len(*list) {
			*list = append(*list, -1)
		}
		if at >= 0 {
			(*list)[at] = plugin
		}
	}
	filtering := 0 // filters over rows
	for k := range plugins {
		p := &plugins[k]
		place(&e.filters, p.Filter, k)
		place(&e.scores, p.Score, k)
		switch p.Keep {
		case hooks.KeepNothing:
			return nil
		case hooks.KeepByNode:
			e.staticKeys.add(hooks.Part{Name: p.KeyName, Append: p.AppendKey})
		case hooks.KeepByNodeAndPods:
			if p.Filter >= 0 {
				filtering++
			}
			if p.AppendRowKey != nil {
				e.rowKeys.add(hooks.Part{Append: p.AppendRowKey})
			} else {
				e.rowKeys.add(hooks.Part{Name: p.KeyName, Append: p.AppendKey})
			}
		case hooks.KeepIfSkipped:
			e.skips = append(e.skips, p.Skips)
		}
	}
	if filtering > 1 {
		return nil
	}
	e.epochs, e.counting = make([]uint64, len(plugins)), make([]hooks.Counting, len(plugins))
	e.forget()
	for k := range plugins {
		p := &plugins[k]
		_, keyer := e.counting[k].(hooks.PodKeyer)
		if keyer {
			e.keyers = append(e.keyers, k)
		}
		switch {
		case p.Keep == hooks.KeepIfSkipped || keyer: // the engine serves only pods that a plugin with KeepIfSkipped skips
		case p.Parts != nil:
			for _, x := range p.Parts {
				e.pods.add(x)
			}
		default:
			e.pods.add(hooks.Part{Name: p.KeyName, Append: p.AppendKey})
		}
	}
	return e
}

// Unsigned returns the names of the plugins with KeepByNode whose predicate or scorer for a pod had no signature, sorted.
func (e *Engine) Unsigned() []string { return slices.Sorted(maps.Keys(e.unsigned)) }

// Opened is a question with the kept work that answers it, up to date. It is valid until the cluster changes or another question is opened.
type Opened struct {
	kind   *podKind // nil: failed is the answer
	failed *Answer
}

// Open looks up the kept work for a question; Without does not matter yet. Open reports false when the caller must ask node by node: a plugin
// with KeepIfSkipped does not skip the pod, or a plugin fails.
func (e *Engine) Open(q *Question) (Opened, bool) {
	if !e.serves(q.Pod, q.Order) {
		return Opened{}, false
	}
	if answer, known := e.failures[string(e.buffers.key)]; known {
		return Opened{failed: answer}, true
	}
	s := e.kindOf(q.Pod, len(q.Slots))
	return Opened{kind: s}, s != nil
}

// Own returns the key of pods with equal filters, which read nothing but nodes and their pods; it is empty for a pod whose filters read more. While it
// is the same, the verdict of the filters that do not count pods, about a node with all of its pods, without some or with others, changes only with that
// node or its pods.
func (o *Opened) Own() VerdictKey {
	if s := o.kind; s != nil && !s.static.storage && !s.shifts && !s.perPod {
		return s.engine.nodeKey(s.podKey)
	}
	return VerdictKey{}
}

// Filters returns the predicates of the pod in profile order: those that read one node and its pods, and those that count the pods of all nodes. It
// reports false when a plugin fails.
func (o *Opened) Filters(pod *v1.Pod) (own, counting filter.Predicates, ok bool) {
	s := o.kind
	if !s.refresh() || !s.heaps && !s.prepareRows(pod) {
		return nil, nil, false
	}
	for k, p := range s.matching(pod) {
		if s.engine.plugins[s.engine.filters[s.plugin[k]]].Keep == hooks.KeepByAllPods {
			counting = append(counting, p)
			continue
		}
		own = append(own, p)
	}
	return own, counting, true
}

// Decide answers the question that was opened. The nomination of the pod does not count. Decide reports false when the caller must ask node
// by node: the reasons of a verdict differ from node to node, or no node is feasible and Without or Slots is not empty.
func (e *Engine) Decide(o *Opened, q *Question) (Answer, bool) {
	s := o.kind
	if s == nil {
		return *o.failed, len(q.Without) == 0 && q.Slots == nil
	}
	out, ok := s.decide(q)
	if ok && out.Slot >= 0 {
		out.Statics = s.static.filters
		s.eachPerPod(func(_ int, x hooks.PerPod) { out.Predicates = append(out.Predicates, x.Of(q.Pod)) })
	}
	if checking > 0 {
		e.check()
	}
	return out, ok
}

// Question is a pod, and what its answer depends on beside the cluster.
type Question struct {
	Pod *v1.Pod
	// Order has the slots of all nodes in scan order. It is another slice after a change of nodes.
	Order []int32
	// From is the place in scan order where the search begins. Limit is the number of feasible nodes that ends the search; 0: every node is examined.
	From, Limit int
	// Slots are the only nodes to examine, in scan order, and From is a place among them; nil: all nodes.
	Slots []int
	// Without are slots that are not feasible, whatever the plugins say.
	Without view.Slots
	// Tie chooses among n nodes of equal total, in the order in which they were found. nil, and a result that is not in 0 to n-1, choose the first.
	Tie func(n int) int
}

// inOrder reports whether the search must go through the nodes in order.
func (q *Question) inOrder() bool { return q.From != 0 || q.Limit != 0 || q.Slots != nil }

// plain reports whether the best node in scan order is asked for.
func (q *Question) plain() bool { return len(q.Without) == 0 && q.Tie == nil }

// Answer is the decision about one pod.
type Answer struct {
	Slot     int // -1: no node is feasible
	Total    int64
	Examined int // 0: every node
	Feasible int
	// Predicates and Rejected say why there is no node. When there is a node, Predicates are those of states that are PerPod.
	Predicates filter.Predicates
	Rejected   *filter.Histogram
	// Statics are the predicates with KeepByNode, by place in the profile; nil for a plugin that skips the pod. They may be those of
	// another pod with the same keys. Statics are set when there is a node.
	Statics []filter.Predicate
	// VerdictKey and Kept are set when there is no node. Kept means that pods like this one get the same Rejected until the next event.
	VerdictKey VerdictKey
	Kept       bool
}

// VerdictKey is equal for pods that get equal verdicts. While State is the same, the verdict about a node, with all of its pods or without some,
// changes only with that node or its pods. Pods is empty when nothing is known.
type VerdictKey struct {
	Pods  string
	State uint64
}
