package command_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// saidAs runs a command and reads its answer as JSON.
func saidAs(t *testing.T, into any, input string, args ...string) {
	t.Helper()
	_, out, errs := podberth(t, input, append(args, "-f", "-", "-o", "json")...)
	require.NoError(t, json.Unmarshal([]byte(out), into), "%s%s", out, errs)
}

// The cause of a pod that waits is one value, whoever is asked: "why", the new pods of a drain, a failed node, what waits before any failure,
// and the last column of the table of "place". The pages have it too.
func TestOneCause(t *testing.T) {
	world := func(cordon bool, node string) string {
		bound, taint := "", ""
		if node != "" {
			bound = "nodeName: " + node + ","
		}
		if cordon {
			taint = "unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]"
		}
		text := ""
		for k, spec := range []string{taint, ""} {
			text += fmt.Sprintf("---\n{apiVersion: v1, kind: Node, metadata: {name: n%d, labels: {kubernetes.io/hostname: n%d}}, spec: {%s}, status: {allocatable: {cpu: '2', pods: '10'}, conditions: [{type: Ready, status: 'True'}]}}\n", k+1, k+1, spec)
		}
		return text + "---\n{apiVersion: v1, kind: Pod, metadata: {name: busy, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: busy, uid: b, controller: true}]}, spec: {priority: 5, nodeName: n2, containers: [{name: c, image: i, resources: {requests: {cpu: '1'}}}]}, status: {phase: Running}}\n" +
			"---\n{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, uid: d}, spec: {replicas: 1, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: '2'}}}]}}}}\n" +
			"---\n{apiVersion: v1, kind: Pod, metadata: {name: db-0, labels: {app: db}, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: d, controller: true}]}, spec: {priority: 0, " + bound + " containers: [{name: c, image: i, resources: {requests: {cpu: '2'}}}]}, status: {phase: Running}}\n"
	}
	waits := world(true, "")
	var why struct{ Cause map[string]any }
	saidAs(t, &why, waits, "why", "db-0")
	require.Contains(t, why.Cause["text"], "n2 has 1 of 2 free")

	var drain struct {
		Waves []struct {
			Evictions []struct{ Why map[string]any }
		}
	}
	saidAs(t, &drain, world(false, "n1"), "drain", "n1")
	require.Equal(t, why.Cause, drain.Waves[0].Evictions[0].Why)

	var failures struct {
		Before    []struct{ Why map[string]any }
		Scenarios []struct {
			Groups []struct{ Why map[string]any }
		}
	}
	saidAs(t, &failures, waits, "failures", "--scenario", "n1", "--expand")
	require.Equal(t, why.Cause, failures.Before[0].Why)
	saidAs(t, &failures, world(false, "n1"), "failures", "--scenario", "n1")
	lost := failures.Scenarios[0].Groups[0].Why
	for _, key := range []string{"type", "object", "field", "wanted", "found", "nodes"} {
		require.Equal(t, why.Cause[key], lost[key], key) // a failed node is no closed node
	}

	text := why.Cause["text"].(string)
	for name, args := range map[string][]string{
		"place":          {"place", "--width", "200"},
		"why, page":      {"why", "db-0", "-o", "html"},
		"place, page":    {"place", "-o", "html"},
		"failures, text": {"failures", "--scenario", "n1", "--expand", "--width", "200"},
	} {
		_, out, _ := podberth(t, waits, append(args, "-f", "-")...)
		require.Contains(t, strings.Join(strings.Fields(out), " "), text, name)
	}
	for name, args := range map[string][]string{"drain": {"drain", "n1", "--width", "200"}, "drain, page": {"drain", "n1", "-o", "html"}, "failures": {"failures", "--scenario", "n1", "--width", "200"}} {
		_, out, _ := podberth(t, world(false, "n1"), append(args, "-f", "-")...)
		require.Contains(t, strings.Join(strings.Fields(out), " "), "n2 has 1 of 2 free", name)
	}
}
