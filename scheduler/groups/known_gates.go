package groups

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/podberth/podberth/release"
)

// gate is a feature gate of kube-scheduler v1.37.2.
type gate struct {
	on, locked bool   // the default, and whether it cannot be changed
	stage      string // alpha, beta, ga or deprecated
}

//go:embed known_gates.txt
var knownText string

// known has every feature gate of kube-scheduler v1.37.2 but AllAlpha and AllBeta. conformance/operator.TestKnownGates holds it against kube-scheduler.
var known = sync.OnceValue(func() map[string]gate {
	out := map[string]gate{}
	for line := range strings.Lines(knownText) {
		f := strings.Fields(line)
		out[f[0]] = gate{f[1] == "on", len(f) > 3, f[2]}
	}
	return out
})

// everyGate are the names that stand for all gates of a stage.
var everyGate = map[string]string{"AllAlpha": "alpha", "AllBeta": "beta"}

// followed are the gates that switch something here.
var followed = append(slices.Collect(maps.Keys(needs)), comparisons, fractions, storageScores, limitScaling)

// about says what there is to know of a gate that switches nothing.
func about(name string) string {
	for _, g := range release.Gates() {
		if g.Name == name {
			return g.Note
		}
	}
	return ""
}
