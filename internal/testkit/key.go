package testkit

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// Keys holds that the pods of one group have the same key, that pods of different groups have different keys, and that the
// key is appended to what is there.
func Keys(t *testing.T, appendKey func(dst []byte, pod *v1.Pod) []byte, groups map[string][]*v1.Pod) {
	t.Helper()
	by := map[string]string{}
	for name, pods := range groups {
		first := string(appendKey(nil, pods[0]))
		require.NotContains(t, by, first, "%s has the key of %s", name, by[first])
		by[first] = name
		for _, p := range pods {
			require.Equal(t, "before"+first, string(appendKey([]byte("before"), p)), name)
		}
	}
}
