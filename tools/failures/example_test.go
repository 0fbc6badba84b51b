package failures_test

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/podberth/podberth/tools/failures"
)

// The pod of a node that fails comes back on the other node.
func ExampleRun() {
	failures.Run(context.Background(), []string{"-f", "-", "-scenario", "n2"}, strings.NewReader(`
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1, topology.kubernetes.io/zone: a}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: n2, topology.kubernetes.io/zone: a}}, status: {allocatable: {cpu: "2", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: web, controller: true}]}, spec: {nodeName: n2, containers: [{name: c, resources: {requests: {cpu: "1", memory: 1Gi}}}]}, status: {phase: Running}}
`), os.Stdout, io.Discard)
	// Output:
	// 1 scenario, none leaves pods pending
	// alert on cpu is silent: requests 1, nodes without the largest 2
	// alert on memory is silent: requests 1Gi, nodes without the largest 8Gi
	//
	// SCENARIO   LOST   BACK   PENDING   DISPLACED   GONE   CPU LEFT   MEMORY LEFT
	// n2         1      1      0         0           0      3          7Gi
}
