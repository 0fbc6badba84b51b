package pressure

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podberth/podberth/eviction/pressure"
)

// notes says what a configuration does otherwise than it looks: no threshold is active, the kubelet's own thresholds are replaced, and
// soft thresholds of which a hard one is met first. A soft threshold that is not above the hard one of its signal never acts: the hard one
// is met as soon, and evicts at once.
func notes(s setup, thresholds []pressure.Status) []string {
	out := []string{}
	if len(thresholds) == 0 {
		why := "evictionHard is empty"
		if len(s.given) > 0 {
			why = "evictionHard names only 0% for " + strings.Join(s.given, ", ")
		}
		out = append(out, "No threshold is active: "+why+". Nothing is evicted")
	}
	if len(s.lost) > 0 {
		out = append(out, "evictionHard replaces the kubelet's own hard thresholds: without "+strings.Join(s.lost, ", "))
	}
	for i := range thresholds {
		soft := &thresholds[i]
		if soft.Threshold.Grace == 0 {
			continue
		}
		k := slices.IndexFunc(thresholds, func(t pressure.Status) bool {
			return t.Threshold.Grace == 0 && t.Threshold.Signal == soft.Threshold.Signal && t.Value.Cmp(soft.Value) >= 0
		})
		if k >= 0 && soft.Measured != nil {
			hard := &thresholds[k]
			out = append(out, fmt.Sprintf("The soft threshold %s never acts: on this node %s is %s, which is met first", soft.Threshold, hard.Threshold, size(hard.Threshold.Signal, hard.Value.String())))
		}
	}
	return out
}
