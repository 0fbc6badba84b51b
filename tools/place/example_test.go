package place_test

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/podberth/podberth/tools/place"
)

// A pod that asks for three processors fits on the larger node only.
func ExampleRun() {
	place.Run(context.Background(), []string{"-f", "-"}, strings.NewReader(`
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1, topology.kubernetes.io/zone: a}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: n2, topology.kubernetes.io/zone: a}}, status: {allocatable: {cpu: "2", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: db}, spec: {containers: [{name: c, resources: {requests: {cpu: "3", memory: 1Gi}}}]}}
`), os.Stdout, io.Discard)
	// Output:
	// NAMESPACE   NAME   PRIORITY   OUTCOME     NODE   MESSAGE
	// default     db     0          Scheduled   n1
	//
	// 1 scheduled, 0 unschedulable, 0 gated, 0 victims
}
