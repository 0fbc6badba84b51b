package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Which rules of a pod a template lacks.
func TestLacks(t *testing.T) {
	spread := func(key string) v1.TopologySpreadConstraint {
		return v1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: v1.DoNotSchedule}
	}
	pod := testkit.Pod("p").NodeSelector("pool=a").RequireApart(zone, "app=b").RequireNodes(v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "x", Operator: v1.NodeSelectorOpExists}}}).Obj()
	pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{spread("a"), spread("b")}
	same, none, other := &v1.PodTemplateSpec{Spec: *pod.Spec.DeepCopy()}, &v1.PodTemplateSpec{}, &v1.PodTemplateSpec{Spec: *pod.Spec.DeepCopy()}
	other.Spec.NodeSelector["pool"] = "b"
	other.Spec.TopologySpreadConstraints = other.Spec.TopologySpreadConstraints[:1]
	apart := "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
	for _, c := range []struct {
		path string
		want bool // of the other template
	}{{"spec.nodeSelector[pool]", true}, {requiredNodeAffinity, false}, {apart, false}, {"spec.topologySpreadConstraints[0].maxSkew", false}, {"spec.topologySpreadConstraints[1].maxSkew", true}} {
		require.False(t, lacks(nil, pod, c.path), c.path)
		require.False(t, lacks(same, pod, c.path), c.path)
		require.True(t, lacks(none, pod, c.path), c.path)
		require.Equal(t, c.want, lacks(other, pod, c.path), c.path)
	}
	require.False(t, lacks(none, pod, "spec.tolerations"), "a toleration is added to the template")
}

// Advice ranks by the cause: about affinity a move comes before a preference, which is cheaper.
func TestRanked(t *testing.T) {
	prefer, move := Relaxation{Cost: 1, Changes: []Change{{Kind: Prefer}}}, Relaxation{Cost: 9, Changes: []Change{{Kind: MovePods}}}
	list, cause := []Relaxation{prefer, move}, &Cause{Type: causeAffinity}
	require.Equal(t, list, ranked(list, nil), "without a cause by cost")
	require.Equal(t, []Relaxation{move, prefer}, ranked(list, cause))
	risky := Relaxation{Changes: []Change{{Kind: MovePods, Note: "may be lost"}}}
	require.Equal(t, []Relaxation{move, prefer, risky}, ranked(append(list, risky), cause), "a risk is never first")
}
