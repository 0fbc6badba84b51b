package rollout

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

func rolling(stdin string, args ...string) (code int, stdout, stderr string) {
	return testkit.Program(Run, stdin, args)
}

// The output on the shipped cluster and the script are asserted whole, in every form.
func TestShippedCluster(t *testing.T) {
	type test struct {
		name string
		args []string
	}
	testkit.Run(t, []test{
		{"cluster", []string{"-f", shipped, "-ignore-daemonsets", "-surge", "1", "-surge-like", "node-b1", "-start", "5s", "-renew", "2m"}},
		{"parallel", []string{"-f", shipped, "-ignore-daemonsets", "-parallel", "2", "-grace-period", "3", "-timeout", "5m", "node-a1", "node-a2", "node-c1"}},
	}, func(t *testing.T, c test) {
		for form, ending := range map[string]string{"table": ".table", "json": ".json", "yaml": ".out.yaml"} {
			t.Run(form, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "rollout.sh")
				code, out, errs := rolling("", append(c.args, "-o", form, "-script", file)...)
				require.Zero(t, code, errs)
				testkit.Golden(t, filepath.Join("testdata", c.name+ending), out)
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				testkit.Golden(t, filepath.Join("testdata", c.name+".sh"), string(text))
			})
		}
	})
}

// Exit codes, flags that do not fit together, and names that do not exist.
func TestFlags(t *testing.T) {
	code, _, _ := rolling("", "-f", shipped, "-ignore-daemonsets", "-fail-blocked")
	require.Equal(t, program.No, code)
	code, _, errs := rolling("", "-f", shipped, "-ignore-daemonsets", "-fail-blocked", "-l", "topology.kubernetes.io/zone=a")
	require.Zero(t, code, errs)
	code, help, _ := rolling("", "-h")
	require.Zero(t, code)
	require.Contains(t, help, "Usage:\n  rollout -f PATH [flags] [NODE...]")
	for _, c := range []struct{ args, want string }{
		{"", "-f"},
		{"-f " + shipped + " -o csv", "csv"},
		{"-f " + shipped + " node-a9", `NODE: Not found: "node-a9": no such node in the input; near: node-`},
		{"-f " + shipped + " node-a1 node-a1", `nodes: Duplicate value: "node-a1"`},
		{"-f " + shipped + " -l rack=1", `-l: Not found: "rack=1": no node of the input has these labels`},
		{"-f " + shipped + " -l zone=a node-a1", "-l: Forbidden: name nodes or labels, not both"},
		{"-f " + shipped + " -surge-like node-a1", "-surge-like: Forbidden: goes with -surge"},
		{"-f " + shipped + " -surge 1 -surge-like x", `-surge-like: Not found: "x"`},
		{"-f " + shipped + " -surge -1", "surge: Invalid value: -1: must not be negative"},
		{"-f " + shipped + " -parallel 0", "-parallel: Invalid value: 0: must be 1 or more"},
		{"-f " + shipped + " -steps 0", "-steps: Invalid value: 0: must be greater than 0"},
		{"-f " + shipped + " -time -1s", "-time: Invalid value: -1s: must not be negative"},
		{"-f " + shipped + " -start -1s", "-start: Invalid value: -1s: must not be negative"},
		{"-f " + shipped + " -renew -1s", "-renew: Invalid value: -1s: must not be negative"},
		{"-f " + shipped + " -order random", `order: Unsupported value: "random"`},
		{"-f " + shipped + " -script no/such/folder", "-script: "},
		{"-f " + shipped + " -no-headers -o json", "-no-headers"},
	} {
		code, out, errs := rolling("", strings.Fields(c.args)...)
		require.Equal(t, program.BadInput, code, c.args)
		require.Empty(t, out, c.args)
		require.Contains(t, errs, c.want)
	}
	code, _, errs = rolling("kind: PodDisruptionBudget\napiVersion: policy/v1\nmetadata: {name: a}\nspec: {minAvailable: -1}\n", "-f", "-")
	require.Equal(t, program.BadInput, code)
	require.Contains(t, errs, "spec.minAvailable: Invalid value")
}

