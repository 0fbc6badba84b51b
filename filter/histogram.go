package filter

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// Histogram counts why nodes were rejected. The zero value is empty and ready. Add allocates only for the first node of each
// distinct rejection. Counts makes the texts. A Histogram is not safe for concurrent use.
type Histogram struct {
	nodes  int
	last   int // position of the rejection counted last
	counts []tally
	index  map[Rejection]int
	texts  map[string]int // reasons of partial rejections, without those of the last nodes
	// The last nodes with a partial rejection had these reasons. Nodes with the same reasons follow each other, and a pod may ask for hundreds
	// of resources.
	reasons []string
	alike   int
}

type tally struct {
	r       Rejection
	n       int
	partial bool // the reasons are in texts
}

// Count is a reason and the number of nodes that have it.
type Count struct {
	Reason string
	Nodes  int
}

// Nodes returns the number of nodes counted.
func (h *Histogram) Nodes() int { return h.nodes }

// Rejections yields each distinct rejection with its number of nodes.
func (h *Histogram) Rejections() iter.Seq2[Rejection, int] {
	return func(yield func(Rejection, int) bool) {
		for _, t := range h.counts {
			if !yield(t.r, t.n) {
				return
			}
		}
	}
}

// Add counts n nodes with the rejection r: the node of slot i and n-1 nodes that are equal to it. r is a rejection of the
// list ps. Add ignores a rejection that allows, and ignores n below 1. For a verdict that does not have all its reasons
// ([Detailer]), Add asks for the reasons of slot i and allocates.
func (h *Histogram) Add(ps Predicates, r Rejection, i, n int) {
	if r.Verdict == 0 || n <= 0 {
		return
	}
	h.nodes += n
	t := h.tally(r)
	if t.n == 0 {
		d, ok := ps[r.Predicate].(Detailer)
		t.partial = ok && d.Partial(r.Verdict)
	}
	t.n += n
	if t.partial {
		if reasons := ps[r.Predicate].(Detailer).ReasonsAt(i); !slices.Equal(reasons, h.reasons) {
			if h.texts == nil {
				h.texts = map[string]int{}
			}
			h.addLast(h.texts)
			h.reasons, h.alike = slices.Clone(reasons), 0
		}
		h.alike += n
	}
}

// tally returns the counter of r. A new counter is 0. The pointer is valid until the next call.
func (h *Histogram) tally(r Rejection) *tally {
	if h.last < len(h.counts) && h.counts[h.last].r == r {
		return &h.counts[h.last]
	}
	pos, ok := h.index[r]
	if !ok {
		if h.index == nil {
			h.index = map[Rejection]int{}
		}
		pos = len(h.counts)
		h.counts = append(h.counts, tally{r: r})
		h.index[r] = pos
	}
	h.last = pos
	return &h.counts[pos]
}

// addLast adds the nodes with the last reasons to a sum.
func (h *Histogram) addLast(sum map[string]int) {
	for _, reason := range h.reasons {
		sum[reason] += h.alike
	}
}

// Counts returns the number of nodes of each reason, sorted by reason. A node with several reasons counts for each of them.
// ps is the list whose rejections were added. O(distinct rejections).
func (h *Histogram) Counts(ps Predicates) []Count {
	sum := make(map[string]int, len(h.counts)+len(h.texts))
	maps.Copy(sum, h.texts)
	h.addLast(sum)
	for _, t := range h.counts {
		if t.partial {
			continue
		}
		for _, reason := range ps[t.r.Predicate].Reasons(t.r.Verdict) {
			sum[reason] += t.n
		}
	}
	out := make([]Count, 0, len(sum))
	for reason, n := range sum {
		out = append(out, Count{reason, n})
	}
	slices.SortFunc(out, func(a, b Count) int { return cmp.Compare(a.Reason, b.Reason) })
	return out
}

// Rejecters returns the names of the predicates that rejected at least one node, in list order. Events of these plugins may
// make the pod schedulable. ps is the list whose rejections were added.
func (h *Histogram) Rejecters(ps Predicates) []string {
	var positions []int
	for _, t := range h.counts {
		positions = append(positions, int(t.r.Predicate))
	}
	slices.Sort(positions)
	var out []string
	for _, k := range slices.Compact(positions) {
		out = append(out, ps[k].Name())
	}
	return out
}
