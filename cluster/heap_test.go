package cluster

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// The heap that a snapshot needs beside the API objects: so much for each node, and so much for each pod.
func TestHeap(t *testing.T) {
	if testing.Short() {
		t.Skip("builds 150,000 pods")
	}
	for _, nodes := range []int{1_000, 5_000, 20_000} {
		empty := heapOf(t, nodes, 0)
		perNode := float64(empty) / float64(nodes)
		line := fmt.Sprintf("%d nodes: %.1f MB, %.0f bytes a node", nodes, float64(empty)/1e6, perNode)
		for _, perNodePods := range []int{2, 10, 30} {
			pods := nodes * perNodePods
			if pods > 200_000 {
				continue
			}
			all := heapOf(t, nodes, perNodePods)
			perPod := float64(all-empty) / float64(pods)
			line += fmt.Sprintf("; %d pods: %.1f MB, %.0f bytes a pod", pods, float64(all)/1e6, perPod)
			require.Less(t, perPod, 150.0)
		}
		require.Less(t, perNode, 1000.0)
		t.Log(line)
	}
}

// heapOf returns the heap of a snapshot of so many nodes with so many pods each.
func heapOf(t *testing.T, nodes, perNode int) int64 {
	o := fleet(nodes, perNode)
	before := testkit.Heap()
	s, err := New(o)
	require.NoError(t, err)
	used := int64(testkit.Heap()) - int64(before)
	runtime.KeepAlive(s)
	runtime.KeepAlive(&o)
	return used
}
