package taints

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/eviction/taint"
	"github.com/podberth/podberth/tools/program"
)

// The flags of the controller are its configuration, and a flag that is not given is not set.
func TestControllerFlags(t *testing.T) {
	parse := func(args string) (options, error) {
		return parseFlags(append([]string{"-f", "x", "-stop", "n"}, strings.Fields(args)...), &strings.Builder{})
	}
	o, err := parse("")
	require.NoError(t, err)
	require.Equal(t, taint.Config{}, o.config)
	require.Negative(t, o.until)
	o, err = parse("-node-monitor-period 100ms -node-monitor-grace-period 2s -node-startup-grace-period 3s -node-eviction-rate 0.5 -secondary-node-eviction-rate 0.25 -unhealthy-zone-threshold 0.75 -large-cluster-size-threshold 7")
	require.NoError(t, err)
	half, quarter, most, seven := float32(0.5), float32(0.25), float32(0.75), 7
	require.Equal(t, taint.Config{MonitorPeriod: 100 * time.Millisecond, GracePeriod: 2 * time.Second, StartupGrace: 3 * time.Second, EvictionRate: &half, SecondaryRate: &quarter, UnhealthyThreshold: &most, LargeCluster: &seven}, o.config)
	for args, want := range map[string]string{
		"-node-monitor-period 99999999ns":    `-node-monitor-period: Invalid value: "99.999999ms": must be at least 100ms`,
		"-node-monitor-period -1ns":          `-node-monitor-period: Invalid value: "-1ns": must be at least 100ms`,
		"-node-eviction-rate 1e39":           `invalid value "1e39" for flag -node-eviction-rate: must be a number; see taints -h`,
		"-large-cluster-size-threshold many": `invalid value "many" for flag -large-cluster-size-threshold: must be an integer; see taints -h`,
		"-no-headers -o json":                "-no-headers: Invalid value: true: goes with tables",
	} {
		_, err := parse(args)
		require.EqualError(t, err, want)
	}
	for _, args := range [][]string{{"-stop", "a", "-stop-zone", "b"}, {"-stop-zone", "b"}, {"-events", "e"}, {"-events", "-"}} {
		_, err := parseFlags(append([]string{"-f", "x"}, args...), &strings.Builder{})
		require.NoError(t, err, args)
	}
}

// The page names the pods that still wait. -strict minds warnings, and none is no error. Nodes that cannot be are one.
func TestWaitingPods(t *testing.T) {
	code, out, errs := forecast("", "-f", shop, "-events", "testdata/events.yaml", "-admit", "-until", "7m", "-o", "html", "-strict")
	require.Zero(t, code, errs)
	require.Contains(t, out, "unless its taints go")
	const node = "{apiVersion: v1, kind: Node, metadata: {name: n1}}\n"
	const pod = "---\n{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: n1, containers: [{name: c}]}}\n"
	for _, c := range []struct {
		input string
		code  int
		want  string
	}{
		{node + pod, program.OK, ""},
		{node + pod + strings.NewReplacer("n1", "n9", "name: p", "name: q").Replace(pod), program.BadInput, "n9"},
		{node + strings.Replace(pod, "spec:", "mood: good, food: good, spec:", 1), program.BadInput, "food"},
	} {
		code, _, errs := forecast(c.input, "-f", "-", "-stop", "n1", "-strict", "-admit")
		require.Equal(t, c.code, code, errs)
		require.Contains(t, errs, c.want)
	}
}
