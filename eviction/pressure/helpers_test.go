package pressure

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
)

const (
	mi = int64(1) << 20
	gi = int64(1) << 30
)

var epoch = testkit.Epoch

func since(s float64) time.Time { return epoch.Add(time.Duration(s * float64(time.Second))) }

func n(v int64) *uint64 {
	u := uint64(v)
	return &u
}

// bytesOf reads a quantity as bytes.
func bytesOf(q string) int64 {
	v := resource.MustParse(q)
	return v.Value()
}

func compile(t testing.TB, c Config, o Options) *Policy {
	t.Helper()
	p, err := Compile(c, o)
	require.NoError(t, err)
	return p
}

func pod(name string, priority int32, requests string) *v1.Pod {
	return testkit.Pod(name).Priority(priority).Request(requests).Obj()
}

// memory returns the statistics of a pod and of its first container.
func memory(bytes int64) PodStats {
	return PodStats{WorkingSetBytes: n(bytes), Containers: []ContainerStats{{Name: "c", WorkingSetBytes: n(bytes)}}}
}

// disk returns the statistics of a pod with a volume "data", in bytes and inodes.
func disk(rootfs, logs, volume int64) PodStats {
	use := func(mib int64) FsUsage {
		return FsUsage{UsedBytes: n(mib * mi), InodesUsed: n(mib * 10)}
	}
	return PodStats{
		Containers: []ContainerStats{{Name: "c", Rootfs: use(rootfs), Logs: use(logs)}},
		Volumes:    []VolumeStats{{Name: "data", FsUsage: use(volume)}},
	}
}

func withVolume(p *v1.Pod, source v1.VolumeSource) *v1.Pod {
	p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "data", VolumeSource: source})
	return p
}

func uid(p *v1.Pod) types.UID { return p.UID }

func stats(pods []*v1.Pod, use ...PodStats) map[types.UID]PodStats {
	m := map[types.UID]PodStats{}
	for i, u := range use {
		m[uid(pods[i])] = u
	}
	return m
}

func names(ranking []Ranked) []string {
	var list []string
	for _, r := range ranking {
		list = append(list, r.Pod.Name)
	}
	return list
}

func measured(signal Signal, available, capacity string, at time.Time) map[Signal]Measurement {
	return map[Signal]Measurement{signal: {Available: bytesOf(available), Capacity: bytesOf(capacity), Time: at}}
}

// stored converts a state to JSON and back, as a program does that keeps the state in a file.
func stored(t *testing.T, s State) (out State) {
	t.Helper()
	b, err := json.Marshal(s)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &out))
	return out
}
