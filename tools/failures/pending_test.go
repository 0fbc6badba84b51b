package failures

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/internal/schema"
	"github.com/podberth/podberth/tools/program"
)

// Pods that wait for the profile's scheduler, without gates, get a node when there is one.
func TestPendingPods(t *testing.T) {
	var b strings.Builder
	b.WriteString(`
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: 4, pods: 10}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: runs}, spec: {nodeName: n2, containers: [{name: c}]}}
`)
	for name, spec := range map[string]string{"none": "", "default": "schedulerName: default-scheduler,", "own": "schedulerName: own,", "own2": "schedulerName: own,", "own3": "schedulerName: own,", "gated": "schedulingGates: [{name: g}],"} {
		fmt.Fprintf(&b, "---\n{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {%s containers: [{name: c}]}}\n", name, spec)
	}
	released := func(args ...string) int {
		code, out, errs := failing(b.String(), append([]string{"-f", "-", "-scenario", "n1", "-o", "json"}, args...)...)
		require.Zero(t, code, errs)
		var a failureReport
		require.NoError(t, json.Unmarshal([]byte(out), &a))
		return a.Scenarios[0].Released
	}
	require.Equal(t, 2, released())
	config := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(config, []byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{schedulerName: own}]\n"), 0o600))
	require.Equal(t, 3, released("-config", config))
}

// Four of six pods wait before any failure, because the third zone has reserved nodes alone. The loss of a node leaves as many waiting:
// one that waited takes the other node of the zone. The loss of a zone leaves one more.
func TestWaitingBefore(t *testing.T) {
	code, out, errs := failing("", "-f", "testdata/reserved-zone.yaml", "-expand")
	require.Zero(t, code, errs)
	lines := strings.SplitN(out, "\n", 3)
	require.Equal(t, "Before any failure 4 of 6 pods of ReplicaSet default/inflate-5b8bbf7bf8 wait: zone us-1a and zone us-1b have 1 pod each, zone us-1c has 0 pods; "+
		"maxSkew is 1, and f0 and f1 are reserved by the provider", lines[0])
	require.Equal(t, "9 scenarios, 2 leave more pods pending; the worst is topology.kubernetes.io/zone=us-1a: 1 pod stays pending", lines[1])
	_, out, errs = failing("", "-f", "testdata/reserved-zone.yaml", "-expand", "-scenario", "a0", "-o", "json")
	var a failureReport
	require.NoError(t, json.Unmarshal([]byte(out), &a), errs)
	require.Equal(t, pod{Pod: "default/inflate-5b8bbf7bf8-1", Namespace: "default", Name: "inflate-5b8bbf7bf8-1", From: "a0", Fate: "Placed", Node: "a1", Instead: "default/inflate-5b8bbf7bf8-3"}, a.Scenarios[0].Pods[0])
}

// Pods that the API server refuses wait before any failure, and a quota that is lowered below its use refuses what comes back.
func TestRefusedBefore(t *testing.T) {
	const objects = `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: 4, pods: 10}}}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {requests.cpu: '1'}}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, uid: w}, spec: {replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, resources: {limits: {cpu: '1'}}}]}}}}
`
	const refused = `pods "web-2" is forbidden: exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=1, limited: requests.cpu=1`
	_, out, errs := failing(objects, "-f", "-", "-expand", "-o", "json")
	var a failureReport
	require.NoError(t, json.Unmarshal([]byte(out), &a), errs)
	require.Equal(t, []waiting{{Workload: "ReplicaSet default/web", Pods: 1, Of: 2, Cause: "the API server refuses them: " + refused}}, a.Before)
	require.Zero(t, a.Summary.Failing, "what leaves has room on the other node, and in the quota")
	const runs = "---\n{apiVersion: v1, kind: Pod, metadata: {name: web-%d, labels: {a: b}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: w, controller: true}]}, spec: {nodeName: n%d, containers: [{name: c, resources: {requests: {cpu: '1'}}}]}}\n"
	code, out, errs := failing(objects+fmt.Sprintf(runs, 1, 1)+fmt.Sprintf(runs, 2, 2), "-f", "-", "-scenario", "n1")
	require.Zero(t, code, errs)
	require.Contains(t, out, "exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=1, limited: requests.cpu=1")
}

