package preemption

import (
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/release"
)

// deletesAgain reports whether victims that are leaving already are deleted again, as in v1.34 (rule L8.4).
func deletesAgain(v release.Version) bool { return !v.AtLeast(release.V1_35) }

// quietDevices reports whether DynamicResources says nothing when it did nothing, as since v1.37 (rule L6.1).
func quietDevices(v release.Version) bool { return v.AtLeast(release.V1_37) }

// namesFoundNode reports whether the message names the node that preemption found, as since v1.37 (rule L6.2).
func namesFoundNode(v release.Version) bool { return v.AtLeast(release.V1_37) }

// charge takes a victim from the budgets that protect it, and reports whether one of them breaks. v1.37 charges none after the first
// that breaks (rule L8.11).
func charge(v release.Version, l *disruption.Ledger, budgets []int32, podName string) (violates bool) {
	if chargesToBroken(v) {
		return l.TakeToBroken(budgets, podName)
	}
	return l.Take(budgets, podName)
}

// chargesToBroken reports whether a victim charges no budget after the first that it breaks, as since v1.37 (rule L8.11).
func chargesToBroken(v release.Version) bool { return v.AtLeast(release.V1_37) }
