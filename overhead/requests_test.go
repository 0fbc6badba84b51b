package overhead

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/resources"
)

// list parses "cpu", "500m", "memory", "1Gi" … into a resource list.
func list(pairs ...string) v1.ResourceList {
	out := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func ask(pairs ...string) v1.Container {
	return v1.Container{Resources: v1.ResourceRequirements{Requests: list(pairs...)}}
}

func TestRowDoesNotAllocate(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{
		Overhead:   list("cpu", "250m", "memory", "120Mi"),
		Containers: []v1.Container{ask("cpu", "500m", "memory", "100Mi"), ask("cpu", "1500m", "memory", "100Mi", "example.com/gpu", "1")},
	}}
	schema := resources.NewSchema("example.com/gpu")
	row := AppendRequests(nil, schema, pod, Options{})
	require.Equal(t, "cpu=2250m memory=335544320 example.com/gpu=1", row.Describe(schema))
	require.Zero(t, testing.AllocsPerRun(100, func() { row = AppendRequests(row[:0], schema, pod, Options{UseStatus: true}) }))
	require.Zero(t, testing.AllocsPerRun(100, func() { NonZero(pod); NonZeroIncoming(pod) }))
}
