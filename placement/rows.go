package placement

import (
	"math"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
)

// rows is what the rows of the nodes say to pods that ask for the same: whether they fit and what the resource and image
// scores give.
type rows struct {
	version uint64
	changes int
	asker
	rank []int32
	// keys order the nodes: the weighted sum of the scores and, of equal sums, the earlier place in scan order. Negative:
	// the node is rejected, with the verdict in reject.
	keys   []int64
	reject []resources.Verdict
	broken bool // a sum does not fit a key
}

// asker is one pod's predicate and scorers over rows.
type asker struct {
	fit     filter.Predicate // nil: the profile has none
	scorers []scorer
	usual   *usual // in their place, for the usual ones
}

// usual is a fit, a LeastAllocated or its like, and a balanced allocation: what nearly every pod has. They share one look at
// the rows.
type usual struct {
	log                             *cluster.Snapshot
	fit                             *filter.FitState
	allocation                      *score.AllocationState
	balance                         *score.BalanceState
	allocationWeight, balanceWeight int64
}

func (r *reuse) usual(a *asker) *usual {
	f, ok := a.fit.(fit)
	if !ok || len(a.scorers) != 2 {
		return nil
	}
	u := &usual{log: r.log, fit: f.FitState, allocationWeight: a.scorers[0].weight, balanceWeight: a.scorers[1].weight}
	u.allocation, _ = a.scorers[0].Scorer.(*score.AllocationState)
	u.balance, _ = a.scorers[1].Scorer.(*score.BalanceState)
	if u.allocation == nil || u.balance == nil {
		return nil
	}
	return u
}

func (u *usual) own(i int) (own int64, reject resources.Verdict) {
	alloc, used := u.log.Allocatable(i), u.log.Requested(i)
	if v := u.fit.CheckOf(alloc, used); v != 0 {
		return 0, v
	}
	cpu, memory := u.log.NonZero(i)
	return u.allocation.RawOf(i, alloc, cpu, memory)*u.allocationWeight + u.balance.RawOf(i, alloc, used)*u.balanceWeight, 0
}

// askerOf prepares a pod. It reports false when a plugin fails.
func (r *reuse) askerOf(pod *v1.Pod) (a asker, ok bool) {
	for _, plugin := range r.plan.profile.Filters {
		if p, is := plugin.(NodeResourcesFit); is {
			f := p.Filter(pod, r.log)
			if f.Code != filter.Success || a.fit != nil {
				return a, false
			}
			a.fit = f.Predicate
		}
	}
	for _, w := range r.plan.profile.Scores {
		if !byRows(w.Plugin) {
			continue
		}
		s, err := w.Plugin.Score(pod, r.log)
		if err != nil {
			return a, false
		}
		if s == nil {
			continue
		}
		if images, is := s.(*score.ImageState); is && images.Zero() {
			continue
		}
		a.scorers = append(a.scorers, scorer{Scorer: s, name: w.Plugin.Name(), weight: w.weight()})
	}
	a.usual = r.usual(&a)
	return a, true
}

func byRows(plugin ScorePlugin) bool {
	switch plugin.(type) {
	case NodeResourcesFit, NodeResourcesBalancedAllocation, ImageLocality:
		return true
	}
	return false
}

const maxOwn = 1 << 30

// key judges a slot: its key, or the verdict that rejects it.
func (a *asker) key(i int, rank int32) (key int64, reject resources.Verdict, ok bool) {
	var own int64
	if a.usual != nil {
		if own, reject = a.usual.own(i); reject != 0 {
			return -1, reject, true
		}
		return own<<32 | int64(math.MaxUint32-uint32(rank)), 0, own >= 0 && own < maxOwn
	}
	if a.fit != nil {
		if v := a.fit.Check(i); v != 0 {
			return -1, v, true
		}
	}
	for k := range a.scorers {
		own += a.scorers[k].Raw(i) * a.scorers[k].weight
	}
	return own<<32 | int64(math.MaxUint32-uint32(rank)), 0, own >= 0 && own < maxOwn
}

// rowsOf returns the rows for a pod, up to date; nil when they cannot be kept.
func (r *reuse) rowsOf(pod *v1.Pod) *rows {
	r.key.b = r.key.b[:0]
	r.key.rows(pod, r.log)
	if w, ok := r.row[string(r.key.b)]; ok {
		if !w.follow(r) {
			return nil
		}
		return w
	}
	key := string(r.key.b)
	a, ok := r.askerOf(pod)
	w := &rows{version: r.log.Version(), changes: len(r.changes), asker: a, rank: r.ranks(), broken: !ok}
	r.row[key] = w
	if w.broken {
		return nil
	}
	w.keys, w.reject = make([]int64, r.log.Len()), make([]resources.Verdict, r.log.Len())
	for _, i := range r.plan.order() {
		w.judge(i)
	}
	if w.broken {
		return nil
	}
	return w
}

func (w *rows) judge(i int) {
	var ok bool
	w.keys[i], w.reject[i], ok = w.key(i, w.rank[i])
	w.broken = w.broken || !ok
}

// follow judges the slots anew whose pods or nodes changed.
func (w *rows) follow(r *reuse) bool {
	for ; w.changes < len(r.changes); w.changes++ {
		if !w.broken {
			w.judge(int(r.changes[w.changes].slot))
		}
	}
	version := r.log.Version()
	if w.broken || version == w.version {
		return !w.broken
	}
	known := r.log.Since(w.version, func(events []cluster.Event) {
		for i := range events {
			w.judge(int(events[i].Node))
		}
	})
	w.version, w.broken = version, w.broken || !known
	return !w.broken
}
