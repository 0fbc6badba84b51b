package preemption

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

func TestReleases(t *testing.T) {
	type test struct {
		name, why string
		outcome   PostFilterOutcome
		want      testkit.ByRelease[string]
	}
	const old, pre = "no new claims to deallocate, preemption: x", "preemption: x"
	testkit.Run(t, []test{
		{"L6.1", "a pod without claims", PostFilterOutcome{Preemption: "x"}, testkit.ByRelease[string]{old, old, old, pre}},
		{"L6.1 claims", "nothing to give back", PostFilterOutcome{Devices: "still not schedulable", Preemption: "x"},
			testkit.ByRelease[string]{"still not schedulable, " + pre, "still not schedulable, " + pre, "still not schedulable, " + pre, pre}},
		{"L6.1 given back", "the text stays", PostFilterOutcome{Devices: "deallocation of ResourceClaim completed"},
			testkit.ByRelease[string]{"deallocation of ResourceClaim completed", "deallocation of ResourceClaim completed", "deallocation of ResourceClaim completed", "deallocation of ResourceClaim completed"}},
		{"L6.2", "preemption found a node", PostFilterOutcome{Node: "n1", Victims: 1},
			testkit.ByRelease[string]{"", "", "", "preemption: found a potential placement for pod on node n1, preempting 1 victims"}},
		{"stopped", "DynamicResources was not asked before", PostFilterOutcome{Stopped: true, Preemption: "x"}, testkit.ByRelease[string]{"not found", "not found", "not found", "not found"}},
	}, func(t *testing.T, tc test) {
		for _, v := range release.Versions() {
			require.Equal(t, tc.want.In(v), PostFilterText(v, tc.outcome), "%s: %s", v, tc.why)
		}
	})
}
