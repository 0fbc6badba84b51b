package admission

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/testkit"
)

func gates(names ...string) []v1.PodSchedulingGate {
	var out []v1.PodSchedulingGate
	for _, n := range names {
		out = append(out, v1.PodSchedulingGate{Name: n})
	}
	return out
}

func TestGatedCondition(t *testing.T) {
	var pod v1.Pod
	_, ok := GatedCondition(&pod)
	require.False(t, ok, "no gates")
	pod.Spec.SchedulingGates = gates("foo", "bar")
	c, ok := GatedCondition(&pod)
	require.True(t, ok)
	require.Equal(t, v1.PodCondition{Type: "PodScheduled", Status: "False", Reason: "SchedulingGated",
		Message: "Scheduling is blocked due to non-empty scheduling gates"}, c)
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled}}
	_, ok = GatedCondition(&pod)
	require.False(t, ok, "the pod keeps the condition that it has")
}

func TestValidateGates(t *testing.T) {
	spec := field.NewPath("spec")
	require.Empty(t, newGates(&v1.PodSpec{SchedulingGates: gates("foo", "example.com/foo")}, spec))
	require.Empty(t, newGates(&v1.PodSpec{NodeName: "n"}, spec))
	errs := newGates(&v1.PodSpec{SchedulingGates: gates("a", "a")}, spec)
	require.Len(t, errs, 1)
	require.Equal(t, `spec.schedulingGates[1]: Duplicate value: "a"`, errs[0].Error())
	errs = newGates(&v1.PodSpec{SchedulingGates: gates("a"), NodeName: "n"}, spec)
	require.Equal(t, "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared", errs[0].Error())
	errs = newGates(&v1.PodSpec{SchedulingGates: gates("bad name")}, spec)
	require.Len(t, errs, 1)
	require.Equal(t, "spec.schedulingGates[0]", errs[0].Field)
}

type updateCase struct {
	name, why string
	old, new  v1.PodSpec
	err       string // part of the only error; "" for no error
}

// required makes an affinity with these required terms of node affinity.
func required(terms ...v1.NodeSelectorTerm) *v1.Affinity {
	return &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: terms}}}
}

// requirements makes a term that requires the keys to exist.
func requirements(keys ...string) v1.NodeSelectorTerm {
	var out v1.NodeSelectorTerm
	for _, k := range keys {
		out.MatchExpressions = append(out.MatchExpressions, v1.NodeSelectorRequirement{Key: k, Operator: v1.NodeSelectorOpExists})
	}
	return out
}

