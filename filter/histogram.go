package filter

import (
	"cmp"
	"maps"
	"slices"
)

// Histogram counts why nodes were rejected. The zero value is empty and ready. Counting a node costs no allocation, apart
// from the first node of each distinct rejection; the texts are made at the end. Not for concurrent use; Merge joins the
// histograms of several workers.
type Histogram struct {
	nodes  int
	last   int // position of the rejection counted last
	counts []tally
	index  map[Rejection]int
	texts  map[string]int // reasons of partial rejections
}

type tally struct {
	r       Rejection
	n       int
	partial bool // the reasons are in texts
}

// Count is how many nodes have a reason.
type Count struct {
	Reason string
	Nodes  int
}

// Nodes returns how many nodes were counted.
func (h *Histogram) Nodes() int { return h.nodes }

// Add counts n nodes that are rejected as slot i is: a single node with n 1, or a group of nodes of which i is one. ps is
// the list that r is a rejection of. Nodes that r allows are not counted. A verdict that does not name all its reasons
// (Detailer) is resolved here and allocates.
func (h *Histogram) Add(ps Predicates, r Rejection, i, n int) {
	if r.Allowed() || n <= 0 {
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
		for _, reason := range ps[r.Predicate].(Detailer).ReasonsAt(i) {
			h.text(reason, n)
		}
	}
}

// tally returns the counter of r, which is 0 when r is new. The pointer holds until the next call.
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

func (h *Histogram) text(reason string, n int) {
	if h.texts == nil {
		h.texts = map[string]int{}
	}
	h.texts[reason] += n
}

// Merge adds what o counted over the same list of predicates.
func (h *Histogram) Merge(o *Histogram) {
	h.nodes += o.nodes
	for _, t := range o.counts {
		to := h.tally(t.r)
		to.n, to.partial = to.n+t.n, t.partial
	}
	for reason, n := range o.texts {
		h.text(reason, n)
	}
}

// Counts returns the number of nodes of each reason, by reason. A node with several reasons counts in each. ps is the
// list that was counted. O(distinct rejections).
func (h *Histogram) Counts(ps Predicates) []Count {
	sum := make(map[string]int, len(h.counts)+len(h.texts))
	maps.Copy(sum, h.texts)
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

// Rejecters returns the names of the predicates that rejected at least one node, in list order: the plugins whose events
// may make the pod schedulable. ps is the list that was counted.
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
