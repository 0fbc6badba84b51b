package place

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// An owner stands for the first of its pods that waits, and else for the first that runs.
func TestExplainOwners(t *testing.T) {
	pod := func(name, kind, owner, hash, node, cpu string) string {
		return fmt.Sprintf("---\n{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: shop, labels: {pod-template-hash: '%s'}, ownerReferences: [{apiVersion: v1, kind: %s, name: %s, uid: u, controller: true}]}, spec: {nodeName: '%s', containers: [{name: c, resources: {requests: {cpu: '%s'}}}]}, status: {phase: %s}}\n",
			name, hash, kind, owner, node, cpu, map[bool]string{true: "Pending", false: "Running"}[node == ""])
	}
	set := "---\n{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-odd, namespace: shop, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}]}}\n"
	job := "---\n{apiVersion: batch/v1, kind: Job, metadata: {name: report-1, namespace: shop, ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: report, uid: c, controller: true}]}}\n"
	input := nodeYAML("n1", "2", "") + set + job + pod("web-a", "ReplicaSet", "web-odd", "1", "n1", "1") + pod("web-b", "ReplicaSet", "web-odd", "1", "", "3") + pod("api-a", "ReplicaSet", "api-1", "1", "", "3") +
		pod("db-0", "StatefulSet", "db", "", "n1", "100m") + pod("report-1-x", "Job", "report-1", "", "", "3")
	for asked, want := range map[string]string{
		"deployment/web": "shop/web-b", "deploy/web": "shop/web-b", "Deployment/api": "shop/api-a", "rs/web-odd": "shop/web-b", "sts/db": "shop/db-0", "job/report-1": "shop/report-1-x", "cronjob/report": "shop/report-1-x",
	} {
		_, out, errs := simulate(t, input, "-f", "-", "-n", "shop", "-explain", asked)
		require.Contains(t, out, "Pod "+want+" ", "%s: %s", asked, errs)
	}
	_, _, errs := simulate(t, input, "-f", "-", "-n", "shop", "-explain", "deployment/none")
	require.Contains(t, errs, `-explain: Not found: "deployment/none"`)
}

// An owner of which no pod waits, and whose controller says that the API server has refused pods, lacks these. One that has all its pods does
// not, whatever a condition says.
func TestPodsThatAnOwnerLacks(t *testing.T) {
	set := func(replicas int, owner string) string {
		return fmt.Sprintf(`---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1, namespace: shop, uid: r%s}, spec: {replicas: %d, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c}]}}},
 status: {conditions: [{type: ReplicaFailure, status: 'True', reason: FailedCreate, message: 'pods "web-1-x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'}]}}
`, owner, replicas)
	}
	runs := "---\n{apiVersion: v1, kind: Pod, metadata: {name: web-1-a, namespace: shop, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: r, controller: true}]}, spec: {nodeName: n1, containers: [{name: c}]}, status: {phase: Running}}\n"
	of := ", ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}]"
	type test struct{ name, why, input, asked, want string }
	testkit.Run(t, []test{
		{"of a ReplicaSet", "one of three runs", set(3, "") + runs, "rs/web-1", "ReplicaSet shop/web-1 has 1 of 3 pods: quota q: pods 1 of 1 used, asks for 1.\n"},
		{"without a pod", "the controller is in the input", set(2, ""), "rs/web-1", "ReplicaSet shop/web-1 has 0 of 2 pods: quota q: pods 1 of 1 used, asks for 1.\n"},
		{"of a Deployment that the input lacks", "its ReplicaSet names it", set(2, of) + runs, "deploy/web", "Deployment shop/web has 1 of 2 pods: quota q: "},
		{"with all its pods", "the condition is old", set(1, "") + runs, "rs/web-1", "Pod shop/web-1-a runs on n1"},
	}, func(t *testing.T, c test) {
		_, out, errs := simulate(t, nodeYAML("n1", "2", "")+c.input, "-f", "-", "-n", "shop", "-explain", c.asked)
		require.Contains(t, out, c.want, errs)
	})
	_, out, _ := simulate(t, nodeYAML("n1", "2", "")+set(3, "")+runs, "-f", "-")
	require.NotContains(t, out, "web-1-x", "only a question about the owner is about such pods")
}
