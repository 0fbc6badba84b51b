package spread

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/apiserver"
	"github.com/podberth/podberth/internal/testkit"
)

func texts(errs field.ErrorList) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}

func TestValidate(t *testing.T) {
	set := func(f func(*v1.TopologySpreadConstraint)) []v1.TopologySpreadConstraint {
		return []v1.TopologySpreadConstraint{by("zone", 1, hard, f)}
	}
	bogus, honour, ignore := v1.NodeInclusionPolicy("B"), v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore
	const p = "spec.topologySpreadConstraints"
	type test struct {
		name, why string
		list      []v1.TopologySpreadConstraint
		want      []string
	}
	tests := []test{
		{"valid", "the usual constraint", set(func(*v1.TopologySpreadConstraint) {}), nil},
		{"maxSkew 0", "must be positive", set(func(c *v1.TopologySpreadConstraint) { c.MaxSkew = 0 }), []string{p + "[0].maxSkew: Invalid value: 0: must be greater than zero"}},
		{"no topologyKey", "required", set(func(c *v1.TopologySpreadConstraint) { c.TopologyKey = "" }), []string{p + "[0].topologyKey: Required value: can not be empty"}},
		{"bad topologyKey", "the syntax of the key is not checked", set(func(c *v1.TopologySpreadConstraint) { c.TopologyKey = "bad key!" }), nil},
		{"no action", "there is no default", set(func(c *v1.TopologySpreadConstraint) { c.WhenUnsatisfiable = "" }), []string{p + `[0].whenUnsatisfiable: Unsupported value: "": supported values: "DoNotSchedule", "ScheduleAnyway"`}},
		{"repeated", "the error is on the earlier index", []v1.TopologySpreadConstraint{by("zone", 1, hard), by("zone", 2, soft), by("zone", 3, hard)},
			[]string{p + `[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, DoNotSchedule}"`}},
		{"one key for both actions", "legal", []v1.TopologySpreadConstraint{by("zone", 1, hard), by("zone", 2, soft)}, nil},
		{"minDomains 0", "must be positive", set(minDomains(0)), []string{p + "[0].minDomains: Invalid value: 0: must be greater than zero"}},
		{"minDomains soft", "only with DoNotSchedule", []v1.TopologySpreadConstraint{by("zone", 1, soft, minDomains(2))},
			[]string{p + "[0].minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"}},
		{"unknown policies", "Honor or Ignore", set(func(c *v1.TopologySpreadConstraint) { c.NodeAffinityPolicy, c.NodeTaintsPolicy = &bogus, &bogus }),
			[]string{p + `[0].nodeAffinityPolicy: Unsupported value: "B": supported values: "Honor", "Ignore"`, p + `[0].nodeTaintsPolicy: Unsupported value: "B": supported values: "Honor", "Ignore"`}},
		{"matchLabelKeys without selector", "forbidden", set(func(c *v1.TopologySpreadConstraint) { noSelector(c); c.MatchLabelKeys = []string{"a"} }),
			[]string{p + "[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set"}},
		{"two keys for one action", "legal", []v1.TopologySpreadConstraint{by("zone", 1, hard), by("rack", 2, hard)}, nil},
		{"minDomains 1", "the least", set(minDomains(1)), nil},
		{"known policies", "Honor and Ignore", append(set(func(c *v1.TopologySpreadConstraint) { c.NodeAffinityPolicy, c.NodeTaintsPolicy = &honour, &ignore }),
			by("rack", 1, hard, func(c *v1.TopologySpreadConstraint) { c.NodeAffinityPolicy, c.NodeTaintsPolicy = &ignore, &honour })), nil},
		{"nil selector", "legal", set(noSelector), nil},
		{"empty selector", "legal", set(emptySelector), nil},
		{"key in both", "the key appears twice after the merge; the path is v1.36's", merged(constrained("a=x", by("zone", 1, hard, func(c *v1.TopologySpreadConstraint) {
			c.LabelSelector.MatchLabels = map[string]string{"a": "x"}
			c.MatchLabelKeys = []string{"a"}
		}))), []string{p + `[0][0]: Invalid value: "a": exists in both matchLabelKeys and labelSelector`}},
		{"key in both but absent from the pod", "nothing is merged, nothing is seen", merged(constrained("", by("zone", 1, hard, func(c *v1.TopologySpreadConstraint) {
			c.LabelSelector.MatchLabels = map[string]string{"a": "x"}
			c.MatchLabelKeys = []string{"a"}
		}))), nil},
		{"all at once", "errors are collected", []v1.TopologySpreadConstraint{{}},
			[]string{p + "[0].maxSkew: Invalid value: 0: must be greater than zero", p + "[0].topologyKey: Required value: can not be empty",
				p + `[0].whenUnsatisfiable: Unsupported value: "": supported values: "DoNotSchedule", "ScheduleAnyway"`}},
	}
	testkit.Run(t, tests, func(t *testing.T, tc test) {
		assert.Equal(t, tc.want, texts(apiserver.ValidateSpread(tc.list, field.NewPath("spec", "topologySpreadConstraints"))))
	})
	t.Run("bad matchLabelKey", func(t *testing.T) {
		errs := apiserver.ValidateSpread(set(matchKeys("ok", "bad key!")), field.NewPath("c"))
		require.Len(t, errs, 1)
		assert.Equal(t, "c[0].matchLabelKeys[1]", errs[0].Field)
	})
	t.Run("bad selector", func(t *testing.T) {
		errs := apiserver.ValidateSpread(set(func(c *v1.TopologySpreadConstraint) {
			c.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Bogus"}}}
		}), field.NewPath("c"))
		require.Len(t, errs, 1)
		assert.Equal(t, "c[0].labelSelector.matchExpressions[0].operator", errs[0].Field)
	})
}

