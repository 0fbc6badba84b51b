package testkit

import (
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// Tests make many objects that live for a moment. A third of their processor time went to the garbage collector, so it begins later: when
// the memory is five times, not twice, what is in use. Benchmarks and an explicit GOGC keep what they have.
func init() {
	bench := slices.ContainsFunc(os.Args, func(arg string) bool { return strings.HasPrefix(arg, "-test.bench") })
	if testing.Testing() && !bench && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
