package filter

import "strconv"

// Code is the outcome of one plugin at one extension point, with the names and numbers of kube-scheduler's framework. The
// zero value is Success.
type Code int

// The codes. Filters answer with Success, Unschedulable, UnschedulableAndUnresolvable, Pending or Error.
const (
	// Success lets the pod pass.
	Success Code = iota
	// Error is a failure of the plugin itself; the attempt ends and is retried after backoff.
	Error
	// Unschedulable rejects; removing other pods may help.
	Unschedulable
	// UnschedulableAndUnresolvable rejects; removing other pods cannot help.
	UnschedulableAndUnresolvable
	// Wait holds the pod at Permit.
	Wait
	// Skip leaves the plugin out of the rest of the attempt.
	Skip
	// Pending rejects until an event of the plugin that rejects.
	Pending
)

var codeNames = [...]string{"Success", "Error", "Unschedulable", "UnschedulableAndUnresolvable", "Wait", "Skip", "Pending"}

// String returns the name of the code, "Code(n)" outside the range.
func (c Code) String() string {
	if c < 0 || int(c) >= len(codeNames) {
		return "Code(" + strconv.Itoa(int(c)) + ")"
	}
	return codeNames[c]
}

// Rejected reports whether the code turns a pod or node down: Unschedulable, UnschedulableAndUnresolvable or Pending.
func (c Code) Rejected() bool {
	return c == Unschedulable || c == UnschedulableAndUnresolvable || c == Pending
}