// The least values of flags are allowed, and what -strict forbids is an error.
func TestLeastValues(t *testing.T) {
	const stray = "---\n{apiVersion: v1, kind: Pod, metadata: {name: stray}, spec: {nodeName: n9, containers: [{name: c}]}}\n"
	for _, c := range []struct{ input, args, want string }{
		{withDevices, "-pairs 0 -orders 0 -limit 0 -remedies 0 -workers 0 -until 0s", ""},
		{withDevices, "-workers 1", ""},
		{withDevices, "-until -1ns", "-until: Invalid value: -1ns: must not be negative"},
		{withDevices, "-workers -1", "-workers: Invalid value: -1: must not be negative"},
		{withDevices, "-limit -1", "-limit: Invalid value: -1: must not be negative"},
		{withDevices, "-orders -1", "-orders: Invalid value: -1: must not be negative"},
		{withDevices, "-remedies -1", "-remedies: Invalid value: -1: must not be negative"},
		{withDevices + stray, "-strict", "n9"},
		{withDevices + stray, "", ""},
		{strings.Replace(withDevices, "status:", "state: {}, status:", 1), "-strict", `unknown field "state"`},
	} {
		code, out, errs := failing(c.input, append([]string{"-f", "-"}, strings.Fields(c.args)...)...)
		if c.want == "" {
			require.Zero(t, code, errs)
			require.NotEmpty(t, out)
			continue
		}
		require.Equal(t, program.BadInput, code, c.args)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
	}
	file := filepath.Join(t.TempDir(), "failures.prom")
	_, out, _ := failing("", "-f", shipped, "-prometheus", file)
	require.NotEmpty(t, out, "the table is printed, too")
	_, out, _ = failing("{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, pods: 10}}}", "-f", "-", "-headroom")
	require.Contains(t, out, "Headroom: any node may fail\n")
}

// Pods that -expand makes get nodes before the failure, so that the failure is that of a cluster in which the workload runs. What no
// node takes before any failure is said first, with its cause, and counts in no scenario.
func TestBeforeAnyFailure(t *testing.T) {
	const nodes = `
{apiVersion: v1, kind: Node, metadata: {name: a1, labels: {kubernetes.io/hostname: a1, topology.kubernetes.io/zone: a}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}}
---
{apiVersion: v1, kind: Node, metadata: {name: b1, labels: {kubernetes.io/hostname: b1, topology.kubernetes.io/zone: b}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}}
---
`
	workload := func(replicas int) string {
		return fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: w}, spec: {replicas: %d, selector: {matchLabels: {app: w}}, template: {metadata: {labels: {app: w}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1500m, memory: 1Gi}}}]}}}}\n", replicas)
	}
	_, out, errs := failing(nodes+workload(4), "-f", "-", "-expand")
	require.True(t, strings.HasPrefix(out, "4 scenarios, 4 leave pods pending; the worst is a1: 2 pods stay pending\n"), "%s%s", out, errs)
	_, out, _ = failing(nodes+workload(6), "-f", "-", "-expand")
	require.Regexp(t, `^Before any failure 2 of 6 pods of ReplicaSet default/w-\w+ wait: .*1500m.*\n4 scenarios, 4 leave more pods pending; the worst is a1: 2 pods stay pending\n`, out)
	const waits = "{apiVersion: v1, kind: Pod, metadata: {name: big}, spec: {containers: [{name: c, resources: {requests: {cpu: 5}}}]}}\n"
	_, out, _ = failing(nodes+waits, "-f", "-")
	require.Regexp(t, `^Before any failure 1 of 1 pod of Pod default/big waits: .*\n4 scenarios, none leaves more pods pending\n`, out)
	var a failureReport
	_, out, _ = failing(nodes+waits, "-f", "-", "-o", "json")
	require.NoError(t, json.Unmarshal([]byte(out), &a))
	require.Equal(t, []int{1, 1, 0}, []int{a.Before[0].Pods, a.Before[0].Of, a.Summary.Failing})
	const two = "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 1, pods: 10}}}\n---\n{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: 1, pods: 10}}}\n"
	owned := func(name, node, class string, priority int) string {
		return fmt.Sprintf(`---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: %[1]s, uid: %[1]s}, spec: {replicas: 1, selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}, spec: {priorityClassName: %[4]q, priority: %[3]d, containers: [{name: c, image: c, resources: {requests: {cpu: 1}}}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: %[1]s-0, uid: %[1]s-0, labels: {app: %[1]s}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: %[1]s, uid: %[1]s, controller: true}]}, spec: {nodeName: %[2]s, priority: %[3]d, containers: [{name: c, image: c, resources: {requests: {cpu: 1}}}]}, status: {phase: Running}}
`, name, node, priority, class)
	}
	_, instead, _ := failing("", "-f", "testdata/reserved-zone.yaml", "-expand", "-scenario", "a0", "-o", "json")
	_, displaced, _ := failing(two+owned("low", "n1", "", 0)+owned("high", "n2", "system-cluster-critical", 2000000000), "-f", "-", "-scenario", "n2", "-o", "json")
	_, limited, _ := failing("", "-f", shipped, "-headroom", "-time", "1ns", "-o", "json")
	schema.Check(t, testkit.Golden, map[string]any{"FailureReport": failureReport{}}, []string{out, instead, displaced, limited}, map[string]string{
		"Cause":            "package place prints every field of it",
		"headroom.untried": "remedies are left out at a moment of -time that a test cannot choose",
	})
}
