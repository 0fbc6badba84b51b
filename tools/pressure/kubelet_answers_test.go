package pressure

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/podberth/podberth/internal/testkit"
)

// The object of a kubelet has what the program reads, and nothing else.
func TestKubeletObject(t *testing.T) {
	const at = `"time":"2026-03-02T08:00:00Z"`
	const fs = `"availableBytes":5,"capacityBytes":9,"usedBytes":4,"inodesFree":6,"inodes":8,"inodesUsed":2`
	const memory, leanMemory = `{` + at + `,"availableBytes":1,"usageBytes":2,"workingSetBytes":3,"rssBytes":4}`, `{` + at + `,"availableBytes":1,"workingSetBytes":3}`
	const disk, leanDisk = `{` + at + `,` + fs + `}`, `{` + at + `,"usedBytes":4,"inodesUsed":2}`
	const start = `"startTime":"2026-03-01T08:00:00Z"`
	type test struct{ name, summary, want string }
	testkit.Run(t, []test{
		{"empty", `{"node":{}}`, `{"node":{"nodeName":"n1","startTime":null},"pods":null}`},
		{
			"full",
			`{"node":{"nodeName":"other",` + start + `,"cpu":{` + at + `},"memory":` + memory + `,"fs":` + disk + `,"rlimit":{` + at + `,"maxpid":7,"curproc":2},
				"systemContainers":[{"name":"kubelet",` + start + `,"memory":` + memory + `},{"name":"pods",` + start + `,"cpu":{` + at + `},"memory":` + memory + `}],
				"runtime":{"imageFs":` + disk + `,"containerFs":` + disk + `}},
			"pods":[{"podRef":{"name":"a","namespace":"b","uid":"c"},` + start + `,"cpu":{` + at + `},"memory":` + memory + `,"process_stats":{"process_count":3},"ephemeral-storage":` + disk + `,
				"containers":[{"name":"c",` + start + `,"cpu":{` + at + `},"memory":` + memory + `,"rootfs":` + disk + `,"logs":` + disk + `},{"name":"d",` + start + `}],
				"volume":[{"name":"v",` + fs + `,` + at + `}]}]}`,
			`{"node":{"nodeName":"n1",` + start + `,"memory":` + leanMemory + `,"fs":` + disk + `,"rlimit":{` + at + `,"maxpid":7,"curproc":2},
				"systemContainers":[{"name":"pods",` + start + `,"memory":` + leanMemory + `}],"runtime":{"imageFs":` + disk + `,"containerFs":` + disk + `}},
			"pods":[{"podRef":{"name":"a","namespace":"b","uid":"c"},` + start + `,"memory":` + leanMemory + `,"process_stats":{"process_count":3},"ephemeral-storage":` + disk + `,
				"containers":[{"name":"c",` + start + `,"memory":` + leanMemory + `,"rootfs":` + leanDisk + `,"logs":` + leanDisk + `},{"name":"d",` + start + `}],
				"volume":[{"name":"v",` + at + `,"usedBytes":4,"inodesUsed":2}]}]}`,
		},
	}, func(t *testing.T, c test) {
		k, err := Kubelet("n1", []byte(c.summary), nil)
		require.NoError(t, err)
		require.Nil(t, k.Configuration)
		got, err := json.Marshal(k.Summary)
		require.NoError(t, err)
		require.JSONEq(t, c.want, string(got))
	})
	k, err := Kubelet("n1", nil, []byte(`{"kubeletconfig":{}}`))
	require.NoError(t, err)
	require.Nil(t, k.Summary)
	require.NotNil(t, k.Configuration)
}

// The answer about a snapshot is that about the files of which it is made.
func TestSnapshotAnswersAsFilesDo(t *testing.T) {
	text, err := os.ReadFile(in("kubelet.yaml"))
	require.NoError(t, err)
	settings, err := yaml.YAMLToJSON(text)
	require.NoError(t, err)
	for _, name := range []string{"memory", "disk-imagefs", "disk-split", "pids"} {
		summary, err := os.ReadFile(in(name + ".json"))
		require.NoError(t, err)
		k, err := Kubelet("general-a1", summary, []byte(`{"kubeletconfig":`+string(settings)+`}`))
		require.NoError(t, err)
		object, err := json.Marshal(k)
		require.NoError(t, err)
		_, want, errs := nodepressure("", "-f", in("pods.yaml"), "-summary", in(name+".json"), "-kubelet", in("kubelet.yaml"), "-layout", "split")
		require.Empty(t, errs)
		_, got, errs := nodepressure(string(object), "-f", in("pods.yaml"), "-f", "-", "-layout", "split")
		require.Empty(t, errs)
		require.Equal(t, want, got, name)
	}
}
