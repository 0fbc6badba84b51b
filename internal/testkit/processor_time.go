package testkit

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ProcessorTime returns how long this process has used processors. Unlike the time that passes, it does not grow while other programs run.
func ProcessorTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
