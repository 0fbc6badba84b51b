package place

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Replicas that are counted have the row and the numbers that they have when they are made: a timeline makes all.
func TestCountedReplicasAreAsIfMade(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.yaml")
	require.NoError(t, os.WriteFile(none, []byte("[]\n"), 0o600))
	run := func(in string, args ...string) string {
		var out, errs strings.Builder
		require.Equal(t, 0, Run(t.Context(), append([]string{"-f", "-", "-expand"}, args...), strings.NewReader(in), &out, &errs), errs.String())
		return out.String() + errs.String()
	}
	counted := 0
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 1))
		var in strings.Builder
		for n := range 1 + r.IntN(3) {
			fmt.Fprintf(&in, "---\n{apiVersion: v1, kind: Node, metadata: {name: n%d, labels: {kubernetes.io/hostname: n%d}}, status: {allocatable: {cpu: %d, memory: 4Gi, pods: %d}}}\n", n, n, r.IntN(4), r.IntN(6))
			if r.IntN(2) == 0 {
				fmt.Fprintf(&in, "---\n{apiVersion: v1, kind: Pod, metadata: {name: low%d, namespace: d}, spec: {nodeName: n%d, priority: -1, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}\n", n, n)
			}
		}
		for k := range 1 + r.IntN(3) {
			rules := []string{"", "schedulingGates: [{name: a.b/c}], ", "schedulerName: other, ", "nodeSelector: {a: b}, ",
				"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: w0}}}]}}, ",
				"topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: w0}}}], "}[r.IntN(6)]
			fmt.Fprintf(&in, "---\n{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: w%d, namespace: d}, spec: {replicas: %d, selector: {matchLabels: {app: w%d}}, template: {metadata: {labels: {app: w%d}}, spec: {%scontainers: [{name: c, image: i, resources: {requests: {cpu: %dm}}}]}}}}\n",
				k, 900+r.IntN(400), k, k, rules, 250*r.IntN(6))
		}
		require.Equal(t, run(in.String(), "-timeline", none), run(in.String()), "seed %d\n%s", seed, in.String())
		if strings.Contains(run(in.String(), "-o", "json"), `"more"`) {
			counted++
			why := []string{"-n", "d", "-explain", "replicaset/w0", "-o", "json"}
			require.Equal(t, run(in.String(), append(why, "-timeline", none)...), run(in.String(), why...), "seed %d\n%s", seed, in.String())
		}
	}
	require.Greater(t, counted, 1, "clusters with counted replicas")
}

// 100,000 replicas for which there is no room cost what the room does.
func TestCountedReplicasCostNothing(t *testing.T) {
	in := "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, memory: 4Gi, pods: 110}}}\n---\n" +
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: d}, spec: {replicas: 100000, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}}}}\n"
	for want, args := range map[string][]string{
		"40 scheduled, 99960 unschedulable, 0 gated, 0 victims": nil,
		`"more": 99000`: {"-o", "json"},
		"Pod d/web-":    {"-explain", "deployment/web", "-n", "d"},
	} {
		var out, errs strings.Builder
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		require.Equal(t, 0, Run(t.Context(), append([]string{"-f", "-", "-expand"}, args...), strings.NewReader(in), &out, &errs), errs.String())
		runtime.ReadMemStats(&after)
		require.Contains(t, out.String(), want)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(60<<20))
	}
}
