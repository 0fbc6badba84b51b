package admission

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

func TestMergeLabelKeys(t *testing.T) {
	zone := v1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{}, MatchLabelKeys: []string{"a", "zz"}, MismatchLabelKeys: []string{"b"}}
	want := []metav1.LabelSelectorRequirement{
		{Key: "a", Operator: metav1.LabelSelectorOpIn, Values: []string{"1"}},
		{Key: "b", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"2"}},
	}
	t.Run("A-50", func(t *testing.T) {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "1", "b": "2"}}, Spec: v1.PodSpec{Affinity: &v1.Affinity{
			PodAffinity: &v1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution:  []v1.PodAffinityTerm{*zone.DeepCopy()},
				PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: *zone.DeepCopy()}}},
			PodAntiAffinity: &v1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution:  []v1.PodAffinityTerm{*zone.DeepCopy()},
				PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: *zone.DeepCopy()}}},
		}}}
		before := p.DeepCopy()
		merged := MergeLabelKeys(p)
		require.Equal(t, before, p, "the argument does not change")
		f := merged.Spec.Affinity
		for _, got := range []v1.PodAffinityTerm{
			f.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0], f.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0],
			f.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm,
			f.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm,
		} {
			require.Equal(t, want, got.LabelSelector.MatchExpressions)
			require.Equal(t, zone.MatchLabelKeys, got.MatchLabelKeys, "the lists stay")
		}
	})
	t.Run("A-50 nil selector", func(t *testing.T) {
		p := near(term("zone", "nil"), "a=1")
		p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].MatchLabelKeys = []string{"a"}
		require.Nil(t, MergeLabelKeys(p).Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector)
	})
	require.Nil(t, MergeLabelKeys(&v1.Pod{}).Spec.Affinity)
}

func TestLimitHardAntiAffinity(t *testing.T) {
	require.NoError(t, LimitHardAntiAffinity(&v1.Pod{}))
	require.NoError(t, LimitHardAntiAffinity(pods{near: []v1.PodAffinityTerm{term("zone", "app=x")}, apart: []v1.PodAffinityTerm{term("kubernetes.io/hostname", "app=x")}, prefersApart: weighted(1, term("zone", "app=x"))}.pod("")))
	require.EqualError(t, LimitHardAntiAffinity(pods{apart: []v1.PodAffinityTerm{term("kubernetes.io/hostname", "app=x"), term("zone", "app=x"), term("rack", "app=x")}}.pod("")),
		`pods "p" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key kubernetes.io/hostname is allowed`)
}

func TestRestrictedLabel(t *testing.T) {
	for key, want := range map[string]bool{
		"node-restriction.kubernetes.io/a": true, "x.node-restriction.kubernetes.io/a": true, "xnode-restriction.kubernetes.io/a": true, "anode-restriction.k8s.com/a": false,
		"node-role.kubernetes.io/control-plane": true, "kubernetes.io/a": true, "k8s.io/a": true, "x.k8s.io/a": true,
		"kubernetes.io/hostname": false, "kubernetes.io/os": false, "kubernetes.io/arch": false,
		"topology.kubernetes.io/zone": false, "topology.kubernetes.io/region": false, "topology.kubernetes.io/hostname": true,
		"failure-domain.beta.kubernetes.io/zone": false, "failure-domain.beta.kubernetes.io/region": false,
		"node.kubernetes.io/instance-type": false, "beta.kubernetes.io/instance-type": false, "beta.kubernetes.io/os": false, "beta.kubernetes.io/arch": false,
		"kubelet.kubernetes.io/a": false, "node.kubernetes.io/a": false, "x.node.kubernetes.io/foo": false,
		"example.com/a": false, "a": false, "kubernetes.io": false, "xkubernetes.io/a": false,
	} {
		require.Equal(t, want, restrictedLabel(key), key)
	}
}

func TestRestrictNode(t *testing.T) {
	n := node("n", "kubernetes.io/a=1,kubernetes.io/hostname=n,example.com/x=1")
	require.NoError(t, RestrictNode("n", n, n), "an unchanged label is no offence")
	require.EqualError(t, RestrictNode("n", n, node("n", "kubernetes.io/a=2,kubernetes.io/b=1")),
		`node "n" is not allowed to modify labels: kubernetes.io/a, kubernetes.io/b`)
	require.EqualError(t, RestrictNode("n", n, node("n", "example.com/x=2")), `node "n" is not allowed to modify labels: kubernetes.io/a`)
	require.EqualError(t, RestrictNode("m", n, n), `node "m" is not allowed to modify node "n"`)
	require.EqualError(t, RestrictNode("m", nil, n), `node "m" is not allowed to modify node "n"`)
	require.EqualError(t, RestrictNode("n", nil, node("n", "k8s.io/b=1,k8s.io/a=1")), `node "n" is not allowed to set the following labels: k8s.io/a, k8s.io/b`)
	tainted := n.DeepCopy()
	tainted.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}
	require.EqualError(t, RestrictNode("n", n, tainted), `node "n" is not allowed to modify taints`)
	require.NoError(t, RestrictNode("n", tainted, tainted.DeepCopy()), "the same taints")
	none := n.DeepCopy()
	none.Spec.Taints = []v1.Taint{}
	require.NoError(t, RestrictNode("n", n, none), "no taints are no taints")
	require.NoError(t, RestrictNode("n", nil, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: tainted.Spec}))
}

func TestLabelTables(t *testing.T) {
	d, ok := deprecatedKey("failure-domain.beta.kubernetes.io/zone")
	require.True(t, ok)
	require.Equal(t, "failure-domain.beta.kubernetes.io/zone topology.kubernetes.io/zone v1.17", d.Key+" "+d.Use+" "+d.Since)
	for key, use := range map[string]string{
		"failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region", "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
		"beta.kubernetes.io/os": "kubernetes.io/os", "beta.kubernetes.io/arch": "kubernetes.io/arch",
		"node-role.kubernetes.io/master": "node-role.kubernetes.io/control-plane",
	} {
		d, ok := deprecatedKey(key)
		require.True(t, ok, key)
		require.Equal(t, use, d.Use)
	}
	_, ok = deprecatedKey("kubernetes.io/hostname")
	require.False(t, ok)
}

func TestAliases(t *testing.T) {
	require.Equal(t, map[string]string{"beta.kubernetes.io/os": "linux", "topology.kubernetes.io/zone": "b"},
		ReconcileAliases(testkit.Pairs("kubernetes.io/os=linux,beta.kubernetes.io/os=windows,failure-domain.beta.kubernetes.io/zone=b,topology.kubernetes.io/zone=a")))
	require.Nil(t, ReconcileAliases(testkit.Pairs("kubernetes.io/os=linux,beta.kubernetes.io/os=linux,topology.kubernetes.io/zone=a")))
	require.Equal(t, testkit.Pairs("topology.kubernetes.io/zone=a"), TopologyLabels(node("n", "topology.kubernetes.io/zone=a,rack=1")))
	require.Nil(t, TopologyLabels(node("n", "")))
}

func TestNodeIsolation(t *testing.T) {
	self := func(labels string) error { return RestrictNode("n", nil, node("n", labels)) }
	require.EqualError(t, self("example.com.node-restriction.kubernetes.io/fips=true"),
		`node "n" is not allowed to set the following labels: example.com.node-restriction.kubernetes.io/fips`)
	require.Error(t, self("node-role.kubernetes.io/x="))
	require.NoError(t, self("example.com/x=y"))
}
