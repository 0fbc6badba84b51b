package drain

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// Small inputs made after what people posted: the first screens of a drain of node n1, and of the eviction of a pod.
func TestCases(t *testing.T) {
	type test struct{ name, pod, why string }
	seen := map[string]bool{}
	testkit.Run(t, []test{
		{"21-crashloop-pdb", "kube-system/coredns-58-ok", "waiting does not help pods that crash"},
		{"55-longhorn", "longhorn-system/instance-manager-1", "an agent makes the budget, and the pod belongs to its node"},
		{"78b-pdb-job-stale", "default/api-1", "the status allows one, and the next sync fails"},
		{"81-pdb-ds", "default/ing-1", "a budget over a DaemonSet is never synced"},
		{"87-drain-ds", "d8/g-1", "maxUnavailable 0, and data in an emptyDir"},
	}, func(t *testing.T, c test) {
		file := filepath.Join("testdata/cases", c.name)
		seen[c.name+".yaml"] = true
		text, err := os.ReadFile(file + ".yaml")
		require.NoError(t, err)
		_, plan, errs := drain(string(text), "-f", "-", "n1")
		testkit.Golden(t, file+".drain", errs+plan)
		_, answer, errs := drain(string(text), "-f", "-", "-evict", c.pod)
		testkit.Golden(t, file+".evict", errs+answer)
		require.Contains(t, answer, "Outlook:  never\n", c.why)
		for _, said := range []string{plan, answer} {
			require.NotContains(t, strings.ToLower(said), "replica above", c.why)
			require.NotContains(t, said, "wait until", c.why)
		}
	})
	files, err := filepath.Glob("testdata/cases/*.yaml")
	require.NoError(t, err)
	for _, f := range files {
		require.True(t, seen[filepath.Base(f)], "%s is asked nothing", f)
	}
}
