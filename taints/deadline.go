package taints

import (
	"math"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// Stay is how long a pod may stay on a node because of its NoExecute taints.
type Stay uint8

const (
	// NoTaint: the node has no NoExecute taint. The pod stays.
	NoTaint Stay = iota
	// Forever: every NoExecute taint is tolerated without limit. The pod stays.
	Forever
	// Limited: every NoExecute taint is tolerated, at least one for a limited time.
	Limited
	// Leave: a NoExecute taint is not tolerated. The pod leaves at once.
	Leave
)

// Deadline is what the NoExecute taints of a node mean for a pod that runs there.
type Deadline struct {
	Stay Stay
	// After is how long the pod may stay when Stay is Limited, at least 0. The time runs from the moment at which pod and
	// taint were first seen together. 0 means at once.
	After time.Duration
	// Taint is the index of the taint that decides: the first taint that is not tolerated (Leave) or the first taint with
	// the smallest limit (Limited). It is -1 otherwise.
	Taint int
	// Toleration is the index of the toleration that limits the stay (Limited), -1 otherwise.
	Toleration int
}

// maxTolerationSeconds is the largest value of tolerationSeconds that limits a stay: the whole seconds in a time.Duration.
// Larger values mean forever. Kubernetes multiplies without a check: there, some larger values wrap around to a short time.
const maxTolerationSeconds = int64(math.MaxInt64 / int64(time.Second))

// Deadline returns how long a pod may stay on a node with these taints (documentation, "Taints and Tolerations",
// Taint based Evictions; API field tolerationSeconds):
//
//  1. Only taints with effect NoExecute count. Without such a taint the result is [NoTaint].
//  2. The first toleration, in list order, that tolerates a taint decides for that taint: not the longest, not the
//     shortest. A taint that no toleration tolerates gives [Leave].
//  3. The smallest tolerationSeconds of these tolerations limits the stay. 0 and negative values mean 0. A toleration
//     without tolerationSeconds does not limit the stay, and neither does a value above 9,223,372,036.
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
		if t.limited && t.seconds <= maxTolerationSeconds && (d.Stay != Limited || max(t.seconds, 0) < least) {
			least = max(t.seconds, 0)
			d = Deadline{Stay: Limited, Taint: i, Toleration: t.index}
		}
	}
	d.After = resources.Seconds(least)
	return d
}
