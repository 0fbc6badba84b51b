package taints

import (
	"fmt"
	"math"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Stay says how long a pod may stay on a node because of its NoExecute taints.
type Stay uint8

const (
	// NoTaint: the node has no NoExecute taint. The pod stays.
	NoTaint Stay = iota
	// Forever: every NoExecute taint is tolerated without limit. The pod stays.
	Forever
	// Limited: every NoExecute taint is tolerated, some for a time only.
	Limited
	// Leave: some NoExecute taint is not tolerated. The pod leaves at once.
	Leave
)

// String returns the name of the value.
func (s Stay) String() string {
	switch s {
	case NoTaint:
		return "NoTaint"
	case Forever:
		return "Forever"
	case Limited:
		return "Limited"
	case Leave:
		return "Leave"
	}
	return fmt.Sprintf("Stay(%d)", uint8(s))
}

// Deadline is what the NoExecute taints of a node mean for a pod on it. The zero value means that there are none.
type Deadline struct {
	Stay Stay
	// After is the time to stay when Stay is Limited, at least 0, counted from the moment at which pod and taint were
	// first seen together. 0 with Limited means at once for a pod whose time is not running yet.
	After time.Duration
	// Taint is the place, in the list of taints, of the taint that decides: the first one not tolerated (Leave) or the
	// first one with the smallest limit (Limited); -1 otherwise.
	Taint int
	// Toleration is the place, in the list of tolerations, of the one that limits the stay (Limited); -1 otherwise.
	Toleration int
}

// Leaves reports whether the pod leaves at some time unless something changes.
func (d Deadline) Leaves() bool { return d.Stay == Limited || d.Stay == Leave }

// MaxTolerationSeconds is the largest tolerationSeconds that limit a stay; larger ones mean for ever. It is the number of
// whole seconds in a time.Duration. Kubernetes multiplies without a check: there, some larger values wrap around to a
// short time.
const MaxTolerationSeconds = int64(math.MaxInt64 / int64(time.Second))

// Deadline returns how long a pod may stay on a node with these taints (documentation, "Taints and Tolerations",
// Taint based Evictions; API field tolerationSeconds):
//
//  1. Only taints with effect NoExecute count; without one the result is NoTaint.
//  2. Each is represented by the first toleration, in list order, that tolerates it: not the longest, not the shortest.
//     A taint without one gives Leave.
//  3. The smallest tolerationSeconds of those tolerations limits the stay; 0 and negative values mean 0, none means no
//     limit, and so do values above MaxTolerationSeconds.
//
// Taint.TimeAdded does not matter. O(taints x tolerations), no allocation.
func (e *Evaluator) Deadline(taints []v1.Taint) Deadline {
	d := Deadline{Taint: -1, Toleration: -1}
	var least int64
	for i := range taints {
		if taints[i].Effect != v1.TaintEffectNoExecute {
			continue
		}
		t := e.first(&taints[i], noExecute)
		if t == nil {
			return Deadline{Stay: Leave, Taint: i, Toleration: -1}
		}
		if d.Stay == NoTaint {
			d.Stay = Forever
		}
		if t.limited && t.seconds <= MaxTolerationSeconds && (d.Stay != Limited || max(t.seconds, 0) < least) {
			least = max(t.seconds, 0)
			d = Deadline{Stay: Limited, Taint: i, Toleration: t.index}
		}
	}
	d.After = time.Duration(least) * time.Second
	return d
}

// DeadlineOf returns how long a pod with these tolerations may stay on the node, see Evaluator.Deadline.
func DeadlineOf(node *v1.Node, tolerations []v1.Toleration, o Options) Deadline {
	return Compile(tolerations, o).Deadline(node.Spec.Taints)
}
