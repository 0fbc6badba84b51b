package place

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/testkit/traces"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/taints"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
)

const shop = "../../examples/testdata/cluster.yaml"

func simulate(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return testkit.Program(Run, stdin, args)
}

// The output on the shipped cluster is asserted whole, in every form.
func TestShippedCluster(t *testing.T) {
	type test struct {
		name, file string
		args       []string
	}
	testkit.Run(t, []test{
		{"table", "testdata/cluster.table", nil},
		{"wide", "testdata/cluster.wide", []string{"-o", "wide"}},
		{"json", "../../examples/testdata/cluster.json", []string{"-o", "json"}},
		{"yaml", "testdata/cluster.yaml.out", []string{"-o", "yaml"}},
		{"explain a placed pod", "testdata/explain-web.txt", []string{"-explain", "shop/web-6d4b75cb6d-q6kxd"}},
		{"explain a rejected pod", "testdata/explain-postgres.txt", []string{"-explain", "data/postgres-3"}},
	}, func(t *testing.T, c test) {
		code, out, errs := simulate(t, "", append([]string{"-f", shop}, c.args...)...)
		require.Zero(t, code, errs)
		require.Empty(t, errs)
		testkit.Golden(t, c.file, out)
		_, again, _ := simulate(t, "", append([]string{"-f", shop}, c.args...)...)
		require.Equal(t, out, again, "same input, same bytes")
	})
}

// -detail adds the nodes and changes nothing else.
func TestDetail(t *testing.T) {
	_, plain, _ := simulate(t, "", "-f", shop, "-o", "json")
	code, detailed, errs := simulate(t, "", "-f", shop, "-o", "json", "-detail")
	require.Zero(t, code, errs)
	var with struct{ Attempts []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(detailed), &with))
	for _, p := range with.Attempts {
		if p["outcome"] == outcomeGated {
			continue
		}
		nodes := p["nodes"].([]any)
		require.Len(t, nodes, 12, "every node")
		for k := 1; k < len(nodes); k++ {
			require.Less(t, nodes[k-1].(map[string]any)["node"], nodes[k].(map[string]any)["node"], "sorted by name")
		}
		for _, n := range nodes {
			n := n.(map[string]any)
			require.NotEqual(t, n["rejections"] == nil, n["scores"] == nil, "scores exactly where nothing rejects")
		}
		delete(p, "nodes")
	}
	var without struct{ Attempts []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(plain), &without))
	require.Equal(t, without, with)
}

func TestExitCodes(t *testing.T) {
	code, _, _ := simulate(t, "", "-f", shop, "-fail-unschedulable")
	require.Equal(t, program.No, code)
}

const (
	oneNode = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}\n"
	onePod  = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {priority: 0, containers: [{name: c}]}\n"
)

