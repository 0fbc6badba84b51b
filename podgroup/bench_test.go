package podgroup

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// BenchmarkPlacements divides 5,000 nodes into 50 racks.
func BenchmarkPlacements(b *testing.B) {
	var cluster nodes
	for k := range 5000 {
		cluster = append(cluster, testkit.Node(fmt.Sprintf("n%d", k)).Label("rack", fmt.Sprint(k%50)).Obj())
	}
	within, none := cluster.all(), on()
	for b.Loop() {
		p, err := Placements(cluster, within, "rack", none)
		require.NoError(b, err)
		require.Len(b, p, 50)
	}
}

// BenchmarkTree builds a tree of 101 groups beside 1,000 other groups.
func BenchmarkTree(b *testing.B) {
	w := &world{}
	w.composite("job", "", 1)
	for k := range 100 {
		w.group(fmt.Sprintf("g%d", k), "job", 1)
	}
	for k := range 1000 {
		w.group(fmt.Sprintf("other%d", k), "", 1)
	}
	for b.Loop() {
		tree, err := TreeOf(w, "default", "g7", composites)
		require.NoError(b, err)
		require.Len(b, tree.Nodes(), 101)
	}
}

var _ Nodes = nodes(nil)

// BenchmarkCheck checks 1,000 members.
func BenchmarkCheck(b *testing.B) {
	var pods []*v1.Pod
	for k := range 1000 {
		pods = append(pods, testkit.Pod(fmt.Sprint(k)).Obj())
	}
	for b.Loop() {
		require.NoError(b, Check(&Spec{}, pods, nil, Gates{}))
	}
}
