package testkit

import "testing"

// Sequential skips a test with -short, which is how the race detector runs: the test takes long, and nothing in it runs beside something
// else.
func Sequential(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long, and nothing in it runs beside something else")
	}
}
