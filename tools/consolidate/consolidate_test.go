package consolidate

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/internal/schema"
	"github.com/podberth/podberth/tools/program"
)

const (
	shipped = "testdata/cluster.yaml"
	types   = "testdata/types.yaml"
	label   = "example.com/price"
)

func planning(stdin string, args ...string) (code int, stdout, stderr string) {
	return testkit.Program(Run, stdin, args)
}

// The output on the shipped clusters is asserted whole, in every form.
func TestShippedClusters(t *testing.T) {
	type test struct {
		name string
		args []string
	}
	testkit.Run(t, []test{
		{"cluster", []string{"-f", shipped, "-price-label", label}},
		{"one-step", []string{"-f", shipped, "-price-label", label, "-one-step"}},
		{"racks", []string{"-f", "testdata/racks.yaml", "-free-domains", "example.com/rack", "-gang", "podgroup/train"}},
		{"types", []string{"-f", "testdata/full.yaml", "-price-label", label, "-types", types}},
	}, func(t *testing.T, c test) {
		for form, ending := range map[string]string{"table": ".table", "json": ".json", "yaml": ".out.yaml"} {
			t.Run(form, func(t *testing.T) {
				code, out, errs := planning("", append(c.args, "-o", form)...)
				require.Zero(t, code, errs)
				testkit.Golden(t, filepath.Join("testdata", c.name+ending), out)
			})
		}
	})
}

// Flags that change the plan, on the shipped cluster.
func TestAnswers(t *testing.T) {
	ask := func(args ...string) (a consolidationPlan) {
		code, out, errs := planning("", append([]string{"-f", shipped, "-o", "json"}, args...)...)
		require.Zero(t, code, errs)
		require.NoError(t, json.Unmarshal([]byte(out), &a))
		return a
	}
	require.Equal(t, "8", ask().Summary.Before, "without prices a node costs 1")
	require.Empty(t, ask("-f", "testdata/racks.yaml", "-free-domains", "example.com/rack").Stays, "the plan is about racks, not about each node")
	require.LessOrEqual(t, ask("-max-moves", "3").Summary.Moves, 3)
	require.Len(t, ask("-time", "1ns").Nodes, 0, "the search ends before the first node")
	require.Less(t, len(ask().Kept), len(ask("-f", "testdata/full.yaml").Kept)+2)
	require.Len(t, ask("-ignore-annotations").Kept, 1)
	require.Empty(t, ask("-n", "data", "-price-label", label).Waves[1].Moves)
	require.Equal(t, "0", ask("-defragment", "example.com/gpu").Summary.Before)
}

// Exit codes, flags that do not fit together, and prices that are none.
func TestFlags(t *testing.T) {
	code, help, _ := planning("", "-h")
	require.Zero(t, code)
	require.Contains(t, help, "Usage:\n  consolidate -f PATH [flags]")
	for _, c := range []struct{ args, want string }{
		{"", "-f"},
		{"-f " + shipped + " -o csv", "csv"},
		{"-f " + shipped + " a1", `unexpected argument "a1"`},
		{"-f " + shipped + " -max-moves -1", "-max-moves: Invalid value: -1: must not be negative"},
		{"-f " + shipped + " -steps -1", "-steps: Invalid value: -1: must not be negative"},
		{"-f " + shipped + " -time -1s", "-time: Invalid value: -1s: must not be negative"},
		{"-f " + shipped + " -defragment gpu -price-label " + label, "-defragment: Forbidden: with -price-label or -types"},
		{"-f " + shipped + " -price-label example.com/cents", "node a1: metadata.labels[example.com/cents]: Required value: the price of the node"},
		{"-f " + shipped + " -price-label kubernetes.io/hostname", `node a1: metadata.labels[kubernetes.io/hostname]: Invalid value: "a1": must be a number from 0 to 1000000000 with at most six decimals`},
		{"-f " + shipped + " -types no/such/file", "-types: "},
		{"-f " + shipped + " -types -", "-types: standard input: "},
		{"-f " + shipped + " -config no/such/file", "no/such/file"},
		{"-f " + shipped + " -no-headers -o json", "-no-headers"},
	} {
		code, out, errs := planning("", strings.Fields(c.args)...)
		require.Equal(t, program.BadInput, code, c.args)
		require.Empty(t, out, c.args)
		require.Contains(t, errs, c.want)
		require.Equal(t, 1, strings.Count(errs, "consolidate: "), errs)
	}
}

// Every line of output in docs/consolidation.md is a line of the shipped output, blanks aside.
func TestDocumentation(t *testing.T) { testkit.Printed(t, "../../docs/consolidation.md", ".") }

