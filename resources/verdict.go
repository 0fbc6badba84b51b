package resources

import "strconv"

// Verdict is what a filter says about one node. The zero value allows the pod. Every other value rejects the pod: the lower
// 15 bits are a reason, whose meaning the deciding package defines, and the bit [Unresolvable] says that preemption cannot
// help. Two verdicts of one state are equal exactly when their codes and reasons are equal, unless the package says more.
type Verdict uint16

// Unresolvable is the bit of a verdict that says that removing pods from the node cannot help
// (UnschedulableAndUnresolvable in the scheduling framework).
const Unresolvable Verdict = 0x8000

// String returns "allows", "rejects (N)" or "rejects for good (N)", where N is the reason.
func (v Verdict) String() string {
	reason := strconv.Itoa(int(v &^ Unresolvable))
	switch {
	case v == 0:
		return "allows"
	case v&Unresolvable != 0:
		return "rejects for good (" + reason + ")"
	}
	return "rejects (" + reason + ")"
}
