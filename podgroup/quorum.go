package podgroup

import "fmt"

// State is how far a group is from its minimum.
type State int

// The states.
const (
	// Satisfied: enough are scheduled.
	Satisfied State = iota
	// Waiting: those that remain may be enough.
	Waiting
	// Unsatisfiable: those that remain are not enough.
	Unsatisfiable
)

// Quorum counts the members of a group, or the children of a composite group.
type Quorum struct {
	Minimum   int
	Scheduled int
	Remaining int
}

// State compares the numbers.
func (q Quorum) State() State {
	switch {
	case q.Scheduled+q.Remaining < q.Minimum:
		return Unsatisfiable
	case q.Scheduled < q.Minimum:
		return Waiting
	}
	return Satisfied
}

// Text returns what kube-scheduler says about the state; "" when the group is satisfied.
func (q Quorum) Text() string {
	switch q.State() {
	case Unsatisfiable:
		return fmt.Sprintf("minCount (%d) cannot be satisfied: %d scheduled, %d remaining", q.Minimum, q.Scheduled, q.Remaining)
	case Waiting:
		return fmt.Sprintf("minCount (%d) is not yet satisfied: %d scheduled, %d remaining", q.Minimum, q.Scheduled, q.Remaining)
	}
	return ""
}
