package place

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// hardCluster is one node with devices, the pod hard with a claim, and the pod other without one.
func hardCluster(t *testing.T, devices, sets, claim string) string {
	count := 1 + strings.Count(sets, "kind: ResourceSlice")
	text := fmt.Sprintf(`
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "8", memory: 8Gi, pods: "20"}}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: n1}, spec: {driver: a, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: %d}, devices: [%s]}}
%s---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {namespace: default, name: hard, uid: hard}, spec: {devices: %s}}
---
{apiVersion: v1, kind: Pod, metadata: {namespace: default, name: hard, uid: a}, spec: {containers: [{name: c, image: c}], resourceClaims: [{name: hard, resourceClaimName: hard}]}}
---
{apiVersion: v1, kind: Pod, metadata: {namespace: default, name: other, uid: b}, spec: {containers: [{name: c, image: c}]}}
`, count, devices, sets, claim)
	path := filepath.Join(t.TempDir(), "hard.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// listed returns n texts with commas between.
func listed(n int, text func(k int) string) string {
	var out []string
	for k := range n {
		out = append(out, text(k))
	}
	return strings.Join(out, ", ")
}

// Claims that take kube-scheduler longer than filterTimeout are decided or cut: the other pod is placed, and -explain ends.
func TestHardDevices(t *testing.T) {
	pairs := func(n int) string {
		return listed(n, func(k int) string {
			return fmt.Sprintf("{name: d%d, attributes: {g: {int: 1}, h: {int: %d}}}", k, k%2)
		})
	}
	request := func(k, count int, g string) string {
		return fmt.Sprintf(`{name: r%d, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: %d, selectors: [{cel: {expression: "device.attributes['a'].g == %s"}}]}}`, k, count, g)
	}
	ninth := "{requests: [" + listed(8, func(k int) string { return request(k, 2, "1") }) + ", " + request(8, 1, "2") + "]}"
	eight := "{constraints: [{distinctAttribute: a/h}], requests: [" + listed(8, func(k int) string {
		return fmt.Sprintf("{name: r%d, firstAvailable: [%s]}", k, listed(8, func(j int) string {
			return fmt.Sprintf("{name: s%d, deviceClassName: gpu, allocationMode: ExactCount, count: 1}", j)
		}))
	}) + "]}"
	sums := listed(30, func(k int) string {
		return fmt.Sprintf(`{name: d%d, consumesCounters: [{counterSet: set, counters: {c: {value: "%d"}}}]}`, k, 1000+k)
	})
	sets := `---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: n1-sets}, spec: {driver: a, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 2}, sharedCounters: [{name: set, counters: {c: {value: "9500"}}}]}}
`
	const none = "0/1 nodes are available: 1 cannot allocate all claims."
	type test struct{ name, why, cluster, message, explained string }
	testkit.Run(t, []test{
		{"a ninth request", "no device has g 2", hardCluster(t, pairs(16), "", ninth), none, "claim default/hard, request r8: wants 1, 0 of 16 devices left"},
		{"eight alternatives", "h has two values for eight requests", hardCluster(t, pairs(16), "", eight), none, "ResourceClaim default/hard, made again: drop spec.devices.constraints[0] (distinctAttribute a/h): then it goes to n1"},
		{"eight alternatives of 32 devices", "the same", hardCluster(t, pairs(32), "", eight), none, "ResourceClaim default/hard, made again: drop spec.devices.constraints[0] (distinctAttribute a/h): then it goes to n1"},
		{"sums", "too many combinations", hardCluster(t, sums, sets, "{requests: [{name: r, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 10}}]}"),
			"node n1: the search for devices was cut after 100000 steps; kube-scheduler searches until its filterTimeout and then fails: timed out trying to allocate devices", "was cut after 100000 steps"},
	}, func(t *testing.T, c test) {
		_, out, errs := simulate(t, "", "-f", c.cluster, "-o", "json")
		var have struct{ Attempts []entry }
		require.NoError(t, json.Unmarshal([]byte(out), &have), errs)
		require.Len(t, have.Attempts, 2)
		require.Equal(t, "hard", have.Attempts[0].Name)
		require.Contains(t, have.Attempts[0].Message, c.message)
		require.Equal(t, "n1", have.Attempts[1].Node, "the other pod is placed")
		_, out, errs = simulate(t, "", "-f", c.cluster, "-explain", "default/hard")
		require.Contains(t, strings.Join(strings.Fields(out), " "), c.explained, errs)
	})
}
