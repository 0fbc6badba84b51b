package preemption

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/podberth/podberth/internal/nodeorder"
	"github.com/podberth/podberth/internal/podinfo"
)

// Victim is a pod that has to leave.
type Victim struct {
	Placed
	// Violates is true if a disruption budget does not allow the disruption of the pod.
	Violates bool
}

// Candidate is a node and the pods that have to leave so that the preemptor fits on the node.
type Candidate struct {
	Slot int
	Node string
	// Victims are the pods, most important first. After an extender answered, they are in the extender's order.
	Victims []Victim
	// Violations is the number of victims that break a disruption budget. A victim that breaks several counts once. An
	// extender may set another number.
	Violations int64
	// Foreign is the number of victims on other nodes; 0 without Options.CrossNode, where only units reach other nodes and nobody counts
	// them.
	Foreign int
}

// SmallestName is the [Result.Criterion] that replaces v1.37's random choice.
const SmallestName = "smallest node name"

// comparisons has the criteria that compare victims; [nodeorder.Default] has their order. compare returns a negative number if a is better
// than b.
var comparisons = [...]struct {
	criterion string
	compare   func(a, b *criteria) int
}{
	nodeorder.Violations:      {"fewest violations of disruption budgets", func(a, b *criteria) int { return cmp.Compare(a.violations, b.violations) }},
	nodeorder.Foreign:         {"fewest victims on other nodes", func(a, b *criteria) int { return cmp.Compare(a.foreign, b.foreign) }},
	nodeorder.HighestPriority: {"lowest of the highest victim priorities", func(a, b *criteria) int { return cmp.Compare(a.highest, b.highest) }},
	nodeorder.PrioritySum:     {"smallest sum of victim priorities", func(a, b *criteria) int { return cmp.Compare(a.sum, b.sum) }},
	nodeorder.Victims:         {"fewest victims", func(a, b *criteria) int { return cmp.Compare(a.victims, b.victims) }},
	nodeorder.Start:           {"latest start of the most important victims", func(a, b *criteria) int { return b.start.Compare(a.start) }},
}

// rank is the place of a criterion in nodeorder.Default, or one of those around it. Criteria of a lower rank are looked at first.
type rank int

const (
	onlyCandidate rank = -2 // there was one candidate
	ownScore      rank = -1 // Options.Scores, in place of nodeorder.Default
	smallestName  rank = rank(len(nodeorder.Default))
)

func (r rank) criterion() string {
	switch r {
	case onlyCandidate:
		return "only candidate"
	case ownScore:
		return "own score"
	case smallestName:
		return SmallestName
	}
	return comparisons[nodeorder.Default[r]].criterion
}

// criteria are what choose compares.
type criteria struct {
	violations int64
	foreign    int
	highest    int32     // priority of the first victim; the lowest int32 without victims
	sum        int64     // of the victims' priorities, by nodeorder.Weight
	victims    int       // number of victims
	start      time.Time // earliest start of the victims of the highest priority; the zero time without victims
}

// values returns what choose compares. A victim without start time started at now.
func (c *Candidate) values(now time.Time) criteria {
	v := criteria{violations: c.Violations, foreign: c.Foreign, victims: len(c.Victims), highest: math.MinInt32}
	if len(c.Victims) > 0 {
		v.highest = Priority(c.Victims[0].Pod)
	}
	var highest int32
	for k := range c.Victims {
		p := c.Victims[k].Pod
		priority, s := Priority(p), podinfo.Start(p, now)
		v.sum += nodeorder.Weight(priority)
		switch {
		case k == 0 || priority > highest:
			highest, v.start = priority, s
		case priority == highest && s.Before(v.start):
			v.start = s
		}
	}
	return v
}

// valuesOf appends what choose compares.
func valuesOf(dst []*criteria, candidates []Candidate, now time.Time) []*criteria {
	for k := range candidates {
		v := candidates[k].values(now)
		dst = append(dst, &v)
	}
	return dst
}

// choose returns the index of the best candidate and the criterion that left only that candidate; -1 without candidates.
// Each criterion of nodeorder.Default keeps the candidates with the best value, and the smallest node name is the last one (rule P10.6: v1.37 leaves
// it to chance). scores replace these criteria; the highest score wins. Load, grace periods, spread and costs do not count.
// O(victims).
func choose(candidates []Candidate, values []*criteria, scores []func(Candidate) int64) (int, string) {
	if len(candidates) == 0 {
		return -1, ""
	}
	if slices.ContainsFunc(scores, isNil) {
		scores = slices.DeleteFunc(slices.Clone(scores), isNil)
	}
	better := func(a, b *Candidate, va, vb *criteria) (int, rank) {
		for _, score := range scores {
			if c := cmp.Compare(score(*b), score(*a)); c != 0 {
				return c, ownScore
			}
		}
		if len(scores) == 0 {
			if c, by := va.compare(vb); c != 0 {
				return c, by
			}
		}
		return strings.Compare(a.Node, b.Node), smallestName
	}
	best := 0
	for k := range candidates {
		if c, _ := better(&candidates[k], &candidates[best], values[k], values[best]); c < 0 {
			best = k
		}
	}
	decided := onlyCandidate // the last criterion that the winner needed against another candidate
	for k := range candidates {
		if k != best {
			_, by := better(&candidates[best], &candidates[k], values[best], values[k])
			decided = max(decided, by)
		}
	}
	return best, decided.criterion()
}

// compare returns a negative number if v is better than o, a positive number if v is worse, and the criterion that differs.
func (v *criteria) compare(o *criteria) (int, rank) {
	for k, by := range nodeorder.Default {
		if c := comparisons[by].compare(v, o); c != 0 {
			return c, rank(k)
		}
	}
	return 0, smallestName
}

func isNil(score func(Candidate) int64) bool { return score == nil }
