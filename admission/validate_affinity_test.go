package admission

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/testkit"
)

func TestValidateAffinity(t *testing.T) {
	const (
		required  = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
		preferred = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"
		podAff    = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
		podPref   = "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
	)
	one := func(r v1.NodeSelectorRequirement) *v1.Pod { return requiring(exprs(r)) }
	keys := func(p *v1.Pod, match, mismatch string) *v1.Pod {
		term := &p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
		term.MatchLabelKeys, term.MismatchLabelKeys = strings.Fields(match), strings.Fields(mismatch)
		return p
	}
	type test struct {
		name, why string
		pod       *v1.Pod
		want      []string // beginnings of the errors
	}
	testkit.Run(t, []test{
		{"A11.1 no terms", "at least one term", requiring(), []string{required + ": Required value: must have at least one node selector term"}},
		{"A11.1 empty term", "an empty term is accepted", requiring(v1.NodeSelectorTerm{}), nil},
		{"A11.2 In", "In needs values", one(req("a", "In")), []string{required + "[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"}},
		{"A11.2 Exists", "Exists takes none", one(req("a", "Exists", "b")), []string{required + "[0].matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"}},
		{"A11.2 Gt", "Gt takes one", one(req("a", "Gt", "1", "2")), []string{required + "[0].matchExpressions[0].values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'"}},
		{"A11.2 Gt word", "a word passes here and never matches", one(req("a", "Gt", "x")), nil},
		{"A11.2 operator", "six operators", one(req("a", "X", "1")), []string{required + `[0].matchExpressions[0].operator: Invalid value: "X": not a valid selector operator`}},
		{"A11.2 key", "keys are qualified names", one(req("bad key", "Exists")), []string{required + `[0].matchExpressions[0].key: Invalid value: "bad key"`}},
		{"A11.2 value", "required values are label values", one(req("a", "In", "bad value!")), []string{required + `[0].matchExpressions[0].values[0]: Invalid value: "bad value!"`}},
		{"A11.2 preferred value", "preferred ones are not checked", preferring(prefer(1, req("a", "In", "bad value!"))), nil},
		{"A11.3 key", "metadata.name only", requiring(fields(req("metadata.uid", "In", "x"))), []string{required + `[0].matchFields[0].key: Invalid value: "metadata.uid": not a valid field selector key`}},
		{"A11.3 values", "one value", requiring(fields(req("metadata.name", "In", "a", "b"))), []string{required + "[0].matchFields[0].values: Required value: must be only one value when `operator` is 'In' or 'NotIn' for node field selector"}},
		{"A11.3 name", "a node name", requiring(fields(req("metadata.name", "In", "A_"))), []string{required + `[0].matchFields[0].values[0]: Invalid value: "A_"`}},
		{"A11.3 operator", "In and NotIn", requiring(fields(req("metadata.name", "Exists"))), []string{required + `[0].matchFields[0].operator: Invalid value: "Exists": not a valid selector operator`}},
		{"A11.4 node weight", "1 to 100", preferring(prefer(0, req("a", "Exists"))), []string{preferred + "[0].weight: Invalid value: 0: must be in the range 1-100"}},
		{"A11.4 pod weight", "1 to 100", pods{likesNear: weighted(101, term("zone", "app=x"))}.pod(""), []string{podPref + ".weight: Invalid value: 101: must be in the range 1-100"}},
		{"A11.5 topologyKey", "not a label key", near(term("bad!", "app=x"), ""), []string{podAff + `.topologyKey: Invalid value: "bad!"`}},
		{"A11.5 namespaces", "DNS labels", near(scoped(term("zone", "app=x"), "A_", nil), ""), []string{podAff + `.namespace: Invalid value: "A_"`}},
		{"A11.5 selector", "no such operator", near(term("zone", "bogus"), ""), []string{podAff + `.labelSelector.matchExpressions[0].operator: Invalid value: "Bogus"`}},
		{"A11.5 namespaceSelector", "no such operator", near(scoped(term("zone", "app=x"), "", bogus()), ""), []string{podAff + `.namespaceSelector.matchExpressions[0].operator: Invalid value: "Bogus"`}},
		{"A11.5 nil selector", "is legal", near(term("zone", "nil"), ""), nil},
		{"A11.6 no selector", "keys need a selector", keys(near(term("zone", "nil"), "a=1"), "a", ""), []string{podAff + ".matchLabelKeys: Forbidden: must not be specified when labelSelector is not set"}},
		{"A11.6 mismatch without selector", "keys need a selector", keys(near(term("zone", "nil"), "a=1"), "", "a"), []string{podAff + ".mismatchLabelKeys: Forbidden: must not be specified when labelSelector is not set"}},
		{"A11.6 both", "in one list only", keys(near(term("zone", "{}"), ""), "a", "a"), []string{podAff + `.matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and mismatchLabelKeys`}},
		{"A11.6 merged twice", "the user's selector has it too", keys(near(term("zone", "a=1"), "a=1"), "a", ""), []string{podAff + `[0]: Invalid value: "a": exists in both matchLabelKeys and labelSelector`}},
		{"A11.6 merged once", "only by the merge", keys(near(term("zone", "app=x"), "a=1"), "a", ""), nil},
		{"A11.6 absent", "the pod has no such label: not merged", keys(near(term("zone", "a=1"), ""), "a", ""), nil},
		{"A11.7 nodeSelector", "pairs of labels", &v1.Pod{Spec: v1.PodSpec{NodeSelector: map[string]string{"a": "bad value!"}}}, []string{`spec.nodeSelector: Invalid value: "bad value!"`}},
		{"fine", "nothing wrong", pods{near: []v1.PodAffinityTerm{scoped(term("zone", "app=x"), "a", &metav1.LabelSelector{})}, prefersApart: weighted(100, term("kubernetes.io/hostname", "exists"))}.pod("app=x"), nil},
	}, func(t *testing.T, tc test) {
		errs := affinityErrors(tc.pod)
		require.Len(t, errs, len(tc.want), "%s: %v", tc.why, errs)
		for i := range errs {
			require.True(t, strings.HasPrefix(errs[i].Error(), tc.want[i]), "%s: %v", tc.why, errs[i])
		}
	})
	t.Run("A11.5 empty topologyKey", func(t *testing.T) {
		p := near(term("zone", "app=x"), "")
		p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].TopologyKey = ""
		errs := affinityErrors(p)
		require.Equal(t, podAff+".topologyKey: Required value: can not be empty", errs[0].Error())
		require.Greater(t, len(errs), 1, "and the errors of a label key")
	})
}

