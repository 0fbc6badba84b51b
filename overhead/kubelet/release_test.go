package kubelet

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// A sidecar with a limit, an init container without limits, a container with a limit.
func TestCgroupOfReleases(t *testing.T) {
	const sidecar, start, run = "sidecar s limits cpu=1\n", "init i\n", "container c limits cpu=1"
	for _, v := range release.Versions() {
		before := PodCgroup(testkit.Containers(sidecar+start+run), CgroupOptions{Release: v})
		if v.AtLeast(release.V1_37) {
			require.Nil(t, before.QuotaMicros, v.String())
		} else {
			require.EqualValues(t, 200000, *before.QuotaMicros, v.String())
		}
		require.Nil(t, PodCgroup(testkit.Containers(start+sidecar+run), CgroupOptions{Release: v}).QuotaMicros, "%s: the sidecar comes later", v)
	}
}
