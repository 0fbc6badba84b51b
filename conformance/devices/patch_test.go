//go:build !k1_37_0

package devices

// first is true beside v1.37.0, whose differences to later patches are listed in docs/fidelity/versions.
const first = false
