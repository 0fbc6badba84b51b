package drain

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

var apiVersions = map[string]string{"ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "Job": "batch/v1", "Rollout": "example.com/v1"}

// randomCluster is three nodes, pods of every kind, budgets with and without a status, and some of the controllers.
func randomCluster(b *testkit.Bytes) (objects string, pods []string) {
	var out strings.Builder
	object := func(format string, args ...any) { fmt.Fprintf(&out, "{"+format+"}\n---\n", args...) }
	for _, n := range []string{"n1", "n2", "n3"} {
		object("apiVersion: v1, kind: Node, metadata: {name: %s, labels: {kubernetes.io/hostname: %s}}, status: {allocatable: {cpu: '%d', memory: 8Gi, pods: '10'}}", n, n, testkit.Pick(b, 1, 2, 4))
	}
	kinds := map[string]string{"a": testkit.Pick(b, "ReplicaSet", "StatefulSet"), "b": testkit.Pick(b, "ReplicaSet", "DaemonSet", "Job"), "c": testkit.Pick(b, "", "Rollout")}
	known := map[string]bool{}
	for i := range 3 + b.Below(5) {
		app := testkit.Pick(b, "a", "a", "a", "a", "b", "c")
		kind, owner, more, meta := kinds[app], "", "", ""
		if kind != "" {
			owner = fmt.Sprintf(", ownerReferences: [{apiVersion: %s, kind: %s, name: %s, uid: %s, controller: true}]", apiVersions[kind], kind, app, app)
		}
		switch b.Below(10) {
		case 0:
			more = ", schedulerName: other"
		case 1:
			more = ", volumes: [{name: v, emptyDir: {}}]"
		case 2:
			more = ", schedulingGates: [{name: g}]"
		}
		if b.OneIn(15) {
			meta = ", deletionTimestamp: '2026-03-02T07:00:00Z', deletionGracePeriodSeconds: 30"
		}
		if b.OneIn(15) {
			meta = ", annotations: {kubernetes.io/config.mirror: x}"
		}
		node := testkit.Pick(b, "nodeName: n1, ", "nodeName: n1, ", "nodeName: n2, ", "")
		if node != "" {
			more = strings.Replace(more, ", schedulingGates: [{name: g}]", "", 1)
		}
		const ready = "phase: Running, conditions: [{type: Ready, status: 'True'}]"
		status := testkit.Pick(b, ready, ready, ready, ready, ready, "phase: Running", "phase: Pending", "phase: Failed", "phase: Succeeded")
		name := fmt.Sprintf("%s-%d", app, i)
		pods = append(pods, "x/"+name)
		object("apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: x, uid: %s, labels: {app: %s}%s%s}, spec: {%scontainers: [{name: c, resources: {requests: {cpu: '%d'}}}]%s}, status: {%s}", name, name, app, owner, meta, node, testkit.Pick(b, 0, 1, 1), more, status)
		if kind != "" && kind != "Rollout" && !known[app] && !b.OneIn(4) {
			known[app] = true
			object("apiVersion: %s, kind: %s, metadata: {name: %s, namespace: x, uid: %s}, spec: {%s template: {metadata: {labels: {app: %s}}, spec: {containers: [{name: c}]}}}", apiVersions[kind], kind, app, app,
				map[string]string{"ReplicaSet": "replicas: 3,", "StatefulSet": "replicas: 3, serviceName: s,", "Job": "parallelism: 2,"}[kind], app)
		}
	}
	for i := range testkit.Pick(b, 0, 1, 1, 2) {
		app := testkit.Pick(b, "a", "a", "a", "a", "b", "c", "d")
		status := ""
		switch b.Below(4) {
		case 1:
			status = fmt.Sprintf(", status: {observedGeneration: %d, currentHealthy: %d, desiredHealthy: %d, expectedPods: %d, disruptionsAllowed: %d}", 1+b.Below(2), b.Below(4), b.Below(4), b.Below(4), b.Below(2))
		case 2:
			status = ", status: {observedGeneration: 2, conditions: [{type: DisruptionAllowed, status: 'False', reason: SyncFailed, message: no controllers, lastTransitionTime: '2026-03-02T07:00:00Z'}]}"
		}
		object("apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b%d, namespace: x, generation: 2}, spec: {%s, selector: {matchLabels: {app: %s}}}%s", i, testkit.Pick(b, "maxUnavailable: 1", "maxUnavailable: 0", "minAvailable: 2", "minAvailable: 1", "minAvailable: 50%", "minAvailable: 2"), app, status)
	}
	return out.String(), pods
}

// The plans of random clusters, and what the Eviction API says about their pods, are in testdata/random.txt.
func TestRandomDrains(t *testing.T) {
	var out strings.Builder
	for seed := range uint64(50) {
		b := testkit.NewBytes(testkit.RandomBytes(seed, 400))
		objects, pods := randomCluster(b)
		args := append([]string{"-f", "-", "-at", "2026-03-02T08:00:00Z", "-no-headers"}, testkit.Pick(b, all, all, all, all, all[1:], nil)...)
		args = append(args, testkit.Pick(b, []string{"n1"}, []string{"n1", "n2"}, []string{"n1", "-grace-period", "0"}, []string{"n1", "-skip-wait-for-delete-timeout", "60"}, []string{"n1", "-expand"})...)
		code, plan, errs := drain(objects, args...)
		fmt.Fprintf(&out, "==== %d, exit code %d\n%s%s", seed, code, plan, errs)
		for _, pod := range pods {
			_, text, _ := drain(objects, "-f", "-", "-at", "2026-03-02T08:00:00Z", "-evict", pod, "-o", "json")
			var a answered
			require.NoError(t, json.Unmarshal([]byte(text), &a))
			fmt.Fprintf(&out, "%s: %d, %s, %s%s: %s\n", pod, a.Code, a.Outlook, a.Bypass, a.Budgets, strings.Join(append([]string{a.Cause}, a.Remedies[:min(1, len(a.Remedies))]...), "; "))
		}
	}
	testkit.Golden(t, "testdata/random.txt", out.String())
}
