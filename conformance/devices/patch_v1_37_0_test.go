//go:build k1_37_0

package devices

const first = true
