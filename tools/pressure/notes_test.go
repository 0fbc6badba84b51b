package pressure

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// What a configuration does otherwise than it looks stands under the first line.
func TestNotes(t *testing.T) {
	const head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
	type test struct {
		name, config string
		has, lacks   []string
	}
	testkit.Run(t, []test{
		{"nothing given", "", []string{"memory.available "}, []string{"No threshold", "replaces", "never acts"}},
		{"only 0%", "evictionHard: {nodefs.available: 0%, imagefs.available: 0%}\n",
			[]string{"No threshold is active: evictionHard names only 0% for imagefs.available, nodefs.available. Nothing is evicted.\n",
				"evictionHard replaces the kubelet's own hard thresholds: without imagefs.inodesFree<5%, memory.available<100Mi, nodefs.inodesFree<5%.\n"}, []string{"SIGNAL"}},
		{"merged", "mergeDefaultEvictionSettings: true\nevictionHard: {memory.available: 500Mi}\n", nil, []string{"replaces"}},
		{"a soft threshold below the hard one", "evictionHard: {memory.available: 5%}\nevictionSoft: {memory.available: 500Mi}\nevictionSoftGracePeriod: {memory.available: 1m}\n",
			[]string{"The soft threshold memory.available<500Mi for 1m0s never acts: on this node memory.available<5% is 1.6Gi, which is met first.\n"}, nil},
		{"a soft threshold above the hard one", "evictionHard: {memory.available: 500Mi}\nevictionSoft: {memory.available: 15%}\nevictionSoftGracePeriod: {memory.available: 1m}\n", nil, []string{"never acts"}},
		{"a minimum reclaim", "evictionHard: {memory.available: 1Gi}\nevictionMinimumReclaim: {memory.available: 500Mi}\n", []string{"1524Mi"}, []string{"1.48Gi"}},
	}, func(t *testing.T, c test) {
		file := filepath.Join(t.TempDir(), "kubelet.yaml")
		require.NoError(t, os.WriteFile(file, []byte(head+c.config), 0o600))
		code, out, errs := nodepressure("", "-f", "testdata/pods.yaml", "-summary", "testdata/memory.json", "-kubelet", file)
		require.Zero(t, code, errs)
		for _, text := range c.has {
			require.Contains(t, out, text, c.name)
		}
		for _, text := range c.lacks {
			require.NotContains(t, out, text, c.name)
		}
	})
}
