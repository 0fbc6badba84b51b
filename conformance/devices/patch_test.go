//go:build !k1_37_0

package devices

// first is true beside v1.37.0, whose differences to later patches are listed in docs/versions.md.
const first = false

// tooMany is part of the text about too many devices. v1.37.0 adds the numbers of all requests first, and the sum may wrap around.
const tooMany = "exceeds the claim limit of"
