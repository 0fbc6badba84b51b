package rollout

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
	a = planned(t, pair)
	require.Empty(t, a.Waiting)
	const set = "---\n{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: %}, spec: {selector: {matchLabels: {app: d}}, template: {metadata: {labels: {app: d}}, spec: {containers: [{name: c}]}}}}\n"
	const pod = "---\n{apiVersion: v1, kind: Pod, metadata: {name: d, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: d, controller: true}]}, spec: {nodeName: n1, containers: [{name: c}]}}\n"
	for name, blocked := range map[string]int{"d": 0, "other": 1} {
		a = planned(t, pair+pod+strings.Replace(set, "%", name, 1), "-ignore-daemonsets")
		require.Len(t, a.Blocked, blocked, name)
	}
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
