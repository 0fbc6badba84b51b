package pressure

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/podberth/podberth/eviction/pressure"
	"github.com/podberth/podberth/internal/testkit"
)

// A pod of the summary is known by its UID, a static pod by its hash; by its name only when one side has no UID.
func TestPodsOfTheSummary(t *testing.T) {
	pod := func(name, uid, hash string) *v1.Pod {
		p := testkit.Pod(name).Obj()
		p.Namespace, p.UID = "a", types.UID(uid)
		if hash != "" {
			p.Annotations = map[string]string{v1.MirrorPodAnnotationKey: hash}
		}
		return p
	}
	pods := []*v1.Pod{pod("x", "1", ""), pod("y", "a/y", ""), pod("static", "3", "h"), pod("last", "4", "")}
	for _, c := range []struct{ pod, uid, want string }{
		{"x", "1", "1"}, {"x", "", "1"}, {"x", "9", ""}, {"other", "1", "1"}, {"y", "1", "1"}, {"y", "9", "a/y"}, {"y", "", "a/y"}, {"static", "h", "3"}, {"static", "9", ""}, {"none", "", ""}, {"none", "9", ""},
	} {
		found, others := podStats([]stats.PodStats{{PodRef: stats.PodReference{Namespace: "a", Name: c.pod, UID: c.uid}}}, pods)
		if c.want == "" {
			require.Empty(t, found, c)
			require.Equal(t, []string{"a/" + c.pod}, others, c)
			continue
		}
		require.Empty(t, others, c)
		require.Contains(t, found, types.UID(c.want), c)
	}
}

// What a summary lacks is nil or unknown, and everything else is taken as it is.
func TestStatistics(t *testing.T) {
	var n stats.NodeStats
	require.Equal(t, pressure.NodeStats{}, nodeStats(&n))
	require.NoError(t, json.Unmarshal([]byte(`{"memory":{"availableBytes":1,"workingSetBytes":2},"systemContainers":[{"name":"pods","memory":{"availableBytes":3}},{"name":"kubelet","memory":{"availableBytes":4}}],
		"fs":{"availableBytes":5,"capacityBytes":6,"inodesFree":7,"inodes":8},"runtime":{"imageFs":{"availableBytes":9},"containerFs":{"availableBytes":10}},"rlimit":{"maxpid":11,"curproc":12}}`), &n))
	num := func(n uint64) *uint64 { return &n }
	eleven, twelve := int64(11), int64(12)
	require.Equal(t, pressure.NodeStats{
		Memory: &pressure.MemoryStats{AvailableBytes: num(1), WorkingSetBytes: num(2)}, PodsMemory: &pressure.MemoryStats{AvailableBytes: num(3)},
		NodeFs:  &pressure.FsStats{AvailableBytes: num(5), CapacityBytes: num(6), InodesFree: num(7), Inodes: num(8)},
		ImageFs: &pressure.FsStats{AvailableBytes: num(9)}, ContainerFs: &pressure.FsStats{AvailableBytes: num(10)},
		Processes: &pressure.ProcessStats{Max: &eleven, Running: &twelve},
	}, nodeStats(&n))
	var p stats.PodStats
	require.Equal(t, pressure.PodStats{}, usageOf(&p))
	require.NoError(t, json.Unmarshal([]byte(`{"memory":{"workingSetBytes":1},"process_stats":{"process_count":2},"ephemeral-storage":{"usedBytes":3},
		"containers":[{"name":"c","memory":{"workingSetBytes":4},"rootfs":{"usedBytes":5,"inodesUsed":6},"logs":{"usedBytes":7,"inodesUsed":8}},{"name":"d"}],"volume":[{"name":"v","usedBytes":9,"inodesUsed":10}]}`), &p))
	require.Equal(t, pressure.PodStats{
		WorkingSetBytes: num(1), Processes: num(2), EphemeralStorageUsed: num(3),
		Containers: []pressure.ContainerStats{{Name: "c", WorkingSetBytes: num(4), Rootfs: pressure.FsUsage{UsedBytes: num(5), InodesUsed: num(6)}, Logs: pressure.FsUsage{UsedBytes: num(7), InodesUsed: num(8)}}, {Name: "d"}},
		Volumes:    []pressure.VolumeStats{{Name: "v", FsUsage: pressure.FsUsage{UsedBytes: num(9), InodesUsed: num(10)}}},
	}, usageOf(&p))
	at := func(second int64) pressure.Measurement { return pressure.Measurement{Time: time.Unix(second, 0)} }
	require.Equal(t, time.Unix(9, 0), newest(map[pressure.Signal]pressure.Measurement{"a": at(3), "b": at(9), "c": at(4), "d": at(1), "e": {}}))
	require.True(t, newest(nil).IsZero())
}

// The operating system stands in the status or in a label, and is Linux otherwise.
func TestSystems(t *testing.T) {
	require.Equal(t, "linux", system(nil))
	for name, n := range map[string]*v1.Node{"linux": testkit.Node("n").Label(v1.LabelOSStable, "linux").Obj(), "windows": testkit.Node("n").Label(v1.LabelOSStable, "windows").Obj()} {
		require.Equal(t, name, system(n))
		n.Status.NodeInfo.OperatingSystem = "windows"
		require.Equal(t, "windows", system(n))
	}
}

// How a threshold stands is said in words.
func TestStandsInWords(t *testing.T) {
	since := time.Unix(0, 0).UTC()
	for want, x := range map[string]threshold{
		"not measured":                       {Met: true, Since: &since},
		"ok":                                 {Observed: "1", GraceExpired: true, Stale: true},
		"met, but nothing newer is measured": {Observed: "1", Met: true, Stale: true, GraceExpired: true, Since: &since},
		"met":                                {Observed: "1", Met: true, GraceExpired: true, Since: &since},
		"met since 1970-01-01T00:00:00Z, grace is over": {Observed: "1", Met: true, GraceExpired: true, GracePeriod: "1s", Since: &since},
		"met since 1970-01-01T00:00:00Z, within grace":  {Observed: "1", Met: true, GracePeriod: "1s", Since: &since},
	} {
		require.Equal(t, want, stands(x))
	}
	require.Equal(t, "5", valueOf(threshold{Value: "5"}))
	require.Equal(t, "5% = 10Mi", valueOf(threshold{Value: "5%", Quantity: "10Mi"}))
}
