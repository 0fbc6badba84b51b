package lint

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/testkit"
)

// All that is said about random worlds.
func TestFindings(t *testing.T) {
	var texts strings.Builder
	for seed := range uint64(80) {
		write(&texts, fmt.Sprint(seed), checked(t, random(testkit.NewBytes(testkit.RandomBytes(seed+7e6, 60))).in))
	}
	testkit.Golden(t, "testdata/findings.txt", texts.String())
}

// A conflict is said exactly if no node meets the selector and the term: every value of the label is tried.
func TestConflict(t *testing.T) {
	some, none := 0, 0
	values := []string{"x", "y", "9223372036854775807"}
	for n := range 8 {
		values = append(values, strconv.Itoa(n))
	}
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 3))
		pick := func() string { return values[r.IntN(len(values))] }
		selector := map[string]string{}
		if r.IntN(4) == 0 {
			selector["k"] = pick()
		}
		var list []v1.NodeSelectorRequirement
		for range 1 + r.IntN(3) {
			q := v1.NodeSelectorRequirement{Key: "k", Operator: []v1.NodeSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}[r.IntN(6)]}
			switch q.Operator {
			case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
				for range 1 + r.IntN(3) {
					q.Values = append(q.Values, pick())
				}
			case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
				q.Values = []string{append(values, "-1", "-9223372036854775808")[2+r.IntN(len(values))]}
			}
			list = append(list, q)
		}
		term := v1.NodeSelectorTerm{MatchExpressions: list}
		pod := &v1.Pod{Spec: v1.PodSpec{NodeSelector: selector, Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}}}}}
		met := affinity.MatchNode(pod, &v1.Node{})
		for _, value := range append(values, "z", "8", "00", "01", "02", "03", "04", "05", "06", "07", "9223372036854775806") { // and values that no requirement names
			met = met || affinity.MatchNode(pod, &v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"k": value}}})
		}
		why := conflict(selector, term)
		require.Equal(t, met, why == "", "%v %v: %s", selector, list, why)
		if met {
			some++
		} else {
			none++
		}
	}
	require.Greater(t, min(some, none), 500)
}

// What makes a term that nothing meets, in words.
func TestConflictTexts(t *testing.T) {
	require := require.New(t)
	requirement := func(key string, op v1.NodeSelectorOperator, values ...string) v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{Key: key, Operator: op, Values: values}
	}
	for want, list := range map[string][]v1.NodeSelectorRequirement{
		"k Gt x is no number":                     {requirement("k", "Gt", "x")},
		"k Lt 0x10 is no number":                  {requirement("k", "Lt", "0x10")},
		"k Gt -1 is no label value":               {requirement("k", "Gt", "-1")},
		"no number is left for k":                 {requirement("k", "Gt", "3"), requirement("k", "Lt", "4")},
		"k must exist and must not exist":         {requirement("k", "Gt", "3"), requirement("k", "DoesNotExist")},
		"no value of k is left":                   {requirement("k", "In", "a", "b"), requirement("k", "NotIn", "b", "a")},
		"":                                        {requirement("k", "Gt", "3"), requirement("k", "Lt", "5"), requirement("l", "In", "b")},
		"no value of field metadata.name is left": nil,
	} {
		term := v1.NodeSelectorTerm{MatchExpressions: list}
		if list == nil {
			term.MatchFields = []v1.NodeSelectorRequirement{requirement("metadata.name", "In", "n1"), requirement("metadata.name", "NotIn", "n1")}
		}
		require.Equal(want, conflict(nil, term))
	}
	require.Equal("no value of k is left", conflict(map[string]string{"k": "a"}, v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{requirement("k", "In", "b")}}))
	require.Empty(conflict(map[string]string{"k": "a"}, v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{requirement("k", "In", "b")}}), "a field is no label")
}
