package drain_test

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/podberth/podberth/tools/drain"
)

// The replacement of an evicted pod goes to the other node.
func ExampleRun() {
	drain.Run(context.Background(), []string{"-f", "-", "n2"}, strings.NewReader(`
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1, topology.kubernetes.io/zone: a}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: n2, topology.kubernetes.io/zone: a}}, status: {allocatable: {cpu: "2", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: web, controller: true}]}, spec: {nodeName: n2, containers: [{name: c, resources: {requests: {cpu: "1", memory: 1Gi}}}]}, status: {phase: Running}}
`), os.Stdout, io.Discard)
	// Output:
	// 1 of 1 pod leaves in 1 wave
	//
	// Wave 1
	// NODE   POD           BUDGET   REPLACEMENT ON
	// n2     default/web   -        n1
}
