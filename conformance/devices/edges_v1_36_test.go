//go:build k1_36

package devices

import "k8s.io/dynamic-resource-allocation/structured"

// setFractional does nothing: v1.36 has no DRAFractionalCapacityRange.
func setFractional(*structured.Features, bool) {}