// -n shows the pods of one namespace. The summary still counts all pods. -expand makes pods, which wait for a node.
func TestNamespaceAndPending(t *testing.T) {
	var a rolloutPlan
	_, out, errs := rolling("", "-f", shipped, "-n", "data", "-ignore-daemonsets", "-o", "json")
	require.NoError(t, json.Unmarshal([]byte(out), &a), errs)
	require.Empty(t, a.Blocked)
	for _, s := range a.Steps {
		for _, w := range s.Waves {
			for _, e := range w.Evictions {
				require.Equal(t, "data", e.Namespace)
			}
		}
	}
	require.Greater(t, a.Summary.Evictions, 2)
	const waits = `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "1", memory: 8Gi, pods: "10"}}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web, namespace: default}
spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: c, resources: {requests: {cpu: "1"}}}]}}}
`
	_, out, errs = rolling(waits, "-f", "-", "-expand", "-surge", "1", "-o", "json")
	require.NoError(t, json.Unmarshal([]byte(out), &a), errs)
	require.Equal(t, "settle", string(a.Steps[1].Action))
	require.Len(t, a.Steps[1].Waves[0].Placed, 2)
}

// The outputs have the form of the schema, and the schema that of the type.
func TestSchema(t *testing.T) {
	const spread = `
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}, status: {allocatable: {cpu: 1, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: n2}}, status: {allocatable: {cpu: 1, pods: 10}}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web, uid: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: c, resources: {requests: {cpu: 500m}}}]
      topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: web-0, uid: web-0, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: web, controller: true}]}
spec:
  nodeName: n1
  containers: [{name: c, image: c, resources: {requests: {cpu: 500m}}}]
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}]
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
`
	_, out, errs := rolling(spread, "-f", "-", "-expand", "-surge", "1", "-o", "json")
	require.NotEmpty(t, out, errs)
	_, limited, _ := rolling("", "-f", shipped, "-steps", "1", "-o", "json")
	schema.Check(t, testkit.Golden, map[string]any{"RolloutPlan": rolloutPlan{}}, []string{out, limited}, nil)
}

// Every line of output in docs/rollout.md is a line of the shipped output, blanks aside.
func TestDocumentation(t *testing.T) { testkit.Printed(t, "../../docs/rollout.md", ".") }

// -config: the first profile decides about its pods, and everything else that the document asks for is a warning.
func TestConfig(t *testing.T) {
	testkit.FirstProfile(t, func(input, config string) (node, errs string) {
		code, out, errs := rolling(input, "-f", "-", "-o", "json", "-config", config, "n1")
		require.Zero(t, code, errs)
		var a rolloutPlan
		require.NoError(t, json.Unmarshal([]byte(out), &a))
		return a.Steps[0].Waves[0].Evictions[0].To, errs
	}, "")
	code, _, errs := rolling("", "-f", shipped, "-config", filepath.Join(t.TempDir(), "missing.yaml"))
	require.Equal(t, program.BadInput, code)
	require.Contains(t, errs, "-config: ")
}

// The script drains a batch with one command, and takes the nodes one after the other when the plan does.
func TestScriptOfBatches(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rollout.sh")
	code, _, errs := rolling(`
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, memory: 4Gi, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: 4, memory: 4Gi, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n3}, status: {allocatable: {cpu: 4, memory: 4Gi, pods: 10}}}
`, "-f", "-", "-parallel", "2", "-force", "-script", file)
	require.Zero(t, code, errs)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var commands []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "kubectl") {
			commands = append(commands, strings.TrimSpace(line))
		}
	}
	require.Equal(t, []string{
		"kubectl taint nodes --overwrite -- n1 n2 n3 podberth.io/old=:PreferNoSchedule",
		"kubectl cordon -- n1 n2", "kubectl drain --force --ignore-daemonsets -- n1 n2", "kubectl taint nodes -- n1 n2 podberth.io/old:PreferNoSchedule-", "kubectl uncordon -- n1 n2",
		"kubectl cordon -- n3", "kubectl drain --force --ignore-daemonsets -- n3", "kubectl taint nodes -- n3 podberth.io/old:PreferNoSchedule-", "kubectl uncordon -- n3",
	}, commands)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.EqualValues(t, 0o755, info.Mode().Perm())
}
