package failures

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/program"
)

const shipped = "testdata/cluster.yaml"

func failing(stdin string, args ...string) (code int, stdout, stderr string) {
	return testkit.Program(Run, stdin, args)
}

// The output on the shipped clusters is asserted whole, in every form.
func TestShippedClusters(t *testing.T) {
	type test struct {
		name string
		args []string
	}
	testkit.Run(t, []test{
		{"cluster", []string{"-f", shipped, "-headroom"}},
		{"overcommitted", []string{"-f", "testdata/overcommitted.yaml", "-headroom"}},
		{"bounds", []string{"-f", shipped, "-scenario", "node-a1,node-b1", "-orders", "5", "-until", "10m"}},
	}, func(t *testing.T, c test) {
		for form, ending := range map[string]string{"table": ".table", "json": ".json", "yaml": ".out.yaml"} {
			t.Run(form, func(t *testing.T) {
				code, out, errs := failing("", append(c.args, "-o", form)...)
				require.Zero(t, code, errs)
				testkit.Golden(t, filepath.Join("testdata", c.name+ending), out)
				_, again, _ := failing("", append(c.args, "-o", form, "-workers", "3")...)
				require.Equal(t, out, again, "same input, same bytes, whatever the number of workers")
			})
		}
	})
}

// The alert on the sums of requests and the exact answer: it is silent where no node may fail, and fires where any may.
func TestAlert(t *testing.T) {
	answer := func(file string) (a failureReport) {
		_, out, errs := failing("", "-f", file, "-headroom", "-o", "json")
		require.NoError(t, json.Unmarshal([]byte(out), &a), errs)
		return a
	}
	silent := answer(shipped)
	require.False(t, silent.Alerts[0].Fires || silent.Alerts[1].Fires)
	require.Zero(t, silent.Headroom.Survives)
	fires := answer("testdata/overcommitted.yaml")
	require.True(t, fires.Alerts[0].Fires)
	require.Equal(t, 1, fires.Headroom.Survives)
	for _, s := range fires.Scenarios {
		if len(s.Nodes) == 1 {
			require.Zero(t, s.Pending+s.Waiting, s.Name)
		}
	}
}

// Exit codes, flags that do not fit together, and names that do not exist.
func TestFlags(t *testing.T) {
	code, _, _ := failing("", "-f", shipped, "-fail-pending", "-scenario", "node-a1")
	require.Equal(t, program.No, code)
	code, _, _ = failing("", "-f", "testdata/overcommitted.yaml", "-fail-pending", "-scenario", "large-a")
	require.Zero(t, code)
	code, help, _ := failing("", "-h")
	require.Zero(t, code)
	require.Contains(t, help, "Usage:\n  failures -f PATH [flags]")
	for _, c := range []struct{ args, want string }{
		{"", "-f"},
		{"-f " + shipped + " -o csv", "csv"},
		{"-f " + shipped + " node-a1", `unexpected argument "node-a1": name nodes with -scenario`},
		{"-f " + shipped + " -scenario node-a9", `-scenario: Not found: "node-a9": no such node in the input; near: node-`},
		{"-f " + shipped + " -scenario node-a1,node-a1", `scenario "node-a1,node-a1": nodes: Duplicate value: "node-a1"`},
		{"-f " + shipped + " -by rack", `-by: Not found: "rack": no node of the input has this label`},
		{"-f " + shipped + " -pairs -1", "-pairs: Invalid value: -1: must not be negative"},
		{"-f " + shipped + " -until -1s", "-until: Invalid value: -1s: must not be negative"},
		{"-f " + shipped + " -scenario=", "must name nodes"},
		{"-f " + shipped + " -by=", "must be a label"},
		{"-f " + shipped + " -prometheus no/such/folder", "-prometheus: "},
		{"-f " + shipped + " -no-headers -o json", "-no-headers"},
	} {
		code, out, errs := failing("", strings.Fields(c.args)...)
		require.Equal(t, program.BadInput, code, c.args)
		require.Empty(t, out, c.args)
		require.Contains(t, errs, c.want)
		require.Equal(t, 1, strings.Count(errs, "failures: "), errs)
	}
	code, _, errs := failing("kind: PodDisruptionBudget\napiVersion: policy/v1\nmetadata: {name: a}\nspec: {minAvailable: -1}\n", "-f", "-")
	require.Equal(t, program.BadInput, code)
	require.Contains(t, errs, "spec.minAvailable: Invalid value")
}

// -n shows one namespace. The counts of a scenario still count all pods.
func TestNamespace(t *testing.T) {
	_, out, _ := failing("", "-f", shipped, "-n", "data", "-scenario", "node-c1", "-o", "json")
	var a failureReport
	require.NoError(t, json.Unmarshal([]byte(out), &a))
	s := a.Scenarios[0]
	require.Equal(t, 5, s.Lost)
	require.Len(t, s.Pods, 1)
	require.Equal(t, "data/db-2", s.Pods[0].Pod)
	require.Len(t, s.Groups, 1)
}

