package pressure

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/eviction/pressure"
	"github.com/podberth/podberth/internal/testkit"
)

// answered returns the answer about one pod and its node with the files summary.json and kubelet.yaml, and what was said beside it.
// In the arguments @ is the folder.
func answered(t *testing.T, content map[string]string, args ...string) (r nodeReport, errs string, at func(name string) string) {
	t.Helper()
	all := map[string]string{"summary.json": calm, "kubelet.yaml": config}
	for name, text := range content {
		all[name] = text
	}
	at = files(t, all)
	line := []string{"-f", "-", "-summary", at("summary.json"), "-kubelet", at("kubelet.yaml"), "-o", "json"}
	for _, a := range args {
		line = append(line, strings.ReplaceAll(a, "@", at("")))
	}
	code, out, errs := nodepressure(onePod+oneNode, line...)
	if code == 0 {
		require.NoError(t, json.Unmarshal([]byte(out), &r))
	}
	return r, strings.ReplaceAll(errs, at(""), "@"), at
}

// What is wrong with a file is said in one line.
func TestWrongFiles(t *testing.T) {
	const takes = "@/summary.json: node: Required value: -summary takes a stats summary, which kubectl get --raw /api/v1/nodes/NODE/proxy/stats/summary prints"
	const kind = "@/kubelet.yaml: kind: Unsupported value: %q of %q: must be \"KubeletConfiguration\" of \"kubelet.config.k8s.io/v1beta1\""
	type test struct{ name, file, text, want string }
	testkit.Run(t, []test{
		{"no node", "summary.json", `{"pods":[]}`, takes},
		{"an object with a node", "summary.json", `{"kind":"Status","node":{"nodeName":"n1"}}`, `-summary: Invalid value: "@/summary.json": the file goes to -f, it holds Kubernetes objects: the pods and their node; -summary takes ` + wants["-summary"]},
		{"old version", "kubelet.yaml", "kind: KubeletConfiguration\napiVersion: v1\n", fmt.Sprintf(kind, "KubeletConfiguration", "v1")},
		{"no kind", "kubelet.yaml", "apiVersion: kubelet.config.k8s.io/v1beta1\n", fmt.Sprintf(kind, "", "kubelet.config.k8s.io/v1beta1")},
		{"not a number", "kubelet.yaml", config + "evictionHard: {memory.available: x%}\n", `@/kubelet.yaml: evictionHard[memory.available]: Invalid value: "x%": strconv.ParseFloat: parsing "x": invalid syntax`},
		{"soft value", "kubelet.yaml", config + "evictionSoft: {memory.available: x}\nevictionSoftGracePeriod: {memory.available: 1s}\n", `@/kubelet.yaml: evictionSoft[memory.available]: Invalid value: "x": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`},
		{"soft grace", "kubelet.yaml", config + "evictionSoftGracePeriod: {memory.available: soon}\n", `@/kubelet.yaml: evictionSoftGracePeriod[memory.available]: Invalid value: "soon": time: invalid duration "soon"`},
	}, func(t *testing.T, c test) {
		_, errs, _ := answered(t, map[string]string{c.file: c.text})
		require.Equal(t, "pressure: "+c.want+"\n", errs)
	})
	_, errs, _ := answered(t, nil, "-rank", "mood")
	require.Equal(t, `pressure: -rank: Unsupported value: "mood": supported values: memory.available, allocatableMemory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree, containerfs.available, containerfs.inodesFree, pid.available`+"\n", errs)
	at := files(t, map[string]string{"summary.json": `{"node":{}}`})
	_, _, errs = nodepressure(onePod, "-f", "-", "-summary", at("summary.json"))
	require.Equal(t, "pressure: "+at("summary.json")+": node.nodeName: Required value: the input has not exactly one Node that it could be\n", errs)
}

// A state that somebody else reads, too, is written as indented JSON.
func TestWrittenState(t *testing.T) {
	r, errs, at := answered(t, nil, "-state", "@/state", "-at", "2026-03-02T10:00:00+02:00", "-node", "n1", "-layout", "split", "-strict")
	require.Empty(t, errs)
	require.Equal(t, "2026-03-02T08:00:00Z", clock(r.At))
	text, err := os.ReadFile(at("state"))
	require.NoError(t, err)
	require.Equal(t, `{
  "node": "n1",
  "at": "2026-03-02T08:00:00Z",
  "state": {
    "layout": "split",
    "measured": {
      "memory.available": "2026-03-02T08:00:00Z"
    }
  }
}
`, string(text))
	info, err := os.Stat(at("state"))
	require.NoError(t, err)
	require.EqualValues(t, 0o644, info.Mode().Perm())
	_, errs, _ = answered(t, map[string]string{"state": string(text)}, "-state", "@/state")
	require.Empty(t, errs, "the same time is not before")
}

