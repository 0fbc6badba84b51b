package taints_test

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/podberth/podberth/tools/taints"
)

// The kubelet of a node falls silent.
func ExampleRun() {
	taints.Run(context.Background(), []string{"-f", "-", "-stop", "n2", "-admit"}, strings.NewReader(`
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1, topology.kubernetes.io/zone: a}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: n2, topology.kubernetes.io/zone: a}}, status: {allocatable: {cpu: "2", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: web, controller: true}]}, spec: {nodeName: n2, containers: [{name: c, resources: {requests: {cpu: "1", memory: 1Gi}}}]}, status: {phase: Running}}
`), os.Stdout, io.Discard)
	// Output:
	// 1 pod is evicted from 1 node, at 5m55s; 0 leave later, 0 stay
	//
	// AT      NODE   POD           WHAT       CAUSE
	// 0s      n2     -             event      heartbeats stop
	// 55s     n2     -             unknown    Kubelet stopped posting node status.
	// 55s     n2     -             notReady   its pods get Ready=False
	// 55s     n2     -             tainted    node.kubernetes.io/unreachable:NoSchedule
	// 55s     n2     -             tainted    node.kubernetes.io/unreachable:NoExecute
	// 55s     n2     default/web   started    node.kubernetes.io/unreachable:NoExecute, until 5m55s
	// 5m55s   n2     default/web   evicted    node.kubernetes.io/unreachable:NoExecute: time is up; stays Terminating while the kubelet is silent
}
