package failures

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a failed node allocates grows by few bytes with each node of the cluster: states, orders and exceptions use the memory of the failures before. The
// rest is the order of the nodes and the numbers of label values, which the snapshot gives out.
func TestMemoryOfAFailedNode(t *testing.T) {
	allocated := func(nodes int) float64 {
		p, err := planner(large(nodes, 6))
		require.NoError(t, err)
		const failed = 40
		run := func() {
			_, err := p.Run(p.Nodes()[:failed], Options{})
			require.NoError(t, err)
		}
		run()
		run()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		run()
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / failed
	}
	few, many := allocated(1000), allocated(3000)
	t.Logf("%.0f and %.0f bytes", few, many)
	require.Less(t, (many-few)/2000, 24.0, "bytes for each node of the cluster")
}
