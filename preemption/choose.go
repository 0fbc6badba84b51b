package preemption

import (
	"cmp"
	"math"
	"strings"
	"time"
)

// Victim is a pod that has to leave.
type Victim struct {
	Placed
	// Violates says that a disruption budget did not allow it.
	Violates bool
}

// Candidate is a node and the pods that have to leave so that the preemptor fits on it.
type Candidate struct {
	Slot int
	Node string
	// Victims are the pods, most important first; after an extender spoke, in its order.
	Victims []Victim
	// Violations is how many victims break a disruption budget, each counted once; an extender may say something else.
	Violations int64
	// Foreign is how many victims are on other nodes (Options.CrossNode, Options.Units).
	Foreign int
}

// Criterion is what decided among candidates. Those that come first were looked at first.
type Criterion int

// The criteria.
const (
	// Only: there was one candidate.
	Only Criterion = iota
	// OwnScore: Options.Scores, in place of the next six.
	OwnScore
	FewestViolations
	// FewestForeign: never decisive without victims on other nodes.
	FewestForeign
	LowestHighestPriority
	SmallestPrioritySum
	FewestVictims
	LatestStart
	SmallestName
)

// String returns the criterion in words.
func (c Criterion) String() string {
	names := [...]string{
		"only candidate", "own score", "fewest violations of disruption budgets", "fewest victims on other nodes",
		"lowest of the highest victim priorities", "smallest sum of victim priorities", "fewest victims",
		"latest start of the most important victims", "smallest node name",
	}
	if c < 0 || int(c) >= len(names) {
		return "unknown"
	}
	return names[c]
}

// Values are what Choose compares.
type Values struct {
	Violations int64
	Foreign    int
	// Highest is the priority of the first victim.
	Highest int32
	// Sum is the sum of the victims' priorities, each plus 2147483648, so that more victims weigh more.
	Sum     int64
	Victims int
	// Start is the earliest start among the victims of the highest priority; the zero time without victims.
	Start time.Time
}

// Values returns what Choose compares. A victim without start time started at now. O(victims).
func (c *Candidate) Values(now time.Time) Values {
	v := Values{Violations: c.Violations, Foreign: c.Foreign, Victims: len(c.Victims), Highest: math.MinInt32}
	if len(c.Victims) > 0 {
		v.Highest = Priority(c.Victims[0].Pod)
	}
	var highest int32
	for k := range c.Victims {
		p := c.Victims[k].Pod
		priority, s := Priority(p), start(p, now)
		v.Sum += int64(priority) + math.MaxInt32 + 1
		switch {
		case k == 0 || priority > highest:
			highest, v.Start = priority, s
		case priority == highest && s.Before(v.Start):
			v.Start = s
		}
	}
	return v
}

// Choose returns the index of the best candidate and the criterion that left only that one, -1 without candidates. Each
// criterion keeps those with the best value:
//
//  1. fewest victims that break a disruption budget (and then, with victims on other nodes, fewest of those),
//  2. lowest priority of the first victim, which is the highest,
//  3. smallest sum of the victims' priorities, each plus 2147483648,
//  4. fewest victims,
//  5. latest start: of each candidate the earliest start among the victims of its highest priority,
//  6. smallest node name.
//
// Load, grace periods, spread or costs do not count. Rule: documentation, "Pod Priority and Preemption", Higher priority
// Pods are preempted before lower priority pods; v1.36 leaves criterion 6 to chance. O(victims).
func Choose(candidates []Candidate, now time.Time) (int, Criterion) {
	return choose(candidates, now, nil)
}

func choose(candidates []Candidate, now time.Time, scores []func(Candidate) int64) (int, Criterion) {
	if len(candidates) == 0 {
		return -1, Only
	}
	better := func(a, b *Candidate, va, vb *Values) (int, Criterion) {
		for _, score := range scores {
			if c := cmp.Compare(score(*b), score(*a)); c != 0 {
				return c, OwnScore
			}
		}
		if len(scores) == 0 {
			if c, by := va.compare(vb); c != 0 {
				return c, by
			}
		}
		return strings.Compare(a.Node, b.Node), SmallestName
	}
	values, best := make([]Values, len(candidates)), 0
	for k := range candidates {
		values[k] = candidates[k].Values(now)
		if c, _ := better(&candidates[k], &candidates[best], &values[k], &values[best]); c < 0 {
			best = k
		}
	}
	decided := Only // the last criterion that the winner needed against somebody
	for k := range candidates {
		if k != best {
			_, by := better(&candidates[best], &candidates[k], &values[best], &values[k])
			decided = max(decided, by)
		}
	}
	return best, decided
}

// compare returns a negative number when v is better, and the criterion that says so.
func (v *Values) compare(o *Values) (int, Criterion) {
	if c := cmp.Compare(v.Violations, o.Violations); c != 0 {
		return c, FewestViolations
	}
	if c := cmp.Compare(v.Foreign, o.Foreign); c != 0 {
		return c, FewestForeign
	}
	if c := cmp.Compare(v.Highest, o.Highest); c != 0 {
		return c, LowestHighestPriority
	}
	if c := cmp.Compare(v.Sum, o.Sum); c != 0 {
		return c, SmallestPrioritySum
	}
	if c := cmp.Compare(v.Victims, o.Victims); c != 0 {
		return c, FewestVictims
	}
	return o.Start.Compare(v.Start), LatestStart
}
