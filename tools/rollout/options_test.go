package rollout

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	planner "github.com/podberth/podberth/planning/rollout"
	"github.com/podberth/podberth/tools/program"
)

// pair is two nodes: n1 with two pods of a ReplicaSet and one of a DaemonSet that is gone, n2 with one pod.
const pair = `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, memory: 4Gi, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: 4, memory: 4Gi, pods: 10}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: r, controller: true}]}, spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: 1}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: r, controller: true}]}, spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: 1}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: c, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: r, controller: true}]}, spec: {nodeName: n2, containers: [{name: c, resources: {requests: {cpu: 1}}}]}}
`

// ofJob are the owner references of a Job's pods.
const ofJob = "ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: j, controller: true}]"

func planned(t *testing.T, input string, args ...string) (a rolloutPlan) {
	t.Helper()
	code, out, errs := rolling(input, append([]string{"-f", "-", "-o", "json"}, args...)...)
	require.Zero(t, code, errs)
	require.NoError(t, json.Unmarshal([]byte(out), &a))
	return a
}

// Nodes that are named have the order of the command line, unless -order says another.
func TestOrder(t *testing.T) {
	first := func(args ...string) string {
		a := planned(t, pair, args...)
		return strings.Join(append(a.Steps[0].Nodes, a.Steps[1].Nodes...), " ")
	}
	require.Equal(t, "n2 n1", first())
	require.Equal(t, "n1 n2", first("n1", "node/n2"))
	require.Equal(t, "n2 n1", first("-order", "fewest-pods", "n1", "n2"))
	require.Equal(t, "n1 n2", first("-order", "given"))
}

// Only pods without a node wait. A pod whose DaemonSet is gone keeps its node when there are other DaemonSets.
func TestPodsOfTheInput(t *testing.T) {
	const big = "---\n{apiVersion: v1, kind: Pod, metadata: {name: big}, spec: {containers: [{name: c, resources: {requests: {cpu: 9}}}]}}\n"
	a := planned(t, pair+big)
	require.Equal(t, []string{"default/big"}, a.Waiting)
	_, table, _ := rolling(pair+big+strings.Replace(big, "name: big", "name: bigger, "+ofJob, 1)+strings.Replace(big, "name: big", "name: biggest, "+ofJob, 1), "-f", "-")
	require.Contains(t, table, "\n\nWithout a node before and after\n"+
		"OWNER   PODS                             CAUSE\n"+
		"-       default/big                      0/2 nodes are available: 2 Insufficient cpu.\n"+
		"Job j   default/bigger,default/biggest   0/2 nodes are available: 2 Insufficient cpu.\n")
	a = planned(t, pair)
	require.Empty(t, a.Waiting)
	const set = "---\n{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: %}, spec: {selector: {matchLabels: {app: d}}, template: {metadata: {labels: {app: d}}, spec: {containers: [{name: c}]}}}}\n"
	const pod = "---\n{apiVersion: v1, kind: Pod, metadata: {name: d, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: d, controller: true}]}, spec: {nodeName: n1, containers: [{name: c}]}}\n"
	for name, blocked := range map[string]int{"d": 0, "other": 1} {
		a = planned(t, pair+pod+strings.Replace(set, "%", name, 1), "-ignore-daemonsets")
		require.Len(t, a.Blocked, blocked, name)
	}
}

// Remedies are printed after the plan, the first of them alone without -all: the lines of the moves are cut before them.
func TestRemediesAtTheEnd(t *testing.T) {
	p := &planner.Plan{Steps: []planner.Step{{Action: planner.Replace, Nodes: []string{"n"}, Waves: []planner.Wave{{}}}}}
	for k := range 100 {
		p.Steps[0].Waves[0].Moves = append(p.Steps[0].Waves[0].Moves, planner.Move{Pod: fmt.Sprint("a/m", k)})
		p.Blocked = append(p.Blocked, planner.Deadlock{Kind: planner.Never, Nodes: []string{"n"}, Pods: []string{fmt.Sprint("a/p", k)}, Remedies: []planner.Remedy{{Text: "none"}}})
	}
	p.Blocked = p.Blocked[:20]
	a := shown(p, options{})
	var tables program.Tables
	var out strings.Builder
	a.table(&out, tables.Layout)
	tables.Cut(&out, a.remedies(tables.Layout, false))
	require.Equal(t, program.MostLines, strings.Count(out.String(), "\n"))
	require.Regexp(t, `(?s)more lines; --all prints them\n\nRemedies\nPODS.*a/p11   none     does not help\n8 more changes; --all prints them\n$`, out.String())
	require.NotContains(t, a.remedies(tables.Layout, true), "--all")
}

