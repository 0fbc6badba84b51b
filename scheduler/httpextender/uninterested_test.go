package httpextender

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/preemption"
)

// In a chain each extender is asked about the pods that it is interested in, and the extenders around it are asked as if it were not
// there.
func TestUninterestedExtendersInChains(t *testing.T) {
	managing := func(x *configv1.Extender) {
		x.ManagedResources = []configv1.ExtenderManagedResource{{Name: "example.com/gpu"}}
	}
	first, a := server(t, `{"NodeNames":["n1","n2"]}`, nil)
	middle, b := server(t, `{"NodeNames":["n2"]}`, managing)
	last, c := server(t, `{"NodeNames":["n2","n1"]}`, nil)
	clients, err := NewAll([]configv1.Extender{a, b, c}, Options{})
	require.NoError(t, err)
	plain, gpu := web(), web()
	gpu.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Limits: v1.ResourceList{"example.com/gpu": resource.MustParse("0")}}}}
	for _, one := range []struct {
		pod  *v1.Pod
		want []string
		err  string
	}{{plain, []string{"n2", "n1"}, ""}, {gpu, nil, `claims a filtered node "n1"`}} {
		got, err := FilterAll(ctx, clients, one.pod, nodes("n1", "n2", "n3"))
		if one.err != "" {
			require.ErrorContains(t, err, one.err, "the last gets what the middle left")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, one.want, got.Nodes)
	}
	require.Equal(t, []int{2, 1, 2}, []int{len(first.asked), len(middle.asked), len(last.asked)})
	for _, s := range []*stub{first, middle, last} {
		s.answer, s.asked = `[{"Host":"n1","Score":2}]`, nil
	}
	require.Equal(t, []int64{120, 0}, ScoreAll(ctx, clients, plain, nodes("n1", "n2")))
	require.Equal(t, []int64{180, 0}, ScoreAll(ctx, clients, gpu, nodes("n1", "n2")))
	require.Equal(t, []int{2, 1, 2}, []int{len(first.asked), len(middle.asked), len(last.asked)})
	require.Len(t, Preempters(ctx, clients, plain), 2)
	require.Len(t, Preempters(ctx, clients, gpu), 3)
	middle.answer = "{}"
	onlyMiddle := []*Client{clients[1]}
	bound, err := BindAll(ctx, onlyMiddle, plain, "n1")
	require.NoError(t, err)
	require.False(t, bound)
	bound, err = BindAll(ctx, onlyMiddle, gpu, "n1")
	require.NoError(t, err)
	require.True(t, bound)
	require.Equal(t, map[string]Victims{"n1": {Pods: []*v1.Pod{plain}, Violations: 3}}, victimsOf([]preemption.Candidate{{Node: "n1", Violations: 3, Victims: []preemption.Victim{{Placed: preemption.Placed{Pod: plain}}}}}))
}
