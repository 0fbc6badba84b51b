package resources

import "strconv"

// Verdict is what a filter says about one node. The zero value allows the pod. Every other value rejects it: the lower 15
// bits are the reason, with a meaning of each deciding package's own, and the bit Unresolvable says that preemption cannot
// help. Two verdicts of one state are equal exactly when the code and the reasons are equal, unless the package says more.
type Verdict uint16

// Unresolvable is the bit of a verdict that says that removing pods from the node cannot help
// (UnschedulableAndUnresolvable in the scheduling framework).
const Unresolvable Verdict = 0x8000

// Allows reports whether the verdict allows the pod.
func (v Verdict) Allows() bool { return v == 0 }

// Unresolvable reports whether the verdict rejects the pod and removing pods from the node cannot help.
func (v Verdict) Unresolvable() bool { return v&Unresolvable != 0 }

// Reason returns the verdict without the bit Unresolvable.
func (v Verdict) Reason() Verdict { return v &^ Unresolvable }

// String returns "allows", "rejects (N)" or "rejects for good (N)", where N is the reason.
func (v Verdict) String() string {
	switch {
	case v == 0:
		return "allows"
	case v.Unresolvable():
		return "rejects for good (" + strconv.Itoa(int(v.Reason())) + ")"
	}
	return "rejects (" + strconv.Itoa(int(v)) + ")"
}
