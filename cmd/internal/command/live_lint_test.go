package command_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Manifests are held against the cluster or against its dump: what nobody may change is an error in both. The cluster is asked for what
// decides about new pods and about their number, by GET requests alone.
func TestLintOfChanges(t *testing.T) {
	s, flags := serve(t)
	manifest := filepath.Join(t.TempDir(), "postgres.yaml")
	require.NoError(t, os.WriteFile(manifest, []byte(`apiVersion: apps/v1
kind: StatefulSet
metadata: {name: postgres, namespace: data}
spec:
  replicas: 4
  serviceName: other
  selector: {matchLabels: {app: postgres}}
  template:
    metadata: {labels: {app: postgres}}
    spec: {containers: [{name: main, image: registry.example.com/postgres:17, resources: {requests: {cpu: 1, memory: 1Gi}}}]}
`), 0o600))
	const want = "error: StatefulSet data/postgres: immutable-field: spec.serviceName\n"
	for name, args := range map[string][]string{"live": append([]string{"--live"}, flags...), "dump": {"--cluster", shipped}} {
		code, out, errs := ask(append([]string{"lint", "-A", "-f", manifest}, args...)...)
		require.Equal(t, 1, code, "%s: %s", name, errs)
		require.Contains(t, out, want, name)
	}
	require.Zero(t, s.writes)
	require.Subset(t, s.asked, []string{"cronjobs", "horizontalpodautoscalers", "resourcequotas", "limitranges", "runtimeclasses", "storageclasses", "persistentvolumeclaims", "resourceclaimtemplates"})

	s, flags = serve(t)
	_, _, errs := ask(append([]string{"lint", "-A"}, flags...)...)
	require.Empty(t, errs)
	require.Subset(t, s.asked, []string{"cronjobs", "horizontalpodautoscalers", "resourcequotas"}, "the workloads of the cluster are linted with all that sets their pods")
}