// What holds a node is named as a change, each that is needed and no other, and the pods then go where they would.
func TestWhatWouldHaveToChange(t *testing.T) {
	pod := func(name, node, meta, spec string) string {
		return fmt.Sprintf("---\n{apiVersion: v1, kind: Pod, metadata: {name: %s, uid: %[1]s, labels: {app: %[1]s}, %s}, spec: {nodeName: %s, %scontainers: [{name: c, resources: {requests: {cpu: 1}}}]}, status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}}\n", name, meta, node, spec)
	}
	const (
		owner  = "ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: r, controller: true}]"
		stays  = "annotations: {karpenter.sh/do-not-disrupt: 'true'}, "
		local  = "volumes: [{name: v, emptyDir: {}}], "
		budget = "---\n{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {maxUnavailable: 0, selector: {matchLabels: {app: budgeted}}}}\n"
	)
	var input strings.Builder
	for _, n := range []string{"n1", "n2", "n3"} {
		fmt.Fprintf(&input, "---\n{apiVersion: v1, kind: Node, metadata: {name: %s}, status: {allocatable: {cpu: 4, pods: 10}}}\n", n)
	}
	input.WriteString(pod("budgeted", "n1", owner, "") + pod("marked", "n1", stays+owner, "") + pod("local", "n1", owner, local))
	input.WriteString(pod("bare", "n2", "annotations: {}", "") + pod("other", "n3", stays+owner, "") + budget)
	for node, want := range map[string][]string{
		"n1": {"--ignore-annotations: the annotations of its pods no longer count", "--delete-emptydir-data: what its pods have in emptyDir volumes is lost", "budget default/b must let go default/budgeted: evict default/budgeted says what helps"},
		"n2": {},
		"n3": {"--ignore-annotations: the annotations of its pods no longer count"},
	} {
		code, out, errs := planning(input.String(), "-f", "-", "-why", node, "-o", "json")
		require.Zero(t, code, errs)
		var a consolidationPlan
		require.NoError(t, json.Unmarshal([]byte(out), &a))
		require.Equal(t, want, a.Why.Changes, node)
		require.NotContains(t, out, "null", "lists without elements are lists")
		for _, p := range a.Why.Pods {
			require.Contains(t, []string{"n1", "n2", "n3"}, p.To)
			require.NotEqual(t, node, p.To)
		}
	}
	_, out, _ := planning(input.String(), "-f", "-", "-why", "n3")
	require.Contains(t, out, "Would have to change: --ignore-annotations: the annotations of its pods no longer count\nAfter the plan, without it, 1 of 1 pod would find another node, and 0 would not.\n")
	require.Regexp(t, `(?m)^Without the node\n(.*\n)?POD .*\ndefault/other +n[12]`, out)
}

// Two pods exclude each other: each node says whom it waits for. -why tries the removal of one node, and names what the plan does with
// a node that it empties.
func TestWhyANodeStays(t *testing.T) {
	const pods = `
{apiVersion: v1, kind: Node, metadata: {name: A, labels: {kubernetes.io/hostname: A}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: B, labels: {kubernetes.io/hostname: B}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: x-1, uid: x1, labels: {app: x, excl: "1"}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: x, uid: x, controller: true}]}, spec: {nodeName: A, affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {excl: "1"}}, topologyKey: kubernetes.io/hostname}]}}, containers: [{name: c, resources: {requests: {cpu: 100m}}}]}, status: {phase: Running}}
---
{apiVersion: v1, kind: Pod, metadata: {name: y-1, uid: y1, labels: {app: yy, excl: "1"}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: yy, uid: yy, controller: true}]}, spec: {nodeName: B, containers: [{name: c, resources: {requests: {cpu: "3"}}}]}, status: {phase: Running}}
`
	const third = "---\n" + `{apiVersion: v1, kind: Node, metadata: {name: C, labels: {kubernetes.io/hostname: C}}, status: {allocatable: {cpu: "1", memory: 8Gi, pods: "110"}}}` + "\n"
	code, out, errs := planning(pods, "-f", "-")
	require.Zero(t, code, errs)
	require.Contains(t, out, "0 of 2 nodes can be emptied")
	require.Regexp(t, `(?m)^A +default/x-1 +no other node takes the pod: anti-affinity by kubernetes.io/hostname allows one pod a node, and B has one`, out)
	require.Regexp(t, `(?m)^B +default/y-1 +no other node takes the pod: .*default/x-1`, out)
	code, out, errs = planning(pods+third, "-f", "-", "-why", "B")
	require.Zero(t, code, errs)
	require.Contains(t, out, "B (price 1): default/y-1: no other node takes the pod: ")
	require.Contains(t, out, "After the plan, without it, 0 of 1 pod would find another node, and 1 would not.\n")
	_, out, _ = planning(pods+third, "-f", "-", "-why", "C")
	require.Contains(t, out, "C (price 1): the plan empties the node\n")
	_, out, _ = planning(pods+third, "-f", "-", "-why", "C", "-o", "json")
	require.NotContains(t, out, "null", "lists without elements are lists")
	code, _, errs = planning(pods, "-f", "-", "-why", "D")
	require.Equal(t, program.BadInput, code)
	require.Contains(t, errs, `-why: Not found: "D": no such node in the input`)
	code, _, errs = planning(pods, "-f", "-", "-why", "A", "-defragment", "nvidia.com/gpu")
	require.Equal(t, program.BadInput, code)
	require.Contains(t, errs, "-why: Forbidden: with -defragment")
	_, out, _ = planning(pods, "-f", "-", "-why", "A", "-o", "json")
	_, limited, _ := planning(pods, "-f", "-", "-time", "1ns", "-o", "json")
	schema.Check(t, testkit.Golden, map[string]any{"ConsolidationPlan": consolidationPlan{}}, []string{out, limited}, map[string]string{
		"summary.unsearched": "steps are left at a moment of -time that a test cannot choose",
	})
}

// The owner of a pod is not in the input: the plan believes the status of the budget, and says so.
func TestUnknownOwners(t *testing.T) {
	const input = `{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: 4, pods: 10}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, uid: a, labels: {app: a}, ownerReferences: [{apiVersion: ray.io/v1, kind: RayCluster, name: r, uid: r, controller: true}]}, spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: 1}}}]}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {maxUnavailable: 1, selector: {matchLabels: {app: a}}}, status: {disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: 2, expectedPods: 3}}
`
	_, out, errs := planning(input, "-f", "-")
	require.Contains(t, errs, "how many pods it expects is taken from its status: no matches for kind \"RayCluster\" in version \"ray.io/v1\"\n")
	require.Regexp(t, `(?m)^n1 +default/a +the Eviction API refuses: The disruption budget b needs 2 healthy pods and has 1 currently$`, out)
}
