package testkit

import (
	"os"
	"strconv"
	"testing"
)

// Rounds returns how many rounds a random test of one goroutine plays: n times the number in PODBERTH_ROUNDS, and a tenth with -short. The
// race detector runs with -short, and finds nothing in such a test that a tenth does not show.
func Rounds(n int) int {
	if text := os.Getenv("PODBERTH_ROUNDS"); text != "" {
		times, err := strconv.Atoi(text)
		if err != nil || times < 1 {
			panic("PODBERTH_ROUNDS is no number of 1 or more: " + text)
		}
		n *= times
	}
	if testing.Short() {
		return max(1, n/10)
	}
	return n
}