// The least values of flags, and values that no flag takes.
func TestLeastValues(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rollout.sh")
	planned(t, pair, "-grace-period", "0", "-start", "0s", "-renew", "0s", "-script", file)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "kubectl drain --ignore-daemonsets --grace-period=0 -- n2\n")
	a := planned(t, pair, "-grace-period", "0")
	require.Equal(t, "0s", a.Summary.Total)
	a = planned(t, pair)
	require.NotEqual(t, "0s", a.Summary.Total)
	const stray = "---\n{apiVersion: v1, kind: Pod, metadata: {name: stray}, spec: {nodeName: n9, containers: [{name: c}]}}\n"
	for _, c := range []struct{ input, args, want string }{
		{pair, "-start -1ns", "-start: Invalid value: -1ns: must not be negative"},
		{pair, "-renew -1ns", "-renew: Invalid value: -1ns: must not be negative"},
		{pair, "-l ==", `invalid value "==" for flag -l: `},
		{pair + stray, "-strict", "n9"},
		{strings.Replace(pair, "status:", "state: {}, status:", 1), "-strict", `unknown field "state"`},
	} {
		code, out, errs := rolling(c.input, append([]string{"-f", "-"}, strings.Fields(c.args)...)...)
		require.Equal(t, program.BadInput, code, c.args)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
		require.Equal(t, 1, strings.Count(errs, "\n"))
	}
}

// The page of the shipped cluster is asserted whole.
func TestPage(t *testing.T) {
	code, out, errs := rolling("", "-f", shipped, "-ignore-daemonsets", "-start", "5s", "-o", "html")
	require.Zero(t, code, errs)
	testkit.GoldenPage(t, "testdata/cluster.page", out)
}

// terminal is 60 characters wide.
type terminal struct{ strings.Builder }

func (*terminal) Width() int { return 60 }

// Tables are as wide as the terminal.
func TestTerminal(t *testing.T) {
	var out terminal
	require.Zero(t, Run(t.Context(), []string{"-f", shipped, "-ignore-daemonsets"}, nil, &out, &strings.Builder{}))
	require.Regexp(t, `(?m)^  +\S`, out.String(), "a text goes on in the next line")
	_, wide, _ := rolling("", "-f", shipped, "-ignore-daemonsets")
	require.NotRegexp(t, `(?m)^  +\S`, wide)
}

// The owner of the pods is not in the input: the plan believes the status of the budget, also one that says that the last sync failed, and
// says so. Without a status it takes as many pods as run.
func TestUnknownOwners(t *testing.T) {
	input := func(status string) string {
		return nodesAndOwned + "---\n{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {maxUnavailable: 1, selector: {matchLabels: {app: a}}}, status: {" + status + "}}\n"
	}
	const taken = "how many pods it expects is taken from its status: no matches for kind \"RayCluster\" in version \"ray.io/v1\"\n"
	_, out, errs := rolling(input("disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: 2, expectedPods: 3"), "-f", "-")
	require.Contains(t, errs, taken)
	require.Contains(t, out, "0 of 1 pod leaves, 1 node new after 0s; 1 hangs for ever: default/a, budget default/b demands 2 healthy pods of 3 and has 1; 1 node blocked\n")
	_, out, errs = rolling(input("expectedPods: 3, conditions: [{type: DisruptionAllowed, status: 'False', reason: SyncFailed, message: rayclusters.ray.io does not implement the scale subresource}]"), "-f", "-")
	require.Contains(t, errs, taken)
	require.Contains(t, out, "1 hangs for ever: default/a, budget default/b allows nothing: rayclusters.ray.io does not implement the scale subresource;")
	_, out, errs = rolling(input(""), "-f", "-")
	require.Contains(t, errs, "how many pods it expects is not known, as many as run are taken: no matches for kind")
	require.Contains(t, out, "1 of 1 pod leaves, ")
}

const nodesAndOwned = `{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: 4, pods: 10}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, uid: a, labels: {app: a}, ownerReferences: [{apiVersion: ray.io/v1, kind: RayCluster, name: r, uid: r, controller: true}]}, spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: 1}}}]}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}
`
