package overhead

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

func TestPodLevelOnly(t *testing.T) {
	require.Equal(t, "cpu=1,hugepages-2Mi=4Mi,memory=1", testkit.ShowResources(podLevelOnly(testkit.Resources("cpu=1,memory=1,ephemeral-storage=1,example.com/gpu=1,hugepages-2Mi=4Mi"))))
}

// cpu, memory and ephemeral storage come first, the others by name.
func TestCompareNames(t *testing.T) {
	order := []string{"cpu", "memory", "ephemeral-storage", "a.example/x", "b.example/x", "hugepages-2Mi"}
	for i, a := range order {
		for k, b := range order {
			c := compareNames(v1.ResourceName(a), v1.ResourceName(b))
			require.Equal(t, []bool{i < k, i == k, i > k}, []bool{c < 0, c == 0, c > 0}, "%s and %s", a, b)
		}
	}
}
