//go:build !invariants

package reuse

// checking 0: Decide does not check the invariants.
const checking = 0
