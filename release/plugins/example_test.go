package plugins_test

import (
	"fmt"

	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/release/plugins"
)

// The scores of the default profile, in the order in which kube-scheduler asks them.
func ExampleDefaultAt() {
	for _, name := range plugins.DefaultAt(release.Current, "Score") {
		fmt.Println(name)
	}
	// Output:
	// TaintToleration
	// NodeAffinity
	// NodeResourcesFit
	// VolumeBinding
	// PodTopologySpread
	// InterPodAffinity
	// DynamicResources
	// NodeResourcesBalancedAllocation
	// ImageLocality
}
