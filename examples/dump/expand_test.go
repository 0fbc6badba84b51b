package dump

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// What -expand takes grows with the number of replicas, not with its square.
func TestExpandIsLinear(t *testing.T) {
	took := func(replicas int) uint64 {
		o, err := readText(fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: %d, template: {spec: {containers: [{name: c}]}}}\n", replicas), Options{})
		require.NoError(t, err)
		return memory(func() {
			made := o.Expand()
			require.Len(t, made, replicas)
			require.Equal(t, fmt.Sprintf("web-%d", replicas), made[replicas-1].Name)
		})
	}
	small, large := took(1000), took(8000)
	require.Less(t, large, 12*small, "bytes allocated for 8 times the replicas")
}
