package consolidate_test

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/podberth/podberth/tools/consolidate"
)

// The pod of the dear node fits on the cheap node.
func ExampleRun() {
	consolidate.Run(context.Background(), []string{"-f", "-", "-price-label", "price"}, strings.NewReader(`
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1, price: "0.10"}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: n2, price: "0.25"}}, status: {allocatable: {cpu: "8", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: web, controller: true}]}, spec: {nodeName: n2, containers: [{name: c, resources: {requests: {cpu: "1", memory: 1Gi}}}]}, status: {phase: Running}}
`), os.Stdout, io.Discard)
	// Output:
	// 1 of 2 nodes can be emptied with 1 move in 1 wave
	// cost 0.35, then 0.1; no plan is below 0.1: at most 0.0 % is missed
	//
	// Stay
	// NODE   POD           WHY
	// n1     default/web   no other node takes the pod: no other node is left
	//
	// Empty
	// NODE   SAVES   MOVES   REMOVE
	// n2     0.25    1       after wave 1
	//
	// Moves
	// WAVE   POD           FROM   TO   NEW POD COMES                NODE BY
	// 1      default/web   n2     n1   before the old pod is gone   scheduler
}