// Bad input: one line on standard error, nothing on standard output, exit 2.
func TestBadInput(t *testing.T) {
	type test struct {
		name, input, want string
		args              []string
	}
	testkit.Run(t, []test{
		{"two nodes of one name", oneNode + "---\n" + strings.ReplaceAll(oneNode, "8Gi", "9Gi"), `standard input: document 2: metadata.name: Duplicate value: "n1": another Node n1 stands at standard input: document 1`, nil},
		{"negative quantity", strings.ReplaceAll(oneNode, "8Gi", "-8Gi"), `standard input: document 1 (Node n1): status.allocatable[memory]: Invalid value: "-8Gi": must not be negative`, nil},
		{"overflowing quantity", strings.ReplaceAll(oneNode, "8Gi", "'99999999999999999999'"), `status.allocatable[memory]: Invalid value: "99999999999999999999": must be below 9223372036854775807`, nil},
		{"overflowing cpu", strings.ReplaceAll(oneNode, "'4'", "9Ei"), `status.allocatable[cpu]`, nil},
		{"not a quantity", strings.ReplaceAll(oneNode, "8Gi", "lots"), `status.allocatable[memory]: Invalid value: "lots": must be a quantity such as 500m, 2 or 1Gi`, nil},
		{"wrong type", strings.ReplaceAll(onePod, "priority: 0", "priority: high"), `standard input: document 1 (Pod p): spec.priority: Invalid value: "high": must be an integer of 32 bits`, nil},
		{"wrong type in a list", strings.ReplaceAll(onePod, "{name: c}", "{name: 7}"), `spec.containers[0].name: Invalid value: 7: must be a string`, nil},
		{"a list that is none", strings.ReplaceAll(onePod, "[{name: c}]", "none"), `spec.containers: Invalid value: "none": must be a list`, nil},
		{"not YAML", "a: b: c", "standard input: document 1:", nil},
		{"a key twice", "kind: Pod\nkind: Pod\n", "standard input: document 1:", nil},
		{"no kind", "a: b", "kind: Required value", nil},
		{"no name", "apiVersion: v1\nkind: Node\n", "metadata.name: Required value", nil},
		{"a scalar", "hello", "not a Kubernetes object", nil},
		{"unknown node, strict", oneNode + "---\n" + strings.Replace(onePod, "spec: {", "spec: {nodeName: n9, ", 1), `pod default/p: spec.nodeName: Invalid value: "n9"`, []string{"-strict"}},
		{"unknown output", oneNode, `-o: Unsupported value: "xml"`, []string{"-o", "xml"}},
		{"percentage out of range", oneNode, "-percentage: Invalid value: 101: not in valid range [0-100]", []string{"-percentage", "101"}},
		{"detail in a table", oneNode, "-detail", []string{"-detail"}},
		{"explain nobody", oneNode, `-explain: Not found: "a/b"`, []string{"-explain", "a/b"}},
		{"an argument", oneNode, `unexpected argument "x"`, []string{"x"}},
		{"unknown flag", oneNode, "flag provided but not defined: -nope", []string{"-nope"}},
	}, func(t *testing.T, c test) {
		code, out, errs := simulate(t, c.input, append([]string{"-f", "-"}, c.args...)...)
		require.Equal(t, program.BadInput, code)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
		last := strings.Split(strings.TrimSpace(errs), "\n")
		require.True(t, strings.HasPrefix(last[len(last)-1], "place: ") || c.name == "unknown flag", "one clear line: %q", errs)
	})
	type test2 struct {
		name string
		args []string
		want string
	}
	testkit.Run(t, []test2{
		{"no input", nil, "-f: Required value"},
		{"no such file", []string{"-f", "testdata/missing.yaml"}, "testdata/missing.yaml"},
	}, func(t *testing.T, c test2) {
		code, out, errs := simulate(t, "", c.args...)
		require.Equal(t, program.BadInput, code)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
	})
}

func TestInputForms(t *testing.T) {
	code, want, errs := simulate(t, oneNode+"---\n"+onePod, "-f", "-")
	require.Zero(t, code, errs)
	require.Contains(t, want, "Scheduled")

	folder := t.TempDir()
	write := func(name string, data []byte) {
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, data, 0o644))
	}
	list := `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"status":{"allocatable":{"cpu":4,"memory":"8Gi","pods":10}}}]}`
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte("# a pod\n---\n" + onePod))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	write("nodes.json", []byte(list))
	write("deep/pods.yml.gz", packed.Bytes())
	write("notes.txt", []byte("not read"))
	code, got, errs := simulate(t, "", "-f", folder)
	require.Zero(t, code, errs)
	require.Equal(t, want, got, "a folder with a JSON list and a packed file says the same")
}

func TestWarnings(t *testing.T) {
	input := oneNode + "---\n" + strings.Replace(onePod, "spec: {", "spec: {nodeName: gone, ", 1) +
		"---\n" + strings.Replace(strings.Replace(onePod, "name: p}", "name: other}", 1), "spec: {", "spec: {schedulerName: volcano, ", 1) +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"
	code, out, errs := simulate(t, input, "-f", "-")
	require.Zero(t, code)
	require.NotContains(t, out, "Scheduled")
	require.Equal(t, `warning: 2 object(s) of kind ConfigMap left aside: the kind is not read
warning: 1 pending pod(s) of scheduler "volcano" left alone
warning: pod default/p: spec.nodeName: Invalid value: "gone": no such node in the input; counted nowhere; if the input is complete, pod garbage collection deletes it 40 to 60 s after its node is gone
`, errs)
}

