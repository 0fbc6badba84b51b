package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// A pod from a template that nobody admitted is warned about, with the field; the admitted one is not.
func TestUnadmittedPods(t *testing.T) {
	limited := func(change func(s *v1.PodSpec)) *v1.Pod {
		p := testkit.Pod("web").Obj()
		p.Spec.Containers = []v1.Container{{Name: "c"}}
		change(&p.Spec)
		return p
	}
	cpu := v1.ResourceList{"cpu": resource.MustParse("100")}
	type test struct {
		name, why string
		pod       *v1.Pod
		want      string
	}
	testkit.Run(t, []test{
		{"limit without request", "it would count as nothing", limited(func(s *v1.PodSpec) { s.Containers[0].Resources.Limits = cpu }), "spec.containers[0].resources.requests[cpu]"},
		{"of an init container", "likewise", limited(func(s *v1.PodSpec) {
			s.InitContainers = []v1.Container{{Name: "i", Resources: v1.ResourceRequirements{Limits: cpu}}}
		}), "spec.initContainers[0].resources.requests[cpu]"},
		{"class without priority", "it would preempt nobody", limited(func(s *v1.PodSpec) { s.PriorityClassName = "system-node-critical" }), "spec.priority"},
		{"request and limit", "as stored", limited(func(s *v1.PodSpec) {
			s.Containers[0].Resources = v1.ResourceRequirements{Limits: cpu, Requests: cpu}
		}), ""},
	}, func(t *testing.T, c test) {
		s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Capacity("cpu=8").Obj()}})
		require.NoError(t, err)
		placer, err := placement.NewPlacer(s, placement.DefaultProfile())
		require.NoError(t, err)
		admitted, _, err := admission.Admit(c.pod, admission.Cluster{PriorityClasses: admission.SystemPriorityClasses()}, admission.Options{})
		require.NoError(t, err)
		placer.Decide(admitted, placement.Options{})
		require.Empty(t, placer.Warnings())
		placer.Decide(c.pod, placement.Options{})
		placer.Decide(c.pod, placement.Options{})
		if c.want == "" {
			require.Empty(t, placer.Warnings())
			return
		}
		require.Equal(t, []string{"pod default/web: " + c.want + " is not set; the API server sets it before it stores a pod, and admission.Admit does the same"}, placer.Warnings())
	})
}

// The failure of a placed pod is nil, and its text is empty.
func TestTextOfAPlacedPod(t *testing.T) {
	require.Empty(t, placement.Decision{}.Failure.Text())
}
