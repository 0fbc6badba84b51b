package dump

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// Pods of one owner share equal parts. The answer is the same as when each pod is read alone.
func TestPodsOfOneOwnerShareEqualParts(t *testing.T) {
	var items, alone []string
	for i := range 4 {
		pod := strings.NewReplacer("NUMBER", fmt.Sprintf("%07d", i), "OWNER", fmt.Sprintf("%07d", i/3)).Replace(largeJSON)
		if i == 1 {
			pod = strings.ReplaceAll(pod, `"100m"`, `"0.1"`) // the same amount in another form
		}
		items, alone = append(items, pod), append(alone, pod)
	}
	o, err := Read([]string{"-"}, strings.NewReader(`{"apiVersion":"v1","kind":"List","items":[`+strings.Join(items, ",")+`]}`), Options{})
	require.NoError(t, err)
	require.Len(t, o.Pods, 4)
	for i, text := range alone {
		want, err := Object([]byte(text), "alone")
		require.NoError(t, err)
		require.Equal(t, want, o.Pods[i], "pod %d", i)
	}
	tolerations := func(i int) *v1.Toleration { return unsafe.SliceData(o.Pods[i].Spec.Tolerations) }
	require.Same(t, tolerations(0), tolerations(1))
	require.Same(t, tolerations(0), tolerations(2))
	require.NotSame(t, tolerations(0), tolerations(3), "another owner")
	for i, p := range o.Pods {
		require.Equal(t, len(p.Spec.Tolerations), cap(p.Spec.Tolerations), "pod %d: room for more would be shared", i)
		require.Equal(t, len(p.Spec.Containers), cap(p.Spec.Containers), "pod %d", i)
	}
}