func TestExpand(t *testing.T) {
	_, plain, _ := simulate(t, "", "-f", shop, "-o", "json")
	code, out, errs := simulate(t, "", "-f", shop, "-expand", "-o", "json")
	require.Zero(t, code, errs)
	require.Equal(t, plain, out, "every replica of the shipped cluster has its pod: the flag adds none")

	workload := oneNode + `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 3, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web-abc-1, labels: {app: web, pod-template-hash: abc}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-abc, uid: u, controller: true}]}
spec: {nodeName: n1, priority: 0, containers: [{name: c}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec: {replicas: 2, serviceName: db, template: {spec: {containers: [{name: c}]}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec: {template: {spec: {containers: [{name: c}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec: {parallelism: 4, completions: 2, template: {spec: {containers: [{name: c}]}}}
`
	var have struct{ Attempts []entry }
	code, out, errs = simulate(t, workload, "-f", "-", "-o", "json")
	require.Zero(t, code, errs)
	require.NoError(t, json.Unmarshal([]byte(out), &have))
	require.Empty(t, have.Attempts, "without the flag no pod waits")
	code, out, errs = simulate(t, workload, "-f", "-", "-expand", "-o", "json")
	require.Zero(t, code, errs)
	require.NoError(t, json.Unmarshal([]byte(out), &have))
	var names []string
	for _, e := range have.Attempts {
		require.Equal(t, outcomeScheduled, e.Outcome, e.Message)
		names = append(names, e.Pod)
	}
	require.Equal(t, []string{"default/web-abc-2", "default/web-abc-3", "default/db-0", "default/once-1", "default/once-2", "default/agent-1"}, names)
}

// asProgram is the environment variable that turns the test binary into the program.
const asProgram = "SIMULATE_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// A real trace: every pod decided in under five seconds, and every placement within allocatable and taints.
func TestOpenbTrace(t *testing.T) {
	testkit.Sequential(t)
	text := traces.Text(t, "openb", "--nodes", "1523", "--pods", "8152", "--zones", "3")
	file := filepath.Join(t.TempDir(), "openb.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o644))
	self, err := os.Executable()
	require.NoError(t, err)
	program := exec.Command(self, "-f", file, "-o", "json")
	program.Env = append(os.Environ(), asProgram+"=1")
	out, err := program.Output()
	require.NoError(t, err)
	var result struct{ Pods []podState }
	require.NoError(t, json.Unmarshal(out, &result))
	require.Len(t, result.Pods, 8152)

	before := testkit.ProcessorTime(t)
	objects, err := dump.Read([]string{file}, nil, dump.Options{})
	require.NoError(t, err)
	reading := testkit.ProcessorTime(t) - before
	// The measure is time on processors. On a busy machine other programs lengthen it, so it is compared with the time that
	// reading the file takes.
	took := program.ProcessState.UserTime() + program.ProcessState.SystemTime()
	require.Less(t, took, max(5*time.Second, 3*reading), "reading takes %v", reading)
	schema := new(resources.Schema)
	nodes, used, pods := map[string]*v1.Node{}, map[string]resources.Vector{}, map[string]*v1.Pod{}
	for _, n := range objects.Nodes {
		nodes[n.Name] = n
	}
	for _, p := range objects.Pods {
		pods[p.Namespace+"/"+p.Name] = p
	}
	placed := 0
	for _, e := range result.Pods {
		if e.Node == "" {
			require.NotEmpty(t, e.Message)
			continue
		}
		placed++
		p, n := pods[e.Pod], nodes[e.Node]
		require.Nil(t, taints.Untolerated(n, p.Spec.Tolerations, taints.Options{}))
		request := overhead.AppendRequests(nil, schema, p, overhead.Options{})
		sum := used[n.Name].Grow(schema.Len())
		sum.Add(request.Grow(schema.Len()))
		sum[resources.Pods]++
		used[n.Name] = sum
	}
	for name, sum := range used {
		allocatable := resources.FromList(schema, nodes[name].Status.Allocatable)
		for c, amount := range sum {
			require.LessOrEqual(t, amount, allocatable.At(c), name)
		}
	}
	require.Greater(t, placed, 6000)
}
