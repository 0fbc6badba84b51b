//go:build !k1_37

package trial

import "github.com/podberth/podberth/release"

// Linked is the release of the Kubernetes code that the tests are compiled with.
const Linked = release.V1_36
