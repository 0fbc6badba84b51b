package reuse

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/heap"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/resources"
)

// rows is what the plugins with KeepByNodeAndPods say about the nodes, for pods with equal keys of those plugins.
type rows struct {
	cursor cursor
	pod    *v1.Pod
	rowPlugins
	rank []int32
	// keys order the nodes: larger is better. A key is the weighted sum of the scores, and after it the place in scan order. A
	// negative key: the node is rejected, with the verdict in reject.
	keys   []int64
	reject []resources.Verdict
	broken bool // a sum does not fit a key, or the predicate failed
}

// rowPlugins are one pod's predicate and scorers with KeepByNodeAndPods.
type rowPlugins struct {
	log     Log
	filter  filter.Predicate // nil: the profile has none
	row     hooks.RowFilter  // the same; nil when it wants no rows
	coder   filter.Coder     // the same; nil when it cannot fail
	scorers []rowScorer
	reads   bool // an answer reads other nodes
}

type rowScorer struct {
	hooks.Scorer
	weight int64
	row    hooks.RowScorer
	rows   hooks.RowsScorer
}

// rowPluginsOf prepares the plugins with KeepByNodeAndPods for a pod. It reports false when a plugin fails.
func (e *Engine) rowPluginsOf(pod *v1.Pod) (a rowPlugins, ok bool) {
	a.log = e.log
	for _, k := range e.filters {
		if p := &e.plugins[k]; p.Keep == hooks.KeepByNodeAndPods {
			if a.filter, ok = p.Predicate(pod); !ok || a.filter == nil {
				return a, false
			}
			a.row, _ = a.filter.(hooks.RowFilter)
			a.coder, _ = a.filter.(filter.Coder)
			a.reads = a.reads || len(p.Reads) > 0
		}
	}
	for _, k := range e.scores {
		p := &e.plugins[k]
		if p.Keep != hooks.KeepByNodeAndPods {
			continue
		}
		s, err := p.Scorer(pod)
		if err != nil {
			return a, false
		}
		if s == nil {
			continue
		}
		if z, is := s.(hooks.Zeroer); is && z.Zero() {
			continue
		}
		x := rowScorer{Scorer: s, weight: p.Weight}
		x.row, _ = s.(hooks.RowScorer)
		x.rows, _ = s.(hooks.RowsScorer)
		a.scorers = append(a.scorers, x)
		a.reads = a.reads || len(p.Reads) > 0
	}
	return a, true
}

const maxRowScore = 1 << 30

// check returns the verdict about a slot with these rows.
func (a *rowPlugins) check(i int, allocatable, requested resources.Vector) resources.Verdict {
	switch {
	case a.row != nil:
		return a.row.CheckRow(i, allocatable, requested)
	case a.filter != nil:
		return a.filter.Check(i)
	}
	return 0
}

// fails reports whether a verdict about slot i says that the predicate failed.
func (a *rowPlugins) fails(i int, v resources.Verdict) bool {
	return a.coder != nil && filter.Predicates{a.filter}.Err(filter.Rejection{Verdict: v}, i) != nil
}

// key judges a slot: its key, or the verdict that rejects it. It reports false when the predicate fails or the score is out of range.
func (a *rowPlugins) key(i int, rank int32) (key int64, reject resources.Verdict, ok bool) {
	allocatable, requested := a.log.Allocatable(i), a.log.Requested(i)
	if v := a.check(i, allocatable, requested); v != 0 {
		return -1, v, !a.fails(i, v)
	}
	cpu, memory := a.log.NonZero(i)
	var own int64
	for k := range a.scorers {
		s := &a.scorers[k]
		if s.row != nil {
			own += s.row.RawRow(i, allocatable, requested, cpu, memory) * s.weight
		} else {
			own += s.Raw(i) * s.weight
		}
	}
	return heap.Key(own, rank), 0, own >= 0 && own < maxRowScore
}

// rowsOf returns the rows for a pod, up to date; nil when the rows cannot be kept.
func (e *Engine) rowsOf(pod *v1.Pod) *rows {
	e.buffers.key = e.rowKeys.append(e.buffers.key[:0], pod)
	w, ok := e.rows[string(e.buffers.key)]
	if !ok {
		w = &rows{pod: pod, rank: e.ranks(), keys: make([]int64, e.log.Len()), reject: make([]resources.Verdict, e.log.Len())}
		w.cursor, e.rows[string(e.buffers.key)] = e.present, w
		w.prepare(e)
	}
	if !w.follow(e) {
		return nil
	}
	return w
}

// prepare prepares the plugins and asks about every slot.
func (w *rows) prepare(e *Engine) {
	a, ok := e.rowPluginsOf(w.pod)
	if w.rowPlugins, w.broken = a, !ok; ok {
		for _, i := range e.scan {
			w.judge(i)
		}
	}
}

func (w *rows) judge(i int) {
	if w.log.Node(i) == nil { // nobody asks about a free slot
		return
	}
	var ok bool
	w.keys[i], w.reject[i], ok = w.key(i, w.rank[i])
	w.broken = w.broken || !ok
}

// follow asks again about the slots whose pods or nodes changed, and about all slots when the log does not reach back that far. After nodes came or left, the keys get the new places in scan
// order; answers that read other nodes are asked for again.
func (w *rows) follow(e *Engine) bool {
	n := e.catchUp(&w.cursor)
	if n.reordered() && !w.broken {
		w.rank = e.ranked
		if w.reads {
			w.prepare(e)
		}
		for i, key := range w.keys {
			if heap.Fits(key) {
				w.keys[i] = heap.Key(heap.Score(key), w.rank[i])
			}
		}
	}
	if w.broken || n.none() {
		return !w.broken
	}
	events, known := n.events()
	for i := range events {
		if slot := events[i].Node; slot >= 0 {
			w.judge(int(slot))
		}
	}
	for k := 0; !known && k < len(e.scan); k++ {
		w.judge(e.scan[k])
	}
	return !w.broken
}
