package optimal

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/nodeorder"
	"github.com/podberth/podberth/preemption"
)

// Criterion is one value of a set of victims. A smaller value is better.
type Criterion uint8

const (
	// Violations is the number of victims that break a disruption budget, when the more important victims draw first.
	Violations = Criterion(nodeorder.Violations)
	// Foreign is the number of victims on other nodes.
	Foreign = Criterion(nodeorder.Foreign)
	// HighestPriority is the highest priority of a victim.
	HighestPriority = Criterion(nodeorder.HighestPriority)
	// PrioritySum is the sum of the priorities of the victims, each plus 2147483648, so that more victims weigh more.
	PrioritySum = Criterion(nodeorder.PrioritySum)
	// Victims is the number of victims.
	Victims = Criterion(nodeorder.Victims)
	// Start is the earliest start of the victims of the highest priority, in microseconds before 1970: a later start is better.
	Start = Criterion(nodeorder.Start)
	// Cost is the sum of Options.Cost.
	Cost = Criterion(len(nodeorder.Default))

	criteria = int(Cost) + 1
)

var criterionNames = [criteria]string{
	"broken budgets", "victims on other nodes", "highest priority", "sum of priorities", "victims", "latest start", "cost",
}

// String returns the criterion in words.
func (c Criterion) String() string {
	if int(c) >= criteria {
		return fmt.Sprintf("criterion %d", uint8(c))
	}
	return criterionNames[c]
}

// DefaultOrder returns v1.37's order of criteria for nodes, with [Foreign] in second place.
func DefaultOrder() []Criterion {
	order := make([]Criterion, 0, len(nodeorder.Default))
	for _, c := range nodeorder.Default {
		order = append(order, Criterion(c))
	}
	return order
}

// Values are the values of a set of victims by [Criterion]. Of no victims [HighestPriority] and [Start] are the smallest numbers.
type Values [criteria]int64

var noVictims = Values{HighestPriority: math.MinInt64, Start: math.MinInt64}

// Compare compares two sets of victims by the criteria in order: the result is negative if a is better, and 0 if the sets are
// equal in all criteria. An unknown criterion does not count.
func Compare(a, b Values, order []Criterion) int {
	for _, c := range order {
		if int(c) >= criteria {
			continue
		}
		if d := cmp.Compare(a[c], b[c]); d != 0 {
			return d
		}
	}
	return 0
}

// add adds the values of more victims.
func (v *Values) add(w *Values) {
	v[Foreign] += w[Foreign]
	v[PrioritySum] += w[PrioritySum]
	v[Victims] += w[Victims]
	v[Cost] += w[Cost]
	switch {
	case w[HighestPriority] > v[HighestPriority]:
		v[HighestPriority], v[Start] = w[HighestPriority], w[Start]
	case w[HighestPriority] == v[HighestPriority]:
		v[Start] = max(v[Start], w[Start])
	}
}

// Of returns the values of a candidate's victims. A pod without start time started at now.
func (s *Search) Of(c preemption.Candidate, now time.Time) Values {
	v := noVictims
	v[Violations] = c.Violations
	for _, victim := range c.Victims {
		s.addPod(&v, victim.Placed, c.Slot, now)
	}
	return v
}

// addPod adds the values of one victim.
func (s *Search) addPod(v *Values, p preemption.Placed, slot int, now time.Time) {
	priority := preemption.Priority(p.Pod)
	one := Values{HighestPriority: int64(priority), PrioritySum: nodeorder.Weight(priority), Victims: 1, Start: -start(p.Pod, now)}
	if p.Slot != slot {
		one[Foreign] = 1
	}
	if s.o.Cost != nil {
		one[Cost] = max(0, s.o.Cost(p))
	}
	v.add(&one)
}

func start(pod *v1.Pod, now time.Time) int64 {
	if pod == nil || pod.Status.StartTime == nil {
		return now.UnixMicro()
	}
	return pod.Status.StartTime.UnixMicro()
}

// validate checks an order of criteria.
func validate(order []Criterion) error {
	for k, c := range order {
		if int(c) >= criteria {
			return fmt.Errorf("order[%d]: unknown criterion %d: the largest is %d", k, c, criteria-1)
		}
		if slices.Contains(order[:k], c) {
			return fmt.Errorf("order[%d]: %s is in the order twice", k, c)
		}
	}
	return nil
}
