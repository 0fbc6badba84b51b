package upgrade_test

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/podberth/podberth/tools/upgrade"
)

// A pod that no node can take gets another message in v1.37.
func ExampleRun() {
	upgrade.Run(context.Background(), []string{"-f", "-", "-from", "1.36", "-to", "1.37", "-o", "yaml"}, strings.NewReader(`
{apiVersion: v1, kind: Pod, metadata: {name: db}, spec: {containers: [{name: c, resources: {requests: {cpu: "3", memory: 1Gi}}}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}, status: {allocatable: {cpu: "2", memory: 8Gi, pods: "10"}}}
`), firstLines{os.Stdout}, io.Discard)
	// Output:
	// pods:
	// - changes:
	//   - message
	//   from:
	//     message: '0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate,
	//       preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.'
}

// firstLines prints the lines of the first pod's state before.
type firstLines struct{ io.Writer }

func (w firstLines) Write(b []byte) (int, error) {
	_, after, _ := strings.Cut(string(b), "\npods:\n")
	lines := strings.SplitAfter("pods:\n"+after, "\n")
	_, err := io.WriteString(w.Writer, strings.Join(lines[:min(6, len(lines))], ""))
	return len(b), err
}
