package conformance

import (
	"testing"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
)

// Plans of planning/packing are carried out: kube-scheduler accepts every pod on the node of the plan when the pods that the plan moves
// and evicts have left. A tenth of the clusters has pods with volumes.
func TestPackingPlans(t *testing.T) {
	run(t, gen.Count(150, 20), func(seed int64) *gen.Cluster {
		shape := gen.Shape{Nodes: 5, Running: 20, Pending: 6, Crowded: true}
		switch seed % 10 {
		case 1, 2, 3:
			shape.Crowded, shape.Urgent, shape.Focus = false, true, gen.PodAffinity
		case 4, 5:
			shape.Crowded, shape.Urgent, shape.Focus = false, true, gen.Spread
		case 6:
			shape.Volumes, shape.Focus = true, gen.Volumes
		}
		return gen.Of(seed, shape)
	}, defaultProfile(t), (*compare.Side).Packing)
}
