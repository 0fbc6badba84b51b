package affinity_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/testkit"
)

// TestLabelSelector tests which pods a labelSelector matches, with an anti-affinity term for the node itself.
func TestLabelSelector(t *testing.T) {
	expr := func(op metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: op, Values: values}}}
	}
	type test struct {
		name, why string
		selector  *metav1.LabelSelector
		want      string // the matching pods among x (app=x), y (app=y) and none
		err       string
	}
	testkit.Run(t, []test{
		{"nil", "matches nothing", nil, "", ""},
		{"empty", "matches everything", &metav1.LabelSelector{}, "x y none", ""},
		{"matchLabels", "present and equal", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}, "x", ""},
		{"matchLabels and expressions", "both hold", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"},
			MatchExpressions: expr("NotIn", "x").MatchExpressions}, "", ""},
		{"In", "present and in the list", expr("In", "x", "z", "x"), "x", ""},
		{"NotIn", "absent or not in the list", expr("NotIn", "x"), "y none", ""},
		{"Exists", "present", expr("Exists"), "x y", ""},
		{"DoesNotExist", "absent", expr("DoesNotExist"), "none", ""},
		{"unknown operator", "unusable", expr("Bogus", "x"), "", `"Bogus" is not a valid label selector operator`},
		{"Gt", "not for pods", expr("Gt", "1"), "", `"Gt" is not a valid label selector operator`},
		{"In nothing", "unusable", expr("In"), "", "values set can't be empty"},
		{"NotIn nothing", "unusable", expr("NotIn"), "", "values set can't be empty"},
		{"Exists with value", "unusable", expr("Exists", "x"), "", "values set must be empty"},
		{"bad value", "unusable", expr("In", "bad value!"), "", "a valid label must be"},
		{"bad key", "unusable", &metav1.LabelSelector{MatchLabels: map[string]string{"bad key": ""}}, "", "name part must consist of"},
	}, func(t *testing.T, tc test) {
		p := pod("d", "", "anti h app")
		p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector = tc.selector
		w := newWorld(node("x", "h=x"), node("y", "h=y"), node("none", "h=none")).
			run("x", pod("d", "app=x")).run("y", pod("d", "app=y")).run("none", pod("d", ""))
		_, err := affinity.CompileFull(p, affinity.PodOptions{})
		if tc.err != "" {
			require.ErrorContains(t, err, tc.err)
			return
		}
		require.NoError(t, err)
		s, got := count(w, p, affinity.PodOptions{}), ""
		for i, n := range w.nodes {
			if s.Check(i) != 0 {
				if got != "" {
					got += " "
				}
				got += n.Name
			}
		}
		require.Equal(t, tc.want, got)
	})
}

// The API server merges matchLabelKeys into the selector. The scheduler does not read them.
func TestLabelKeysAreNotRead(t *testing.T) {
	p := pod("d", "app=x,rev=2", "anti h app=x")
	p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].MatchLabelKeys = []string{"rev"}
	w := tableWorld().run("n1", pod("d", "app=x,rev=1"))
	require.Equal(t, "n1:anti n2:ok n3:ok n4:ok", verdicts(w, count(w, p, affinity.PodOptions{}).Check), "the scheduler does not read the lists")
	require.Equal(t, "n1:ok n2:ok n3:ok n4:ok", verdicts(w, count(w, admission.MergeLabelKeys(p), affinity.PodOptions{}).Check))
}
