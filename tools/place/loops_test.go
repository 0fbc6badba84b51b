package place

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/diagnose/lint"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/dump"
)

// Loops that descheduler users report: a pod that is evicted for a reason comes back to a node for which the same reason holds.
// Each is played twice with -timeline, and the linter names it.
func TestDeschedulerLoops(t *testing.T) {
	deployment := func(name string, replicas int, spec string) string {
		return fmt.Sprintf("---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: %[1]s}, spec: {replicas: %[2]d, selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: c, resources: {requests: {cpu: '1', memory: 1Gi}}}]%[3]s}}}}\n", name, replicas, spec)
	}
	pod := func(name, node, spec string) string {
		if node != "" {
			node = "nodeName: " + node + ", "
		}
		return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: {app: %s}}, spec: {priority: 0, %scontainers: [{name: c, resources: {requests: {cpu: '1', memory: 1Gi}}}]%s}}", name, strings.Split(name, "-")[0], node, spec)
	}
	node := func(name, zone, cpu, spec string) string {
		return fmt.Sprintf("---\n{apiVersion: v1, kind: Node, metadata: {name: %[1]s, labels: {kubernetes.io/hostname: %[1]s, topology.kubernetes.io/zone: %[2]s}}, spec: {%[4]s}, status: {allocatable: {cpu: '%[3]s', memory: 32Gi, pods: '110'}}}\n", name, zone, cpu, spec)
	}
	const (
		soft   = ", topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}]"
		prefer = ", affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}]}}]}}"
	)
	type test struct {
		name  string // of the rule
		why   string
		nodes string
		spec  string // of the pods
		more  string // other workloads
		on    []string
		back  []string // nodes to which the evicted pod may come back
	}
	testkit.Run(t, []test{
		{"loop-soft-spread", "the taint's score outweighs that of a soft constraint, so that the pod comes back to zone a, where the skew is 2",
			node("n1", "a", "8", "") + node("n2", "b", "8", "taints: [{key: old, effect: PreferNoSchedule}]"), soft, deployment("db", 2, soft), []string{"n1", "n1", "n1"}, []string{"n1"}},
		{"loop-preferred-node", "the preferred node is full", node("n1", "a", "2", "") + node("n2", "b", "8", ""), prefer, "", []string{"n1", "n1", "n2"}, []string{"n2"}},
		{"loop-duplicates", "three replicas on two nodes", node("n1", "a", "8", "") + node("n2", "b", "8", ""), "", "", []string{"n1", "n2", "n1"}, []string{"n1", "n2"}},
	}, func(t *testing.T, c test) {
		input := c.nodes + deployment("web", len(c.on), c.spec) + c.more
		for i, n := range c.on {
			input += "---\n" + pod(fmt.Sprintf("web-%d", i), n, c.spec) + "\n"
		}
		last := len(c.on) - 1
		timeline := ""
		for round := range 2 {
			timeline += fmt.Sprintf("- {at: %ds, delete: {apiVersion: v1, kind: Pod, metadata: {name: web-%d}}}\n", 10+20*round, last+round)
			timeline += fmt.Sprintf("- {at: %ds, add: %s}\n", 20+20*round, pod(fmt.Sprintf("web-%d", last+round+1), "", c.spec))
		}
		code, out, errs := withTimeline(t, input, timeline, "-o", "json")
		require.Zero(t, code, errs)
		var have struct{ Attempts []entry }
		require.NoError(t, json.Unmarshal([]byte(out), &have))
		require.Len(t, have.Attempts, 2)
		for _, a := range have.Attempts {
			require.Contains(t, c.back, a.Node)
		}
		o, err := dump.Read([]string{"-"}, strings.NewReader(input), dump.Options{})
		require.NoError(t, err)
		objects := o.Cluster()
		found, err := lint.Check(lint.Input{Deployments: o.Deployments, Cluster: &objects, Descheduler: true})
		require.NoError(t, err)
		var rules []string
		for _, f := range found {
			rules = append(rules, f.Rule)
		}
		require.Contains(t, rules, c.name)
	})
}
