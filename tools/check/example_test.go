package check_test

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/podberth/podberth/tools/check"
)

// A running pod selects a label that its node has lost.
func ExampleRun() {
	check.Run(context.Background(), []string{"-f", "-"}, strings.NewReader(`
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: db}, spec: {nodeName: n1, nodeSelector: {disk: ssd}, containers: [{name: c}]}}
`), os.Stdout, io.Discard)
	// Output:
	// Pods on nodes that would reject them now: 1 of 1
	// Likely mistakes in spread constraints: 0 in 0 groups of pods
	//
	// POD          NODE   PLUGIN         WHY
	// default/db   n1     NodeAffinity   node(s) didn't match Pod's node affinity/selector (node selector: the node lacks disk=ssd)
}
