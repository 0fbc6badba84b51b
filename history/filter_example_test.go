package history_test

import (
	"fmt"

	"github.com/podberth/podberth/history"
)

// Which of today's plugins do the work of the predicates of a scheduling policy?
func ExampleFindOldFilter() {
	for _, name := range []string{"PodFitsResources", "MaxEBSVolumeCount", "CheckServiceAffinity"} {
		today, known := history.FindOldFilter(name)
		fmt.Printf("%t %v %q\n", known, today.Plugins, today.Note)
	}
	// Output:
	// true [NodeResourcesFit] ""
	// true [NodeVolumeLimits] "NodeVolumeLimits does it; limits come from the node's CSINode; volumes of the in-tree kind count as those of its CSI driver"
	// true [] "removed in v1.23 without a successor; node affinity or a plugin of one's own does it"
}
