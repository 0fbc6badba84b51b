package reuse

import (
	"math"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/hooks"
)

// plain decides node by node. fails: the caller has to ask node by node, because a plugin fails, because a score is out of range, or to
// get the reasons of a node.
func (f *field) plain(q *Question) (out Answer, found []int, fails bool) {
	out.Slot = -1
	var predicates filter.Predicates
	type ranking struct {
		hooks.Ranking
		rows bool
	}
	var scorers []ranking
	places := func(at func(p *hooks.Plugin) int) []*hooks.Plugin {
		var list []*hooks.Plugin
		for k := range f.plugins {
			if p := &f.plugins[k]; at(p) >= 0 {
				list = append(list, p)
			}
		}
		return list
	}
	stateOf := func(p *hooks.Plugin) (hooks.State, bool) {
		x, err := p.Open().Compile(q.Pod)
		if err != nil || x == nil {
			return nil, err == nil
		}
		return x.Count(), true
	}
	for _, p := range places(func(p *hooks.Plugin) int { return p.Filter }) {
		var x filter.Predicate
		ok := true
		if p.Keep == hooks.KeepByAllPods {
			var s hooks.State
			if s, ok = stateOf(p); s != nil {
				x = s.Filter()
				if own, is := s.(hooks.PerPod); is {
					x = own.Of(q.Pod)
				}
			}
		} else {
			x, ok = p.Predicate(q.Pod)
		}
		if !ok {
			return out, found, true
		}
		if x != nil {
			predicates = append(predicates, x)
		}
	}
	for _, p := range places(func(p *hooks.Plugin) int { return p.Score }) {
		var x hooks.Scorer
		var err error
		if p.Keep == hooks.KeepByAllPods {
			if s, _ := stateOf(p); s != nil {
				x = s.Score()
			}
		} else {
			x, err = p.Scorer(q.Pod)
		}
		if err != nil {
			return out, found, true
		}
		if x != nil {
			scorers = append(scorers, ranking{hooks.NewRanking(x, p.Name, p.Weight), p.Keep == hooks.KeepByNodeAndPods})
		}
	}
	order := f.slots()
	if q.Slots != nil {
		order = q.Slots
	}
	limit := q.Limit
	if limit == 0 {
		limit = len(order)
	}
	h := &filter.Histogram{}
	for k := range order {
		if len(found) == limit {
			break
		}
		out.Examined++
		i := order[(q.From+k)%len(order)]
		r := predicates.First(i)
		if r.Verdict == 0 {
			if !q.Without.Has(i) {
				found = append(found, i)
			}
			continue
		}
		if predicates.Code(r) == filter.Error {
			return out, found, true
		}
		h.Add(predicates, r, i, 1)
	}
	switch out.Feasible = len(found); out.Feasible {
	case 0:
		out.Rejected, out.Predicates = h, predicates
		return out, found, len(q.Without) > 0
	case 1:
		out.Slot = found[0]
		return out, found, false
	}
	totals := make([]int64, len(found))
	for _, x := range scorers {
		if x.Weigher != nil {
			var slots, counts []int32
			for _, i := range found {
				slots, counts = append(slots, int32(i)), append(counts, 1)
			}
			x.Weigher.Weigh(slots, counts)
		}
		lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
		for _, i := range found {
			if !x.Ignored(i) {
				lo, hi = min(lo, x.Raw(i)), max(hi, x.Raw(i))
			}
		}
		for k, i := range found {
			n := x.Raw(i)
			if x.Ignored(i) {
				continue
			}
			if x.Normalizer != nil {
				n = x.Normalizer.Normalize(n, lo, hi)
			}
			if !x.rows && (n < 0 || n > 100) {
				return out, found, true
			}
			totals[k] += n * x.Weight
		}
	}
	var tied []int
	out.Total = math.MinInt64
	for k, i := range found {
		if totals[k] > out.Total {
			out.Total, tied = totals[k], nil
		}
		if totals[k] == out.Total {
			tied = append(tied, i)
		}
	}
	out.Slot = tied[0]
	if q.Tie != nil && len(tied) > 1 {
		if k := q.Tie(len(tied)); k >= 0 && k < len(tied) {
			out.Slot = tied[k]
		}
	}
	return out, found, false
}
