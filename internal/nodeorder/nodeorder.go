// Package nodeorder has the order in which preemption prefers nodes. Package preemption chooses by it, and package preemption/optimal
// searches by it. Another order is another [Default], and nothing else.
package nodeorder

import "math"

// Criterion is what two sets of victims are compared by.
type Criterion uint8

// The criteria. A smaller value is better, and of Start a later one.
const (
	Violations      Criterion = iota // victims that break a disruption budget
	Foreign                          // victims on other nodes; decides only with victims there
	HighestPriority                  // the highest priority of a victim
	PrioritySum                      // the sum of the Weights of the victims
	Victims                          // the number of victims
	Start                            // the earliest start of the victims of the highest priority

	criteria
)

// Default is the order, the first criterion first. Rules P10.1 to P10.5: documentation, "Pod Priority and Preemption" (Higher priority Pods
// are preempted before lower priority pods). The smallest node name comes after all of them (rule P10.6).
var Default = [criteria]Criterion{Violations, Foreign, HighestPriority, PrioritySum, Victims, Start}

// Weight returns what a victim adds to PrioritySum. No priority weighs less than 0, so that more victims weigh more.
func Weight(priority int32) int64 {
	return int64(priority) + math.MaxInt32 + 1
}
