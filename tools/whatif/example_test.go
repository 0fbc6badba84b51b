package whatif_test

import (
	"context"
	"os"
	"strings"

	"github.com/podberth/podberth/tools/whatif"
)

const dump = `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: "2", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-0, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: web, uid: w, controller: true}]}, spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: big-0, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: big, uid: b, controller: true}]}, spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: "3"}}}]}}
`

// A node goes: one of its pods finds another node, one does not.
func Example() {
	whatif.Run(context.Background(), []string{"-f=-", "-remove-node=n1"}, strings.NewReader(dump), os.Stdout, &strings.Builder{})
	// Output:
	// pods without a node: 1 (before: 0); because of the changes: 1; move: 1
	//
	// Wait
	// POD             SINCE    FROM   MESSAGE
	// default/big-0   change   n1     0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.
	//
	// Move
	// POD             FROM   TO
	// default/web-0   n1     n2
}
