//go:build k1_36

package trial

import "github.com/podberth/podberth/release"

// Linked is the release of the Kubernetes code that the tests are compiled with.
const Linked = release.V1_36
