package admission

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Nothing that is passed in changes.
func TestPurity(t *testing.T) {
	p := near(term("zone", "a=1"), "a=1")
	p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].MatchLabelKeys = []string{"a"}
	p.Spec.Affinity.NodeAffinity = requiring(fields(req("metadata.name", "In", "n2", "n1")), exprs(req("zone", "In", "b", "a"))).Spec.Affinity.NodeAffinity
	p.Spec.NodeSelector = map[string]string{"beta.kubernetes.io/os": "linux"}
	p.Spec.Tolerations = tols(tol("a Gt x _", 5), tol("a Gt x _", 5))
	n, m := node("n", "kubernetes.io/a=1,kubernetes.io/os=linux"), tainted("a:NoSchedule")
	call := func() {
		Validate(p, Options{})
		ValidateUpdate(p, p, Options{})
		Warnings(p)
		MergeLabelKeys(p)
		_ = LimitHardAntiAffinity(p)
		WithDefaultSeconds(p, DefaultSeconds{})
		WithDaemonSet(p)
		WithMemoryPressure(p, v1.PodQOSBurstable)
		WithExtendedResources(p)
		validateTaints(m.Spec.Taints, nil)
		WithNotReady(n)
		_ = RestrictNode("n", nil, n)
		_ = RestrictNode("n", n, m)
		ReconcileAliases(n.Labels)
		TopologyLabels(n)
	}
	testkit.Unchanged(t, call, p)
	testkit.Unchanged(t, call, n, m)
}
