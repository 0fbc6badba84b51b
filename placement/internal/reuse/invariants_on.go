//go:build invariants

package reuse

// checking: Decide checks the invariants after every so many answers, and panics with the first that does not hold.
const checking = 8
