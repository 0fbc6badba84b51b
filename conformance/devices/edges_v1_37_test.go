//go:build !k1_36

package devices

import "k8s.io/dynamic-resource-allocation/structured"

func setFractional(f *structured.Features, on bool) { f.FractionalCapacityRange = on }
