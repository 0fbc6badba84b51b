package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
)

// A change is made in the pod that it was found for, and in no other.
func TestApplyToAnotherPod(t *testing.T) {
	s, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       v1.PodSpec{TopologySpreadConstraints: []v1.TopologySpreadConstraint{{TopologyKey: "zone", MaxSkew: 1, WhenUnsatisfiable: v1.DoNotSchedule}}},
	}
	change := *podChanges(pod)[0]
	bound := pod.DeepCopy()
	bound.Spec.NodeName = "n1"
	changed, err := Apply(s, bound, change)
	require.NoError(t, err)
	require.Equal(t, v1.ScheduleAnyway, changed.Spec.TopologySpreadConstraints[0].WhenUnsatisfiable)
	other := pod.DeepCopy()
	other.Spec.TopologySpreadConstraints = nil
	_, err = Apply(s, other, change)
	require.EqualError(t, err, `diagnose: changes[0]: Invalid value: "spec.topologySpreadConstraints[0].whenUnsatisfiable": is a change of another pod or of another spec: default/web`)
}
