package near_test

import (
	"fmt"

	"github.com/podberth/podberth/diagnose/near"
)

// A label key with a typing error, and the keys that the nodes have.
func ExampleNames() {
	keys := []string{"kubernetes.io/hostname", "topology.kubernetes.io/zone", "example.com/pool"}
	fmt.Println(near.Names("topology.kubernetes.io/zones", keys))
	// Output:
	// [topology.kubernetes.io/zone]
}
