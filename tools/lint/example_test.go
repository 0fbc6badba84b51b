package lint_test

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/podberth/podberth/tools/lint"
)

// A toleration of a taint that no node has is worth a note.
func ExampleRun() {
	lint.Run(context.Background(), []string{"-f", "-"}, strings.NewReader(`
{apiVersion: v1, kind: Pod, metadata: {name: db}, spec: {tolerations: [{key: disk, operator: Exists}], containers: [{name: c, resources: {requests: {cpu: "3", memory: 1Gi}}}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1, topology.kubernetes.io/zone: a}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: n2, topology.kubernetes.io/zone: a}}, status: {allocatable: {cpu: "2", memory: 8Gi, pods: "10"}}}
---
`), os.Stdout, io.Discard)
	// Output:
	// info: Pod default/db: toleration-unused: spec.tolerations[0]
	//   no node has a taint that it tolerates
	//   fix: drop the toleration, or mend its key, value or effect
	// 0 errors, 0 warnings, 1 note
}
