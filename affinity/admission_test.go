package affinity_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/affinity"
)

func TestMergeLabelKeys(t *testing.T) {
	term := v1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{}, MatchLabelKeys: []string{"a", "zz"}, MismatchLabelKeys: []string{"b"}}
	want := []metav1.LabelSelectorRequirement{
		{Key: "a", Operator: metav1.LabelSelectorOpIn, Values: []string{"1"}},
		{Key: "b", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"2"}},
	}
	t.Run("A-50", func(t *testing.T) {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "1", "b": "2"}}, Spec: v1.PodSpec{Affinity: &v1.Affinity{
			PodAffinity: &v1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution:  []v1.PodAffinityTerm{*term.DeepCopy()},
				PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: *term.DeepCopy()}}},
			PodAntiAffinity: &v1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution:  []v1.PodAffinityTerm{*term.DeepCopy()},
				PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: *term.DeepCopy()}}},
		}}}
		before := p.DeepCopy()
		merged := affinity.MergeLabelKeys(p)
		require.Equal(t, before, p, "the argument does not change")
		a, n, pa, pn := lists(merged)
		for _, got := range []v1.PodAffinityTerm{a[0], n[0], pa[0].PodAffinityTerm, pn[0].PodAffinityTerm} {
			require.Equal(t, want, got.LabelSelector.MatchExpressions)
			require.Equal(t, term.MatchLabelKeys, got.MatchLabelKeys, "the lists stay")
		}
	})
	t.Run("A-50 nil selector", func(t *testing.T) {
		p := pod("d", "a=1", "aff zone nil")
		p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].MatchLabelKeys = []string{"a"}
		a, _, _, _ := lists(affinity.MergeLabelKeys(p))
		require.Nil(t, a[0].LabelSelector)
	})
	t.Run("A7.4 scheduler", func(t *testing.T) {
		p := pod("d", "app=x,rev=2", "anti h app=x")
		p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].MatchLabelKeys = []string{"rev"}
		w := tableWorld().run("n1", pod("d", "app=x,rev=1"))
		require.Equal(t, "n1:anti n2:ok n3:ok n4:ok", verdicts(w, count(w, p, affinity.PodOptions{}).Check), "the scheduler does not read the lists")
		require.Equal(t, "n1:ok n2:ok n3:ok n4:ok", verdicts(w, count(w, affinity.MergeLabelKeys(p), affinity.PodOptions{}).Check))
	})
	require.Nil(t, affinity.MergeLabelKeys(&v1.Pod{}).Spec.Affinity)
}

func TestLimitHardAntiAffinity(t *testing.T) {
	require.NoError(t, affinity.LimitHardAntiAffinity(&v1.Pod{}))
	require.NoError(t, affinity.LimitHardAntiAffinity(pod("d", "", "anti kubernetes.io/hostname app=x", "panti 1 zone app=x", "aff zone app=x")))
	require.EqualError(t, affinity.LimitHardAntiAffinity(pod("d", "", "anti kubernetes.io/hostname app=x", "anti zone app=x", "anti rack app=x")),
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
		require.Equal(t, want, affinity.RestrictedLabel(key), key)
	}
}

func TestRestrictNode(t *testing.T) {
	n := node("n", "kubernetes.io/a=1,kubernetes.io/hostname=n,example.com/x=1")
	require.NoError(t, affinity.RestrictNodeUpdate("n", n, n), "an unchanged label is no offence")
	require.EqualError(t, affinity.RestrictNodeUpdate("n", n, node("n", "kubernetes.io/a=2,kubernetes.io/b=1")),
		`node "n" is not allowed to modify labels: kubernetes.io/a, kubernetes.io/b`)
	require.EqualError(t, affinity.RestrictNodeUpdate("n", n, node("n", "example.com/x=2")), `node "n" is not allowed to modify labels: kubernetes.io/a`)
	require.EqualError(t, affinity.RestrictNodeUpdate("m", n, n), `node "m" is not allowed to modify node "n"`)
	require.EqualError(t, affinity.RestrictNodeCreate("m", n), `node "m" is not allowed to modify node "n"`)
	require.EqualError(t, affinity.RestrictNodeCreate("n", node("n", "k8s.io/b=1,k8s.io/a=1")), `node "n" is not allowed to set the following labels: k8s.io/a, k8s.io/b`)
	tainted := n.DeepCopy()
	tainted.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}
	require.EqualError(t, affinity.RestrictNodeUpdate("n", n, tainted), `node "n" is not allowed to modify taints`)
	require.NoError(t, affinity.RestrictNodeCreate("n", &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: tainted.Spec}))
}

func TestLabelTables(t *testing.T) {
	d, ok := affinity.Deprecated("failure-domain.beta.kubernetes.io/zone")
	require.True(t, ok)
	require.Equal(t, "failure-domain.beta.kubernetes.io/zone topology.kubernetes.io/zone v1.17", d.Key+" "+d.Use+" "+d.Since)
	for key, use := range map[string]string{
		"failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region", "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
		"beta.kubernetes.io/os": "kubernetes.io/os", "beta.kubernetes.io/arch": "kubernetes.io/arch",
		"node-role.kubernetes.io/master": "node-role.kubernetes.io/control-plane",
	} {
		d, ok := affinity.Deprecated(key)
		require.True(t, ok, key)
		require.Equal(t, use, d.Use)
	}
	_, ok = affinity.Deprecated("kubernetes.io/hostname")
	require.False(t, ok)
}

func TestAliases(t *testing.T) {
	require.Equal(t, map[string]string{"beta.kubernetes.io/os": "linux", "topology.kubernetes.io/zone": "b"},
		affinity.ReconcileAliases(pairs("kubernetes.io/os=linux,beta.kubernetes.io/os=windows,failure-domain.beta.kubernetes.io/zone=b,topology.kubernetes.io/zone=a")))
	require.Nil(t, affinity.ReconcileAliases(pairs("kubernetes.io/os=linux,beta.kubernetes.io/os=linux,topology.kubernetes.io/zone=a")))
	require.Equal(t, pairs("topology.kubernetes.io/zone=a"), affinity.TopologyLabels(node("n", "topology.kubernetes.io/zone=a,rack=1")))
	require.Nil(t, affinity.TopologyLabels(node("n", "")))
}
