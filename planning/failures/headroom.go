package failures

import (
	"slices"

	"github.com/podberth/podberth/internal/must"
)

// Search limits a search for headroom. The zero value has the defaults.
type Search struct {
	// Parallel is Options.Parallel.
	Parallel func(n int, run func(i int))
	// Limit is the number of scenarios of two nodes or more to play at most; 0 means 10,000, less than 0 none.
	Limit int
	// Remedies is the number of remedies of each kind to check at most; 0: none. Each plays the failure of every node once, or up to
	// twice. Together they end after DefaultSteps scenarios; one is always checked.
	Remedies int
	// Stop ends the search when it returns true, as Limit does; it is asked before each scenario. nil: never.
	Stop func() bool
}

// defaultLimit is the limit of a [Search] whose Limit is 0.
const defaultLimit = 10000

// Headroom says how many nodes may fail.
type Headroom struct {
	// Survives is proven: every set of at most so many nodes was played, and none leaves a pod pending or waiting.
	Survives int
	// Found is the worst scenario of the smallest size that was found to leave a pod pending or waiting; nil when there is none
	// within the limit.
	Found *Result
	// Exact reports that Found has one node more than Survives: no smaller set exists.
	Exact bool
	// Played is the number of scenarios. Limited reports that the limit or Stop ended the search, so that a longer search may find more.
	Played  int
	Limited bool
	// Remedies are what would let the cluster survive each failure of one node, checked by deciding again; nil when it does.
	Remedies []Remedy
	// Untried are the remedies that were left out.
	Untried int
}

// Binding returns the group that binds: the largest of Found; nil when there is none.
func (h *Headroom) Binding() *Group {
	if h.Found == nil || len(h.Found.Groups) == 0 {
		return nil
	}
	return &h.Found.Groups[0]
}

// Headroom returns how many nodes may fail before a pod stays pending. It plays every single node, and then all sets of two
// nodes, of three nodes and so on while the limit allows all sets of a size. Beyond that it looks for a set: it fails the nodes
// whose pods ask for most together, as many as it takes, and takes nodes out of the set while a pod stays pending. The loss of
// more nodes may leave fewer pods pending, such as when it takes the pods that forbid others; so only Survives is a proof.
func (p *Planner) Headroom(s Search) (found Headroom, err error) {
	defer must.Catch(&err)
	if s.Limit == 0 {
		s.Limit = defaultLimit
	}
	h := search{p: p, s: s}
	for size := 1; size <= len(p.nodes); size++ {
		sets := combinations(len(p.nodes), size, s.Limit-h.played)
		if size == 1 {
			sets = combinations(len(p.nodes), 1, len(p.nodes))
		}
		if sets == nil {
			h.Limited = true
			break
		}
		failing, whole := h.play(sets)
		if size > 1 {
			h.played += len(sets)
		}
		if len(failing) > 0 {
			Worst(failing)
			h.Found, h.Exact = &failing[0], true
			if size == 1 {
				h.remedies(failing)
			}
			return h.Headroom, nil
		}
		if !whole {
			h.Limited = true
			break
		}
		h.Survives = size
	}
	h.grow()
	return h.Headroom, nil
}

// search is one call of Headroom.
type search struct {
	Headroom
	p      *Planner
	s      Search
	played int // of two nodes or more
}

// stopped reports whether the caller ends the search.
func (h *search) stopped() bool { return h.s.Stop != nil && h.s.Stop() }

// play returns the results of the sets that leave a pod pending. whole is false when Stop left some sets out.
func (h *search) play(sets [][]int) (out []Result, whole bool) {
	const block = 64 // results of scenarios without consequences are not kept
	for part := range slices.Chunk(sets, block) {
		if h.stopped() {
			return out, false
		}
		scenarios := make([]Scenario, len(part))
		for i, set := range part {
			scenarios[i] = h.p.scenario(set...)
		}
		results := must.Get(h.p.Run(scenarios, Options{Parallel: h.s.Parallel, Stop: h.s.Stop}))
		h.Played += len(results)
		for _, r := range results {
			if r.Stays() > 0 {
				out = append(out, r)
			}
		}
		if len(results) < len(part) {
			return out, false
		}
	}
	return out, true
}

// combinations returns all sets of size numbers below n in order, nil when there are more than limit.
func combinations(n, size, limit int) [][]int {
	count := 1
	for i := range size {
		count = count * (n - i) / (i + 1)
		if count > limit {
			return nil
		}
	}
	out := make([][]int, 0, count)
	set := make([]int, size)
	var choose func(at, from int)
	choose = func(at, from int) {
		if at == size {
			out = append(out, slices.Clone(set))
			return
		}
		for i := from; i <= n-(size-at); i++ {
			set[at] = i
			choose(at+1, i+1)
		}
	}
	choose(0, 0)
	return out
}

// grow looks for a set that leaves a pod pending: the first nodes of those whose pods ask for most, then fewer of them.
func (h *search) grow() {
	if !h.Limited {
		return
	}
	order := h.p.fullest()
	try := func(set []int) *Result {
		if h.played >= h.s.Limit || h.stopped() {
			return nil
		}
		h.played++
		if failing, _ := h.play([][]int{set}); len(failing) > 0 {
			return &failing[0]
		}
		return nil
	}
	low, high := h.Survives, h.Survives+1 // the first low nodes may fail together
	for {
		if h.Found = try(order[:min(high, len(order))]); h.Found != nil {
			break
		}
		if high >= len(order) {
			return
		}
		low, high = high, 2*high
	}
	high = min(high, len(order))
	for high-low > 1 {
		middle := (low + high) / 2
		if found := try(order[:middle]); found != nil {
			h.Found, high = found, middle
		} else {
			low = middle
		}
	}
	set := slices.Clone(order[:high])
	for i := len(set) - 1; i >= 0 && len(set) > h.Survives+1; i-- {
		fewer := slices.Delete(slices.Clone(set), i, i+1)
		if found := try(fewer); found != nil {
			h.Found, set = found, fewer
		}
	}
	h.Exact = len(set) == h.Survives+1
}
