package taints

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// Explanation is the result of matching one taint of a node.
type Explanation struct {
	Taint v1.Taint
	// By is the index, in the pod's list, of the first toleration that tolerates the taint. It is -1 when no toleration
	// does.
	By int
}

// String returns the taint in the notation of kubectl and what it does, such as "gpu=a100:NoSchedule rejects".
func (x Explanation) String() string {
	name := x.Taint.ToString()
	switch {
	case x.By >= 0:
		return fmt.Sprintf("%s tolerated by tolerations[%d]", name, x.By)
	case kindOf(x.Taint.Effect).hard():
		return name + " rejects"
	case x.Taint.Effect == v1.TaintEffectPreferNoSchedule:
		return name + " is not preferred"
	}
	return name + " has no meaning"
}