func TestWarnings(t *testing.T) {
	p := pods{near: []v1.PodAffinityTerm{term("zone", "nil")}, prefersApart: weighted(1, term("failure-domain.beta.kubernetes.io/zone", "app=x"))}.pod("")
	p.Spec.NodeSelector = map[string]string{"beta.kubernetes.io/os": "linux", "node-role.kubernetes.io/master": ""}
	p.Spec.Affinity.NodeAffinity = requiring(exprs(req("beta.kubernetes.io/arch", "Exists"))).Spec.Affinity.NodeAffinity
	p.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []v1.PreferredSchedulingTerm{prefer(1, req("beta.kubernetes.io/instance-type", "Exists"))}
	p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{LabelSelector: &metav1.LabelSelector{}}, {}}
	require.Equal(t, []string{
		`spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`,
		`spec.nodeSelector[node-role.kubernetes.io/master]: deprecated; use "node-role.kubernetes.io/control-plane" instead`,
		`spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key: deprecated since v1.14; use "kubernetes.io/arch" instead`,
		`spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key: deprecated since v1.17; use "node.kubernetes.io/instance-type" instead`,
		`spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod`,
		`spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: deprecated since v1.17; use "topology.kubernetes.io/zone" instead`,
		`spec.topologySpreadConstraints[1].labelSelector: a null labelSelector results in matching no pod`,
	}, Warnings(p))
	require.Empty(t, Warnings(&v1.Pod{}))
}

// affinityErrors returns the errors about the node selector and the affinity of a pod.
func affinityErrors(pod *v1.Pod) field.ErrorList {
	return slices.DeleteFunc(Validate(pod, Options{}), func(e *field.Error) bool {
		return !strings.HasPrefix(e.Field, "spec.nodeSelector") && !strings.HasPrefix(e.Field, "spec.affinity")
	})
}
