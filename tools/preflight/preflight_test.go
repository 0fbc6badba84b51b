package preflight

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/internal/schema"
	"github.com/podberth/podberth/tools/program"
)

const shipped = "testdata/cluster.yaml"

func before(stdin string, args ...string) (code int, stdout, stderr string) {
	return testkit.Program(Run, stdin, args)
}

func TestHelp(t *testing.T) { testkit.Help(t, before, Flags()) }

// Each case by which people judge such tools is named before the upgrade, with its kind.
func TestEachBlockerIsNamed(t *testing.T) {
	code, out, errs := before("", "-f", shipped, "-to", "1.37")
	require.Equal(t, program.No, code, errs)
	testkit.Golden(t, "testdata/cluster.table", out)
	require.LessOrEqual(t, strings.Count(out, "\n"), program.MostLines)
	code, out, _ = before("", "-f", shipped, "-to", "1.37", "-o", "json")
	require.Equal(t, program.No, code)
	testkit.Golden(t, "testdata/cluster.json", out)
	var a preflight
	require.NoError(t, json.Unmarshal([]byte(out), &a))
	kinds := map[string]string{}
	for _, b := range a.Blocked {
		for _, p := range b.Pods {
			kinds[p] = b.Kind
		}
	}
	require.Equal(t, map[string]string{ // sick-0 is on a node whose drain does not begin
		"shop/frozen-0": "never", "shop/frozen-1": "never", "shop/single-0": "never", "shop/db-0": "volumes",
		"shop/sick-1": "unhealthy", "shop/cache-0": "pinned", "shop/bare": "pinned",
	}, kinds)
	require.Equal(t, []string{"shop/frozen", "shop/sick", "shop/single"}, a.Budgets)
	require.Equal(t, []any{"1.36", 3}, []any{a.From, a.Summary.Blocked})
	_, limited, _ := before("", "-f", shipped, "-to", "1.37", "-time", "1ns", "-o", "json")
	const group = `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {nodeInfo: {kubeletVersion: v1.36.1}, allocatable: {cpu: 4, pods: 10}}}
---
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: g}, spec: {schedulingPolicy: {gang: {minCount: 1}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {schedulingGroup: {podGroupName: g}, containers: [{name: c}]}}
`
	_, grouped, _ := before(group, "-f", "-", "-from", "1.36", "-to", "1.37", "-o", "json")
	_, changes, _ := before("", "-f", "../upgrade/testdata/cluster.yaml", "-from", "1.36", "-to", "1.37", "-o", "json")
	schema.Check(t, testkit.Golden, map[string]any{"Preflight": preflight{}}, []string{out, limited, changes, grouped}, nil)
}

// Without blockers and changes the answer is yes, also from standard input. Kubelets that are too old, and a field of the configuration
// that the new version refuses, make it no.
func TestReady(t *testing.T) {
	node := func(name, version string) string {
		return "---\n{apiVersion: v1, kind: Node, metadata: {name: " + name + "}, status: {nodeInfo: {kubeletVersion: " + version + "}, allocatable: {cpu: 4, pods: 10}}}\n"
	}
	code, out, errs := before(node("n1", "v1.36.1")+node("n2", "v1.37.0"), "-f", "-", "-to", "1.37")
	require.Zero(t, code, errs)
	require.Equal(t, "1.36 -> 1.37: ready; 2 of 2 nodes can be drained one after the other in 0s\n", out)
	code, out, _ = before(node("n1", "v1.33.9")+node("n2", "v1.37.0"), "-f", "-", "-to", "1.37", "-from", "1.36")
	require.Equal(t, program.No, code)
	require.Contains(t, out, "not now; ")
	require.Contains(t, out, "; 1 kubelet more than 3 minor versions older than 1.37: n1\n")
	config := filepath.Join(t.TempDir(), "scheduler.yaml")
	require.NoError(t, os.WriteFile(config, []byte(`
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, weight: 1}], requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}]}}}
`), 0o600))
	code, out, errs = before(node("n1", "v1.35.1"), "-f", "-", "-to", "1.37", "-config", config)
	require.Equal(t, program.No, code, errs)
	require.Contains(t, out, "; 1 field refused by 1.37\n")
	require.Contains(t, out, "requestedToCapacityRatio   accepted   must be nil when type is not RequestedToCapacityRatio\n")
	require.Contains(t, errs, "-config: 1.37 refuses it; where drained pods go is decided by the default profile")
	for _, c := range []struct{ args, want string }{
		{"", "-f: Required value"},
		{"-f -", "-to: Required value: a release such as 1.37"},
		{"-f - -to 1.99", "-to: Invalid value: \"1.99\": "},
		{"-f - -to 1.36 -from 1.37", "-from: Invalid value: \"1.37\": must not be after --to"},
		{"-f - -to 1.37 -from x", "-from: Invalid value: \"x\": "},
		{"-f - -to 1.37 -surge -1", "-surge: Invalid value: -1: must not be negative"},
		{"-f - -to 1.37 n1", `unexpected argument "n1"; see preflight -h`},
		{"-f - -to 1.37 -config no/such", "no/such"},
	} {
		code, out, errs := before(node("n1", "v1.36.1"), strings.Fields(c.args)...)
		require.Equal(t, program.BadInput, code, c.args)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
	}
	_, _, errs = before(node("n1", `""`), "-f", "-", "-to", "1.37")
	require.Contains(t, errs, "-from: Required value: no node of the input says the version of its kubelet")
	_, _, errs = before(node("n1", "v1.20.3"), "-f", "-", "-to", "1.37")
	require.Contains(t, errs, "-from: Required value: the oldest kubelet of the input is 1.20: ")
}

// The cluster is read once, from standard input too, and -max-size bounds it. -time counts what nobody asked about.
func TestReadsOnce(t *testing.T) {
	text, err := os.ReadFile(shipped)
	require.NoError(t, err)
	_, want, _ := before("", "-f", shipped, "-to", "1.37")
	code, out, errs := before(string(text), "-f", "-", "-to", "1.37")
	require.Equal(t, program.No, code, errs)
	require.Equal(t, want, out)
	long := string(text) + strings.Repeat("# nothing\n", 200_000)
	code, out, errs = before(long, "-f", "-", "-to", "1.37", "-max-size", "1Mi")
	require.Equal(t, program.BadInput, code)
	require.Empty(t, out)
	require.Contains(t, errs, "-max-size")
	_, out, _ = before("", "-f", shipped, "-to", "1.37", "-time", "1ns")
	require.Regexp(t, `\n\nnot tried: [1-9][0-9]* pods; --time .*\n\nnot tried: [1-9][0-9]* changes; --time `, out)
}
