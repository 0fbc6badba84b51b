package place

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// The pods of a shipped cluster with GPUs: each allocation reaches the pods after it, and the key allocations says who got what.
func TestDevices(t *testing.T) {
	const cluster = "testdata/devices.yaml"
	code, out, errs := simulate(t, "", "-f", cluster, "-o", "json")
	require.Zero(t, code, errs)
	var have struct{ Attempts []entry }
	require.NoError(t, json.Unmarshal([]byte(out), &have))
	attempts := map[string]entry{}
	for _, e := range have.Attempts {
		attempts[e.Name] = e
	}
	for _, want := range []struct {
		pod, node, claim string
		devices          []string
		reason           string
	}{
		{"train-0", "gpu-a1", "ml/train", []string{"gpu.example.com/gpu-a1/gpu-2", "gpu.example.com/gpu-a1/gpu-3"}, "NUMA node 0 has one GPU left"},
		{"serve-0", "gpu-a1", "ml/serve", []string{"gpu.example.com/gpu-a1/gpu-1"}, "a large GPU comes first"},
		{"serve-1", "gpu-a1", "", nil, "the claim is allocated"},
		{"batch-0", "gpu-b1", "ml/batch-0-extended-resources", []string{"gpu.example.com/gpu-b1/gpu-0"}, "a class provides the resource"},
		{"huge-0", "", "", nil, "four are not there"},
		{"lost-0", "", "", nil, "there is no claim"},
		{"infer-0", "", "", nil, "no controller has made the claim"},
	} {
		got := attempts[want.pod]
		require.NotEmpty(t, got.Outcome, "%s: every pod has an entry", want.pod)
		require.Equal(t, want.node, got.Node, "%s: %s; %s", want.pod, want.reason, got.Message)
		if want.claim == "" {
			require.Empty(t, got.Allocations, want.pod)
			continue
		}
		require.Equal(t, []allocation{{want.claim, want.node, want.devices}}, got.Allocations, "%s: %s", want.pod, want.reason)
	}
	type test struct {
		name, golden string
		args         []string
	}
	testkit.Run(t, []test{
		{"table", "testdata/devices.table", nil},
		{"json", "testdata/devices.json", []string{"-o", "json"}},
		{"explain a rejected pod", "testdata/devices-explain.txt", []string{"-explain", "ml/huge-0"}},
		{"explain a rejected pod as JSON", "testdata/devices-explain.json", []string{"-explain", "ml/huge-0", "-o", "json"}},
		{"count copies", "testdata/devices-how-many.txt", []string{"-how-many", "ml/infer-0"}},
	}, func(t *testing.T, c test) {
		_, out, errs := simulate(t, "", append([]string{"-f", cluster}, c.args...)...)
		require.NotContains(t, errs, "CEL")
		testkit.Golden(t, c.golden, out)
	})
}
