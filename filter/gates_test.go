package filter

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

func gates(names ...string) []v1.PodSchedulingGate {
	var out []v1.PodSchedulingGate
	for _, n := range names {
		out = append(out, v1.PodSchedulingGate{Name: n})
	}
	return out
}

func TestGated(t *testing.T) {
	p := pod("p")
	_, gated := Gated(p)
	require.False(t, gated)
	_, ok := GatedCondition(p)
	require.False(t, ok)
	p.Spec.SchedulingGates = gates("foo", "bar")
	message, gated := Gated(p)
	require.True(t, gated)
	require.Equal(t, "waiting for scheduling gates: [foo bar]", message)
	c, ok := GatedCondition(p)
	require.True(t, ok)
	require.Equal(t, v1.PodCondition{Type: "PodScheduled", Status: "False", Reason: "SchedulingGated",
		Message: "Scheduling is blocked due to non-empty scheduling gates"}, c)
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled}}
	_, ok = GatedCondition(p)
	require.False(t, ok, "a condition that is there stays")
}

func TestValidateGates(t *testing.T) {
	require.Empty(t, ValidateGates(&v1.PodSpec{SchedulingGates: gates("foo", "example.com/foo")}, nil, nil))
	require.Empty(t, ValidateGates(&v1.PodSpec{NodeName: "n"}, nil, nil))
	errs := ValidateGates(&v1.PodSpec{SchedulingGates: gates("a", "a")}, nil, nil)
	require.Len(t, errs, 1)
	require.Equal(t, `spec.schedulingGates[1]: Duplicate value: "a"`, errs[0].Error())
	errs = ValidateGates(&v1.PodSpec{SchedulingGates: gates("a"), NodeName: "n"}, nil, nil)
	require.Equal(t, "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared", errs[0].Error())
	errs = ValidateGates(&v1.PodSpec{SchedulingGates: gates("bad name")}, nil, nil)
	require.Len(t, errs, 1)
	require.Equal(t, "spec.schedulingGates[0]", errs[0].Field)
}

type updateCase struct {
	name, why string
	old, new  v1.PodSpec
	err       string // a part of the only error; "": allowed
}

func (c updateCase) title() (string, string) { return c.name, c.why }

func required(terms ...v1.NodeSelectorTerm) *v1.Affinity {
	return &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: terms}}}
}

func term(keys ...string) v1.NodeSelectorTerm {
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
	preferred := &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 1, Preference: term("a")}}}}
	pods := &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{TopologyKey: "z"}}}}
	const terms = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
	unique(t, []updateCase{
		{"remove one", "any gate may go first", g(v1.PodSpec{}, "a", "b"), g(v1.PodSpec{}, "b"), ""},
		{"remove all", "the pod is free", g(v1.PodSpec{}, "a", "b"), g(v1.PodSpec{}), ""},
		{"reorder", "the order may change", g(v1.PodSpec{}, "a", "b"), g(v1.PodSpec{}, "b", "a"), ""},
		{"add to none", "gates come at creation only", g(v1.PodSpec{}), g(v1.PodSpec{}, "foo"),
			"spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'foo'"},
		{"replace", "a new name is an addition", g(v1.PodSpec{}, "a", "b"), g(v1.PodSpec{}, "a", "c"),
			"spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'c'"},
		{"selector grows while gated", "additions narrow", g(selector("a", "1"), "g"), g(selector("a", "1", "b", "2"), "g"), ""},
		{"selector grows with the last gate's removal", "both may be one update", g(selector(), "g"), g(selector("b", "2")), ""},
		{"selector changes", "no mutation", g(selector("a", "1"), "g"), g(selector("a", "2"), "g"),
			"only additions to spec.nodeSelector are allowed (no mutations or deletions)"},
		{"selector shrinks", "no deletion", g(selector("a", "1"), "g"), g(selector("b", "1"), "g"),
			"only additions to spec.nodeSelector are allowed (no mutations or deletions)"},
		{"selector of a free pod", "without gates it is fixed", selector("a", "1"), selector("a", "1", "b", "2"), "spec.nodeSelector: Forbidden"},
		{"affinity of a free pod", "without gates it is fixed", aff(nil), aff(preferred), "spec.affinity: Forbidden"},
		{"preferred terms", "free while gated", g(aff(preferred), "g"), g(aff(required()), "g"), ""},
		{"first required terms", "anything when there were none", g(aff(preferred), "g"), g(aff(required(term("a"), term("b"))), "g"), ""},
		{"term grows", "expressions are appended", g(aff(required(term("a"))), "g"), g(aff(required(term("a", "b"))), "g"), ""},
		{"term changes", "what was there stays", g(aff(required(term("a"))), "g"), g(aff(required(term("b", "a"))), "g"), terms + "[0]: Invalid value"},
		{"more terms", "terms are alternatives: one more widens", g(aff(required(term("a"))), "g"), g(aff(required(term("a"), term("b"))), "g"), terms + ": Invalid value"},
		{"affinity removed", "the terms are gone", g(aff(required(term("a"))), "g"), g(aff(nil), "g"), terms + ": Invalid value"},
		{"empty term", "it matches nothing and must stay so", g(aff(required(term())), "g"), g(aff(required(term("a"))), "g"), terms + "[0]: Invalid value"},
		{"pod affinity", "fixed even while gated", g(aff(nil), "g"), g(aff(pods), "g"), "spec.affinity.podAntiAffinity: Forbidden"},
		{"nothing", "an equal spec is allowed", aff(pods), aff(pods.DeepCopy()), ""},
	}, func(t *testing.T, c updateCase) {
		errs := ValidateGates(&c.new, &c.old, nil)
		if c.err == "" {
			require.Empty(t, errs)
			return
		}
		require.Len(t, errs, 1)
		require.Contains(t, errs[0].Error(), c.err)
	})
}
