package kubelet

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// printed gives "shares=2 quota=- period=- memory=-".
func printed(g Cgroup) string {
	value := func(p *int64) string {
		if p == nil {
			return "-"
		}
		return fmt.Sprint(*p)
	}
	return fmt.Sprintf("shares=%d quota=%s period=%s memory=%s", g.Shares, value(g.QuotaMicros), value(g.PeriodMicros), value(g.MemoryBytes))
}

func TestPodCgroup(t *testing.T) {
	type test struct {
		name, why, pod string
		o              CgroupOptions
		want           string
	}
	testkit.Run(t, []test{
		{"kata cgroup", "the documents' example: everything includes overhead", testkit.Kata, CgroupOptions{}, "shares=2304 quota=225000 period=100000 memory=335544320"},
		{"best effort cgroup", "overhead has no effect", "container a\noverhead cpu=250m,memory=120Mi", CgroupOptions{}, "shares=2 quota=- period=- memory=-"},
		{"one container without cpu limit", "memory is declared, cpu is not", "container c requests cpu=1 limits memory=1Gi\ncontainer d limits memory=1Gi,cpu=2\noverhead cpu=250m,memory=120Mi,ephemeral-storage=1Gi,example.com/x=1", CgroupOptions{}, "shares=1280 quota=- period=- memory=2273312768"},
		{"pod level cgroup", "a limit of the pod declares for all", "container a requests cpu=1,memory=1Gi\nwhole requests cpu=500m limits cpu=2,memory=4Gi", CgroupOptions{}, "shares=512 quota=200000 period=100000 memory=4294967296"},
		{"init without limits after a limited sidecar", "the init container has no limit of its own", "sidecar s limits cpu=1,memory=1Gi\ninit i\ncontainer a requests cpu=1 limits cpu=1,memory=1Gi", CgroupOptions{}, "shares=1024 quota=- period=- memory=-"},
		{"init without limits before a limited sidecar", "the step has no limit", "init i\nsidecar s limits cpu=1,memory=1Gi\ncontainer a requests cpu=1 limits cpu=1,memory=1Gi", CgroupOptions{}, "shares=1024 quota=- period=- memory=-"},
		{"pod level limit of memory alone", "the containers decide about cpu", "container a requests cpu=1\nwhole requests cpu=1 limits memory=1Gi", CgroupOptions{}, "shares=1024 quota=- period=- memory=1073741824"},
		{"init without limits after a limited init", "a plain init container has ended", "init i limits cpu=1,memory=1Gi\ninit j\ncontainer a requests cpu=1 limits cpu=1,memory=1Gi", CgroupOptions{}, "shares=1024 quota=- period=- memory=-"},
		{"class of the status", "shares from the requests, quota from the limits", "container a requests cpu=1,memory=1Gi limits cpu=2,memory=2Gi\nclass Guaranteed", CgroupOptions{}, "shares=1024 quota=200000 period=100000 memory=2147483648"},
		{"limits not enforced", "the quota is removed", testkit.Kata, CgroupOptions{IgnoreCPULimits: true}, "shares=2304 quota=-1 period=100000 memory=335544320"},
		{"short period", "10 ms", testkit.Kata, CgroupOptions{PeriodMicros: 10000}, "shares=2304 quota=22500 period=10000 memory=335544320"},
		{"unknown class in the status", "treated as best effort", testkit.Kata + "\nclass Golden", CgroupOptions{}, "shares=2 quota=- period=- memory=-"},
	}, func(t *testing.T, c test) {
		pod := testkit.Containers(c.pod)
		testkit.Unchanged(t, func() { require.Equal(t, c.want, printed(PodCgroup(pod, c.o))) }, pod)
	})
	require.EqualValues(t, 88, PodCgroup(testkit.Containers(testkit.Kata), CgroupOptions{}).Weight)
}

func TestHugePages(t *testing.T) {
	g := PodCgroup(testkit.Containers("container a requests hugepages-2Mi=4Mi,cpu=1\ncontainer b requests hugepages-2Mi=2Mi,hugepages-1Gi=1Gi"), CgroupOptions{})
	require.Equal(t, map[string]int64{"2Mi": 6 << 20, "1Gi": 1 << 30}, g.HugePages)
	require.Nil(t, PodCgroup(testkit.Containers(testkit.Kata), CgroupOptions{}).HugePages)
}

func TestSandbox(t *testing.T) {
	fixed, containers := Sandbox(testkit.Containers(testkit.Kata), CgroupOptions{})
	require.Equal(t, "shares=256 quota=25000 period=100000 memory=125829120", printed(fixed))
	require.Equal(t, "shares=2048 quota=200000 period=100000 memory=209715200", printed(containers))
	require.EqualValues(t, 10, fixed.Weight)
	require.EqualValues(t, 79, containers.Weight)
	fixed, _ = Sandbox(nil, CgroupOptions{})
	require.Equal(t, "shares=2 quota=0 period=100000 memory=0", printed(fixed))
}

func TestSharesAndQuota(t *testing.T) {
	for _, c := range []struct{ milli, shares, quota int64 }{
		{0, 2, 0}, {1, 2, 1000}, {3, 3, 1000}, {10, 10, 1000}, {100, 102, 10000}, {500, 512, 50000}, {255999, 262142, 25599900}, {256000, 262144, 25600000}, {300000, 262144, 30000000},
		{92233720368547, 262144, 9223372036854700}, {92233720368548, 262144, math.MaxInt64 / 1000},
		{math.MaxInt64, 262144, math.MaxInt64 / 1000}, {-5, 2, 1000},
	} {
		require.Equal(t, c.shares, shares(c.milli), c.milli)
		require.Equal(t, c.quota, quotaMicros(c.milli, defaultPeriod), c.milli)
	}
	for _, c := range []struct{ shares, weight int64 }{{2, 1}, {1024, 39}, {2304, 88}, {262143, 9999}, {262144, 10000}} {
		require.Equal(t, c.weight, weight(c.shares), c.shares)
	}
	require.EqualValues(t, minQuotaMicros, quotaMicros(100, -1), "a period that makes no sense")
}