// A summary may have more fields, and the settings of a kubelet count one by one.
func TestSettings(t *testing.T) {
	hard := func(kubelet string) string {
		r, errs, _ := answered(t, map[string]string{"kubelet.yaml": config + kubelet, "summary.json": strings.Replace(calm, `{"node"`, `{"state":{},"node"`, 1)})
		require.Empty(t, errs, kubelet)
		var texts []string
		for _, x := range r.Thresholds {
			texts = append(texts, strings.TrimSpace(string(x.Signal)+" "+x.Value+" "+x.GracePeriod))
		}
		return strings.Join(texts, ", ")
	}
	const own = "memory.available 1Gi, allocatableMemory.available 1Gi"
	require.Equal(t, own, hard("evictionHard: {memory.available: 1Gi}\nmergeDefaultEvictionSettings: false\n"))
	require.Equal(t, own+", nodefs.available 10%, nodefs.inodesFree 5%, imagefs.available 15%, imagefs.inodesFree 5%, containerfs.available 10%, containerfs.inodesFree 5%", hard("evictionHard: {memory.available: 1Gi}\nmergeDefaultEvictionSettings: true\n"))
	require.Equal(t, "memory.available 1Gi", hard("evictionHard: {memory.available: 1Gi}\nenforceNodeAllocatable: []\n"))
	require.Equal(t, "memory.available 1Gi 1ns", hard("evictionHard: {}\nevictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {memory.available: 1ns}\n"))

	over := strings.Replace(low, `"memory":{"workingSetBytes":5242880}`, `"volume":[{"name":"scratch","usedBytes":2097152}]`, 1)
	for text, victims := range map[string]int{"": 1, "localStorageCapacityIsolation: true\n": 1, "localStorageCapacityIsolation: false\n": 0} {
		r, _, _ := answered(t, map[string]string{"summary.json": over, "kubelet.yaml": config + text})
		require.Len(t, r.LocalStorage, victims, text)
	}
	r, errs, _ := answered(t, map[string]string{"kubelet.yaml": config + "kubeReserved: {memory: '0', cpu: 500m}\nsystemReserved: {cpu: 100m}\nevictionHard: {containerfs.available: 1Gi}\n"})
	require.Equal(t, "warning: @/kubelet.yaml: found containerfs.available for hard eviction. ignoring\n", errs)
	require.Equal(t, map[string]string{"cpu": "1400m", "memory": "4Gi"}, r.Allocatable)
}

// Two file systems of different sizes are hardly one.
func TestSizesOfFileSystems(t *testing.T) {
	for _, c := range []struct {
		root, images int
		layout       string
		warns        bool
	}{{9, 9, "", false}, {9, 8, "", true}, {8, 9, "", true}, {9, 0, "", false}, {0, 9, "", false}, {1, 2, "", true}, {2, 1, "", true}, {9, 8, "imagefs", false}, {9, 8, "single", false}} {
		disk := func(size int) string {
			return fmt.Sprintf(`{"time":"2026-03-02T08:00:00Z","availableBytes":%d,"capacityBytes":%d}`, size, size)
		}
		_, errs, _ := answered(t, map[string]string{"summary.json": fmt.Sprintf(`{"node":{"nodeName":"n1","fs":%s,"runtime":{"imageFs":%s}}}`, disk(c.root), disk(c.images))}, "-layout", c.layout)
		want := ""
		if c.warns {
			want = "warning: @/summary.json: node.fs and node.runtime.imageFs differ in size, but -layout is single: is it imagefs or split?\n"
		}
		require.Equal(t, want, errs, "%+v", c)
	}
}

// Of several kubelets the one of the node counts. A kubelet without stats is none to choose.
func TestSeveralKubelets(t *testing.T) {
	const kubelet = "---\n{apiVersion: podberth.io/v1alpha1, kind: Kubelet, metadata: {name: %s}, summary: %s, configuration: {evictionHard: {memory.available: %s}}}\n"
	objects := onePod + oneNode + fmt.Sprintf(kubelet, "n0", "null", "1Gi") + fmt.Sprintf(kubelet, "n1", "{node: {}}", "2Gi")
	code, out, errs := nodepressure(objects, "-f", "-", "-o", "json", "-strict")
	require.Zero(t, code, errs)
	var r nodeReport
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, pressure.Signal("memory.available"), r.Thresholds[0].Signal)
	require.Equal(t, "2Gi", r.Thresholds[0].Value)
	_, errs, _ = answered(t, nil, "-node", "n2")
	require.Contains(t, errs, `-node: Invalid value: "n2": must be "n1", the node of `)
}

// A configuration from a file takes the place of that of the input, without a word.
func TestConfigurationFromFile(t *testing.T) {
	at := files(t, map[string]string{"kubelet.yaml": config})
	objects := onePod + oneNode + "---\n{apiVersion: podberth.io/v1alpha1, kind: Kubelet, metadata: {name: n1}, summary: {node: {}}}\n"
	code, _, errs := nodepressure(objects, "-f", "-", "-kubelet", at("kubelet.yaml"))
	require.Zero(t, code)
	require.Empty(t, errs)
	_, _, errs = nodepressure(objects, "-f", "-", "-strict")
	require.Equal(t, "pressure: Kubelet n1 has no configuration: the kubelet's defaults are taken; -kubelet FILE gives a configuration\n", errs)
}

// The first warning is the error of -strict. Without a Node the input says so once.
func TestStrictWarnings(t *testing.T) {
	at := files(t, map[string]string{"summary.json": calm})
	_, _, errs := nodepressure(onePod, "-f", "-", "-summary", at("summary.json"))
	require.Equal(t, "warning: the input has no Node; if the cluster has such objects, they could change the answer: kubectl get nodes -A -o yaml\n", errs)
	_, _, strict := nodepressure(strings.ReplaceAll(onePod, "n1", "n2"), "-f", "-", "-summary", at("summary.json"), "-strict")
	require.Equal(t, strings.Replace(errs, "warning", "pressure", 1), strict)
}
