package testkit

import "testing"

// Rounds returns how many rounds a random test of one goroutine plays: n, and a tenth with -short. The race detector runs with
// -short, and finds nothing in such a test that a tenth does not show.
func Rounds(n int) int {
	if testing.Short() {
		return max(1, n/10)
	}
	return n
}