func TestGatedUpdate(t *testing.T) {
	g := func(spec v1.PodSpec, names ...string) v1.PodSpec {
		spec.SchedulingGates = gates(names...)
		return spec
	}
	selector := func(pairs ...string) v1.PodSpec {
		m := map[string]string{}
		for k := 0; k+1 < len(pairs); k += 2 {
			m[pairs[k]] = pairs[k+1]
		}
		return v1.PodSpec{NodeSelector: m}
	}
	aff := func(a *v1.Affinity) v1.PodSpec { return v1.PodSpec{Affinity: a} }
	preferred := &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 1, Preference: requirements("a")}}}}
	pods := &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{TopologyKey: "z"}}}}
	named := func(names ...string) v1.NodeSelectorTerm {
		term := requirements("a")
		for _, name := range names {
			term.MatchFields = append(term.MatchFields, v1.NodeSelectorRequirement{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{name}})
		}
		return term
	}
	fieldsOnly := func() v1.NodeSelectorTerm {
		term := named("n")
		term.MatchExpressions = nil
		return term
	}
	const terms = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
	testkit.Run(t, []updateCase{
		{"remove one", "gates go in any order", g(v1.PodSpec{}, "a", "b"), g(v1.PodSpec{}, "b"), ""},
		{"remove all", "the pod may be scheduled", g(v1.PodSpec{}, "a", "b"), g(v1.PodSpec{}), ""},
		{"reorder", "the order may change", g(v1.PodSpec{}, "a", "b"), g(v1.PodSpec{}, "b", "a"), ""},
		{"add to none", "gates are added at creation only", g(v1.PodSpec{}), g(v1.PodSpec{}, "foo"),
			"spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'foo'"},
		{"replace", "a new name is an addition", g(v1.PodSpec{}, "a", "b"), g(v1.PodSpec{}, "a", "c"),
			"spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'c'"},
		{"selector grows while gated", "a larger selector matches fewer nodes", g(selector("a", "1"), "g"), g(selector("a", "1", "b", "2"), "g"), ""},
		{"selector grows with the last gate's removal", "one update may do both", g(selector(), "g"), g(selector("b", "2")), ""},
		{"selector changes", "a pair must not change", g(selector("a", "1"), "g"), g(selector("a", "2"), "g"),
			"only additions to spec.nodeSelector are allowed (no mutations or deletions)"},
		{"selector shrinks", "a pair must not go", g(selector("a", "1"), "g"), g(selector("b", "1"), "g"),
			"only additions to spec.nodeSelector are allowed (no mutations or deletions)"},
		{"selector of a free pod", "without gates the selector is fixed", selector("a", "1"), selector("a", "1", "b", "2"), "spec: Forbidden: pod updates may not change fields other than"},
		{"affinity of a free pod", "without gates the affinity is fixed", aff(nil), aff(preferred), "spec: Forbidden: pod updates may not change fields other than"},
		{"preferred terms", "preferred terms may change while the pod has gates", g(aff(preferred), "g"), g(aff(required()), "g"), ""},
		{"first required terms", "a pod without required terms may get any", g(aff(preferred), "g"), g(aff(required(requirements("a"), requirements("b"))), "g"), ""},
		{"term grows", "expressions may be appended", g(aff(required(requirements("a"))), "g"), g(aff(required(requirements("a", "b"))), "g"), ""},
		{"term changes", "the first expressions must stay", g(aff(required(requirements("a"))), "g"), g(aff(required(requirements("b", "a"))), "g"), terms + "[0]: Invalid value: {\"MatchExpressions\":[{\"Key\":\"b\""},
		{"fields grow", "fields may be appended, too", g(aff(required(named("n"))), "g"), g(aff(required(named("n", "m"))), "g"), ""},
		{"fields change", "the first fields must stay", g(aff(required(named("n"))), "g"), g(aff(required(named("m", "n"))), "g"), terms + "[0]: Invalid value"},
		{"fields go", "although the expressions stay", g(aff(required(named("n"))), "g"), g(aff(required(named())), "g"), terms + "[0]: Invalid value"},
		{"fields alone get an expression", "a term of fields is not empty", g(aff(required(fieldsOnly())), "g"), g(aff(required(named("n"))), "g"), ""},
		{"more terms", "terms are alternatives: another term would match more nodes", g(aff(required(requirements("a"))), "g"), g(aff(required(requirements("a"), requirements("b"))), "g"), terms + ": Invalid value"},
		{"affinity removed", "required terms must not go", g(aff(required(requirements("a"))), "g"), g(aff(nil), "g"), terms + ": Invalid value"},
		{"empty term", "an empty term matches nothing and must stay empty", g(aff(required(requirements())), "g"), g(aff(required(requirements("a"))), "g"), terms + "[0]: Invalid value"},
		{"pod affinity", "pod affinity is fixed even while the pod has gates", g(aff(nil), "g"), g(aff(pods), "g"), "spec: Forbidden: pod updates may not change fields other than"},
		{"first affinity", "a gated pod without any affinity may get node affinity", g(aff(nil), "g"), g(aff(preferred), "g"), ""},
		{"empty affinity", "a change, and not of node affinity", g(aff(nil), "g"), g(aff(&v1.Affinity{}), "g"), "spec: Forbidden: pod updates may not change fields other than"},
		{"new gate twice", "one error, at the last place", g(v1.PodSpec{}), g(v1.PodSpec{}, "foo", "foo"),
			"spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'foo'"},
		{"no change", "an equal spec is allowed", aff(pods), aff(pods.DeepCopy()), ""},
	}, func(t *testing.T, c updateCase) {
		errs := validateGates(&c.new, &c.old, field.NewPath("spec"))
		if c.err == "" {
			require.Empty(t, errs)
			return
		}
		require.Len(t, errs, 1)
		require.Contains(t, errs[0].Error(), c.err)
	})
}
