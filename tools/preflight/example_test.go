package preflight_test

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/podberth/podberth/tools/preflight"
)

// The budget lets its only pod never leave, so that its node cannot be drained.
func ExampleRun() {
	preflight.Run(context.Background(), []string{"-f", "-", "-from", "1.36", "-to", "1.37"}, strings.NewReader(`
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: n2}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: api, labels: {app: api}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: api, uid: api, controller: true}]}, spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: "1", memory: 1Gi}}}]}, status: {phase: Running}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: api}, spec: {minAvailable: 1, selector: {matchLabels: {app: api}}}}
`), os.Stdout, io.Discard)
	// Output:
	// 1.36 -> 1.37: not now; 1 of 2 nodes can be drained one after the other in 0s; 1 of 1 pod would hang for ever; 1 budget in the way: default/api
	//
	// Blocked
	// default/api on n1 (never)
	//   cause: budget default/api demands 1 healthy pods of 1 expected: 1 - 1 leaves none to disrupt
	//   helps: minAvailable 0 in place of 1 in budget default/api
}
