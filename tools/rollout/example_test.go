package rollout_test

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/podberth/podberth/tools/rollout"
)

// The pod leaves n2 while n2 is replaced. The budget of api demands its only pod, so n1 is left as it is.
func ExampleRun() {
	rollout.Run(context.Background(), []string{"-f", "-", "-start", "5s", "-renew", "1m"}, strings.NewReader(`
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: n2}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: web, controller: true}]}, spec: {nodeName: n2, containers: [{name: c, resources: {requests: {cpu: "1", memory: 1Gi}}}]}, status: {phase: Running}}
---
{apiVersion: v1, kind: Pod, metadata: {name: api, labels: {app: api}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: api, uid: api, controller: true}]}, spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: "1", memory: 1Gi}}}]}, status: {phase: Running}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: api}, spec: {minAvailable: 1, selector: {matchLabels: {app: api}}}}
`), os.Stdout, io.Discard)
	// Output:
	// 1 of 2 pods leave, 1 node new after 1m30s; 1 hangs for ever: default/api, budget default/api demands 1 healthy pods of 1 expected: 1 - 1 leaves none to disrupt; 1 node blocked
	//
	// Blocked
	// NODES   KIND    OWNER            PODS          PROOF
	// n1      never   ReplicaSet api   default/api   budget default/api demands 1 healthy pods of 1 expected: 1 - 1 leaves none to disrupt
	//
	// FROM   EMPTY   UNTIL   ACTION    NODES   WAVES   PODS   LEAST ROOM
	// 0s     30s     1m30s   replace   n2      1       1      -
	//
	// Moves
	// AT   WAVE   POD           FROM   TO   READY
	// 0s   1      default/web   n2     n1   5s
	//
	// Remedies
	// PODS          CHANGE                                               THEN
	// default/api   minAvailable 0 in place of 1 in budget default/api   the pods leave
}
