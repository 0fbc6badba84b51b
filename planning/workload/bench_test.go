package workload

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// 5,000 nodes with ten DaemonSets, and 10,000 Deployments that each lack one of three pods.
func BenchmarkMake5000(b *testing.B) {
	o := many(10000)
	for i := range 5000 {
		o.Nodes = append(o.Nodes, nodes(fmt.Sprintf("n%d", i))...)
	}
	for i := range 10 {
		d := daemonSet(fmt.Sprintf("agent%d", i))
		o.DaemonSets = append(o.DaemonSets, d)
		for _, n := range o.Nodes[:len(o.Nodes)/2] {
			o.Pods = append(o.Pods, pod("DaemonSet", d.Name, d.Name+"-"+n.Name, on(n.Name)))
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		made, err := Make(o, Options{})
		require.NoError(b, err)
		require.Len(b, made.Pods, 10000+10*2500)
	}
}