func TestWarnings(t *testing.T) {
	list := []v1.TopologySpreadConstraint{by("zone", 1, hard, emptySelector), by("zone", 1, soft, noSelector)}
	assert.Equal(t, []string{"spec.topologySpreadConstraints[1].labelSelector: a null labelSelector results in matching no pod"},
		apiserver.SpreadWarnings(list, field.NewPath("spec", "topologySpreadConstraints")))
}

// merged returns the constraints of a new pod as the API server stores them.
func merged(pod *v1.Pod) []v1.TopologySpreadConstraint {
	pod = pod.DeepCopy()
	apiserver.MergeSpreadKeys(pod)
	return pod.Spec.TopologySpreadConstraints
}

func TestMergeMatchLabelKeys(t *testing.T) {
	pod := constrained("foo=bar,rev=1", by("zone", 1, hard, matchKeys("rev", "missing")), by("zone", 1, soft, noSelector, matchKeys("rev")))
	merged := merged(pod)
	assert.Equal(t, []metav1.LabelSelectorRequirement{{Key: "rev", Operator: "In", Values: []string{"1"}}}, merged[0].LabelSelector.MatchExpressions)
	assert.Equal(t, []string{"rev", "missing"}, merged[0].MatchLabelKeys, "keys stay")
	assert.Nil(t, merged[1].LabelSelector, "nothing is merged into an absent selector")

	f := four().run("node1*2", "foo=bar,rev=1")
	pod.Spec.TopologySpreadConstraints = merged
	pass, _, _ := verdicts(f, mustHard(t, pod, Options{}).count(f).Check)
	assert.Equal(t, "node3 node4", pass, "merging twice is merging once")
	pod.Labels["rev"] = "2"
	h := mustHard(t, pod, Options{})
	pass, _, _ = verdicts(f, h.count(f).Check)
	assert.Equal(t, "node1 node2 node3 node4", pass, "after a change of the label the selector requires both values: the constraint never blocks")
	assert.Zero(t, h.self)
}

func TestValidateDefaults(t *testing.T) {
	path := field.NewPath("")
	one := func(f func(*v1.TopologySpreadConstraint)) Defaults {
		c := by("zone", 1, hard, noSelector)
		f(&c)
		return Defaults{ListDefaulting, []v1.TopologySpreadConstraint{c}}
	}
	same := func(*v1.TopologySpreadConstraint) {}
	type test struct {
		name, why string
		d         Defaults
		want      []string
	}
	tests := []test{
		{"system", "the default", Defaults{Type: systemDefaulting}, nil},
		{"empty list", "no defaults", Defaults{Type: ListDefaulting}, nil},
		{"list", "a legal constraint", one(same), nil},
		{"unknown type", "System or List", Defaults{Type: "X"}, []string{`defaultingType: Unsupported value: "X": supported values: "System", "List"`}},
		{"no type", "after defaulting there is one", Defaults{}, []string{`defaultingType: Unsupported value: "": supported values: "System", "List"`}},
		{"system with constraints", "one or the other", Defaults{systemDefaulting, one(same).Constraints}, []string{`defaultingType: Invalid value: "System": when .defaultConstraints are not empty`}},
		{"maxSkew", "must be positive", one(func(c *v1.TopologySpreadConstraint) { c.MaxSkew = 0 }), []string{"defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)"}},
		{"no key", "required", one(func(c *v1.TopologySpreadConstraint) { c.TopologyKey = "" }), []string{"defaultConstraints[0].topologyKey: Required value: can not be empty"}},
		{"no action", "required", one(func(c *v1.TopologySpreadConstraint) { c.WhenUnsatisfiable = "" }), []string{"defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty"}},
		{"unknown action", "one of two", one(func(c *v1.TopologySpreadConstraint) { c.WhenUnsatisfiable = "X" }),
			[]string{`defaultConstraints[0].whenUnsatisfiable: Unsupported value: "X": supported values: "DoNotSchedule", "ScheduleAnyway"`}},
		{"selector", "derived for each pod", one(emptySelector), []string{"defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector, as they deduced for each pod"}},
		{"repeated", "the error is on the later index", Defaults{ListDefaulting, []v1.TopologySpreadConstraint{by("k", 1, hard, noSelector), by("k", 2, hard, noSelector)}},
			[]string{`defaultConstraints[1]: Duplicate value: "{k, DoNotSchedule}"`}},
		{"not checked", "minDomains and policies", one(func(c *v1.TopologySpreadConstraint) {
			minDomains(-1)(c)
			affinityPolicy("B")(c)
		}), nil},
	}
	testkit.Run(t, tests, func(t *testing.T, tc test) {
		var got []string
		for _, e := range ValidateDefaults(tc.d, nil) {
			got = append(got, e.Error())
		}
		assert.Equal(t, tc.want, got)
	})
	errs := ValidateDefaults(one(func(c *v1.TopologySpreadConstraint) { c.TopologyKey = "bad key!" }), path)
	require.Len(t, errs, 1, "stricter than the pod's field")
}
