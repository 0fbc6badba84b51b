package taints

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/program"
)

const tainted = "testdata/devices.yaml"

// Taints of devices are forecast without events: from a slice, and from a rule that is not made yet.
func TestDevices(t *testing.T) {
	for _, form := range []string{"table", "json"} {
		code, out, errs := forecast("", "-f", tainted, "-at", "2026-03-02T08:00:00Z", "-o", form)
		require.Zero(t, code, errs)
		require.Empty(t, errs)
		testkit.Golden(t, "testdata/devices."+form, out)
	}
	line := timeline(t, "", "-f", tainted, "-at", "2026-03-02T09:00:00Z")
	require.Len(t, line.Evictions(), 3, "the hour of default/w3 is over")
	require.Equal(t, "default/w3", line.Evictions()[0].Pod)
	require.Empty(t, line.Pending)
	line = timeline(t, "", "-f", tainted, "-at", "2026-03-02T08:00:00Z", "-stop", "g1", "-until", "2h")
	require.Len(t, line.Evictions(), 3, "the only node is down, which taints nobody")
	require.Contains(t, line.Evictions()[2].Cause, "stays Terminating while the kubelet is silent")
}

// Without a taint of a device there must be an event, and the time must be one.
func TestDevicesRefused(t *testing.T) {
	for _, args := range [][]string{{"-f", shop}, {"-f", tainted, "-n", "none", "-at", "today"}} {
		code, out, errs := forecast("", args...)
		require.Equal(t, program.BadInput, code)
		require.Empty(t, out)
		require.True(t, strings.Contains(errs, "no taint of a device makes a pod leave") || strings.Contains(errs, `-at: Invalid value: "today"`), errs)
	}
}
