package filter

import "strconv"

// Code is the outcome of one plugin at one extension point. Names and numbers are those of kube-scheduler's framework. The
// zero value is [Success].
type Code int

// Codes of a plugin's answer. A filter may answer with [Success], [Unschedulable], [UnschedulableAndUnresolvable], [Pending] or
// [Error].
const (
	// Success lets the pod pass.
	Success Code = iota
	// Error is a failure of the plugin itself. It ends the attempt. The pod is tried again after backoff.
	Error
	// Unschedulable rejects. Removing other pods may help.
	Unschedulable
	// UnschedulableAndUnresolvable rejects. Removing other pods cannot help.
	UnschedulableAndUnresolvable
	// Wait holds the pod at Permit.
	Wait
	// Skip leaves the plugin out of the rest of the attempt.
	Skip
	// Pending rejects until an event that the plugin waits for.
	Pending
)

var codeNames = [...]string{"Success", "Error", "Unschedulable", "UnschedulableAndUnresolvable", "Wait", "Skip", "Pending"}

// String returns the name of the code, and "Code(n)" for a number without a name.
func (c Code) String() string {
	if c < 0 || int(c) >= len(codeNames) {
		return "Code(" + strconv.Itoa(int(c)) + ")"
	}
	return codeNames[c]
}
