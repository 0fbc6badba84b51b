package place

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
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