// The textfile has a line for each scenario and metric.
func TestPrometheus(t *testing.T) {
	file := filepath.Join(t.TempDir(), "failures.prom")
	code, _, errs := failing("", "-f", shipped, "-prometheus", file, "-headroom")
	require.Zero(t, code, errs)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	testkit.Golden(t, "testdata/cluster.prom", string(text))
	require.Contains(t, string(text), "podberth_failure_pending_pods{scenario=\"node-c1\"} 2\n")
	require.Equal(t, `a\"b\\c\nd`, labelValue("a\"b\\c\nd"))
}

// A scenario for each pair of nodes, or a sample of pairs.
func TestPairs(t *testing.T) {
	count := func(args ...string) int {
		_, out, errs := failing("", append([]string{"-f", shipped, "-o", "json"}, args...)...)
		var a failureReport
		require.NoError(t, json.Unmarshal([]byte(out), &a), errs)
		return a.Summary.Scenarios
	}
	require.Equal(t, 10, count("-pairs", "100"))
	require.Equal(t, 4, count("-pairs", "4", "-seed", "2"))
	require.Equal(t, 8, count())
	require.Equal(t, 3, count("-by", "topology.kubernetes.io/zone"))
}

// With many scenarios, scenarios without consequences are counted in one line, and progress goes to standard error.
func TestManyScenarios(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		b.WriteString("kind: Node\napiVersion: v1\nmetadata: {name: n" + string(rune('a'+i/26)) + string(rune('a'+i%26)) + "}\nstatus: {allocatable: {cpu: 4, pods: 10}}\n---\n")
	}
	code, out, errs := failing(b.String(), "-f", "-")
	require.Zero(t, code, errs)
	require.Contains(t, out, "40 more scenarios, in which no pod stays pending or is displaced\n")
}

// Every line of output in docs/failures.md is a line of the shipped output, blanks aside.
func TestDocumentation(t *testing.T) { testkit.Printed(t, "../../docs/failures.md", ".") }

// withDevices is two nodes, a device of each, and a pod on the first with a claim of the first's device. The claim's selector
// takes devices of the model that only the first has.
const withDevices = `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: 4, pods: 10}}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s1}
spec: {driver: gpu.example.com, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 1}, devices: [{name: d, attributes: {model: {string: large}}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s2}
spec: {driver: gpu.example.com, nodeName: n2, pool: {name: n2, generation: 1, resourceSliceCount: 1}, devices: [{name: d, attributes: {model: {string: small}}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c, namespace: default, uid: c}
spec:
  devices:
    requests:
    - name: r
      exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1, selectors: [{cel: {expression: 'device.attributes["gpu.example.com"].model == "large"'}}]}
status:
  allocation: {devices: {results: [{request: r, driver: gpu.example.com, pool: n1, device: d}]}}
  reservedFor: [{resource: pods, name: p, uid: p}]
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default, uid: p, ownerReferences: [{apiVersion: example.com/v1, kind: Rollout, name: r, uid: r, controller: true}]}
spec: {nodeName: n1, containers: [{name: c, image: i}], resourceClaims: [{name: c, resourceClaimName: c}]}
`

// Devices count, with their selectors.
func TestDevices(t *testing.T) {
	fate := func(dump string) string {
		code, out, errs := failing(dump, "-f", "-", "-scenario", "n1", "-o", "json")
		require.Zero(t, code, errs)
		require.NotContains(t, errs, "not considered")
		var a failureReport
		require.NoError(t, json.Unmarshal([]byte(out), &a))
		s := a.Scenarios[0]
		if len(s.Groups) > 0 {
			return string(s.Pods[0].Fate) + " " + string(s.Groups[0].Cause)
		}
		return string(s.Pods[0].Fate) + " " + s.Pods[0].Node
	}
	require.Equal(t, "Pending devices", fate(withDevices))
	require.Equal(t, "Placed n2", fate(strings.ReplaceAll(withDevices, "small", "large")))
}

// -config: the first profile decides, and everything else that the document asks for is a warning.
func TestConfig(t *testing.T) {
	testkit.FirstProfile(t, func(input, config string) (node, errs string) {
		code, out, errs := failing(input, "-f", "-", "-scenario", "n1", "-o", "json", "-config", config)
		require.Zero(t, code, errs)
		var a failureReport
		require.NoError(t, json.Unmarshal([]byte(out), &a))
		pod := a.Scenarios[0].Pods[0]
		if pod.Fate == "Placed" {
			return pod.Node, errs
		}
		return string(pod.Fate) + " " + pod.Node, errs
	}, "Foreign ")

	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, []byte("kind: KubeSchedulerConfiguration\napiVersion: kubescheduler.config.k8s.io/v1\nprofile: []\n"), 0o600))
	code, _, errs := failing("", "-f", shipped, "-config", file)
	require.Equal(t, program.BadInput, code)
	require.Contains(t, errs, file+": ")
	code, _, errs = failing("", "-f", shipped, "-config", file+".yaml")
	require.Equal(t, program.BadInput, code)
	require.Contains(t, errs, "-config: ")
}
