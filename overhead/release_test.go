package overhead

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// What a pod counts with while it is resized, in each release.
func TestReleases(t *testing.T) {
	const (
		crossed = "container a requests cpu=2\ncontainer b requests cpu=1\nstatus a requests cpu=1\nstatus b requests cpu=2"
		never   = "\nresize Infeasible"
	)
	type test struct {
		name, why, pod string
		want           testkit.ByRelease[string]
	}
	testkit.Run(t, []test{
		{"L4.1 crossed", "a grows while b shrinks", crossed, testkit.ByRelease[string]{"cpu=4", "cpu=4", "cpu=4", "cpu=3"}},
		{"L4.1 crossed and infeasible", "what is in use", crossed + never, testkit.ByRelease[string]{"cpu=3", "cpu=3", "cpu=3", "cpu=3"}},
		{"L4.1 infeasible without status", "b counts with nothing", "container a requests cpu=4\ncontainer b requests cpu=1\nstatus a requests cpu=1" + never, testkit.ByRelease[string]{"cpu=2", "cpu=2", "cpu=2", "cpu=1"}},
		{"L4.1 sidecar", "a sidecar counts in all sums", "sidecar i requests cpu=1\ninitstatus i requests cpu=3\ncontainer a requests cpu=1", testkit.ByRelease[string]{"cpu=4", "cpu=4", "cpu=4", "cpu=4"}},
		{"L4.2", "the largest of spec, allocated and in use", "container a\nwhole requests cpu=2\nwholestatus requests cpu=4 allocated cpu=3", testkit.ByRelease[string]{"cpu=2", "cpu=2", "cpu=4", "cpu=4"}},
		{"L4.2 infeasible", "the spec does not count", "container a\nwhole requests cpu=9\nwholestatus requests cpu=4 allocated cpu=3" + never, testkit.ByRelease[string]{"cpu=9", "cpu=9", "cpu=4", "cpu=4"}},
		{"L4.1 used without requests", "what is allocated counts", "container a requests cpu=1\nstatus a limits cpu=9 allocated cpu=3", testkit.ByRelease[string]{"cpu=3", "cpu=3", "cpu=3", "cpu=3"}},
		{"L4.2 both at pod level", "they count in place of the amounts of the containers", "container a requests cpu=1\nstatus a requests cpu=9\nwhole limits memory=1\nwholestatus requests cpu=2 allocated cpu=3", testkit.ByRelease[string]{"cpu=9", "cpu=9", "cpu=9", "cpu=3"}},
		{"L4.2 a name of the status", "v1.37 reads it", "container a\nwhole requests cpu=1\nwholestatus requests cpu=2,memory=5Gi allocated cpu=2", testkit.ByRelease[string]{"cpu=1", "cpu=1", "cpu=2", "cpu=2,memory=5Gi"}},
		{"L4.3", "a plain init container that is resized", "init i requests cpu=1\ninitstatus i requests cpu=3\ncontainer a requests cpu=1", testkit.ByRelease[string]{"cpu=1", "cpu=1", "cpu=1", "cpu=3"}},
	}, func(t *testing.T, tc test) {
		pod := testkit.Containers(tc.pod)
		for _, v := range release.Versions() {
			o := Options{UseStatus: true, Release: v}
			require.Equal(t, tc.want.In(v), testkit.ShowResources(Requests(pod, o)), "%s: %s", v, tc.why)
			row := AppendRequests(nil, new(resources.Schema), pod, o)
			want := testkit.Resources(tc.want.In(v))
			require.Equal(t, want.Cpu().MilliValue(), row[resources.CPU], "%s, as a row", v)
			require.Equal(t, testkit.ShowResources(Requests(pod, Options{})), testkit.ShowResources(Requests(pod, Options{Release: v})), "an incoming pod counts by its spec")
		}
	})
}

// The limits of a pod while it is resized, in each release.
func TestLimitsOfReleases(t *testing.T) {
	const never = "\nresize Infeasible"
	type test struct {
		name, why, pod string
		want           testkit.ByRelease[string]
	}
	testkit.Run(t, []test{
		{"crossed", "a grows while b shrinks", "container a limits cpu=2\ncontainer b limits cpu=1\nstatus a limits cpu=1\nstatus b limits cpu=2", testkit.ByRelease[string]{"cpu=4", "cpu=4", "cpu=4", "cpu=3"}},
		{"infeasible without status", "the limit of b does not count", "container a limits cpu=4\ncontainer b limits cpu=1\nstatus a limits cpu=1" + never, testkit.ByRelease[string]{"cpu=2", "cpu=2", "cpu=2", "cpu=1"}},
		{"status of the pod", "it counts in place of the limits of the containers", "container a limits cpu=1\nwholestatus limits cpu=3", testkit.ByRelease[string]{"cpu=1", "cpu=1", "cpu=1", "cpu=3"}},
		{"pod level", "the larger of spec and status", "container a\nwhole limits cpu=2\nwholestatus limits cpu=3", testkit.ByRelease[string]{"cpu=2", "cpu=2", "cpu=3", "cpu=3"}},
		{"pod level and infeasible", "the status alone", "container a\nwhole limits cpu=5\nwholestatus limits cpu=3" + never, testkit.ByRelease[string]{"cpu=5", "cpu=5", "cpu=3", "cpu=3"}},
		{"pod level and a name of the status", "v1.37 reads it", "container a\nwhole limits cpu=1\nwholestatus limits cpu=2,memory=5Gi", testkit.ByRelease[string]{"cpu=1", "cpu=1", "cpu=2", "cpu=2,memory=5Gi"}},
		{"nothing of a pod as a whole", "the containers and the status of the pod", "container a limits cpu=1\nwhole limits ephemeral-storage=1\nwholestatus limits cpu=100m", testkit.ByRelease[string]{"cpu=1", "cpu=1", "cpu=1", "cpu=1"}},
	}, func(t *testing.T, tc test) {
		pod := testkit.Containers(tc.pod)
		for _, v := range release.Versions() {
			require.Equal(t, tc.want.In(v), testkit.ShowResources(Limits(pod, Options{UseStatus: true, Release: v})), "%s: %s", v, tc.why)
		}
	})
}
