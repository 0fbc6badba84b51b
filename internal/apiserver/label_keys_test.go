package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/apiserver"
	"github.com/podberth/podberth/internal/testkit"
)

func TestDoubled(t *testing.T) {
	type test struct {
		name, why string
		keys      []string
		selector  *metav1.LabelSelector
		want      []string
	}
	selector := func(labels string, keys ...string) *metav1.LabelSelector {
		s := &metav1.LabelSelector{}
		if labels != "" {
			s.MatchLabels = map[string]string{labels: "1"}
		}
		for _, key := range keys {
			s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpExists})
		}
		return s
	}
	twice := func(at, key string) string {
		return "term" + at + `: Invalid value: "` + key + `": exists in both matchLabelKeys and labelSelector`
	}
	testkit.Run(t, []test{
		{"no selector", "there is nothing to merge with", []string{"a"}, nil, nil},
		{"no keys", "only keys of the list count", nil, selector("a", "a"), nil},
		{"merged once", "the requirement is that of the key", []string{"a"}, selector("", "a"), nil},
		{"beside a label", "the label is the author's", []string{"a"}, selector("a", "a"), []string{twice("[0]", "a")}},
		{"beside a requirement", "the first is the author's", []string{"a"}, selector("", "a", "a"), []string{twice("[0]", "a")}},
		{"three times", "each after the first", []string{"a"}, selector("", "a", "a", "a"), []string{twice("[0]", "a"), twice("[0]", "a")}},
		{"other keys", "do not count", []string{"a"}, selector("b", "b", "b", "a"), nil},
		{"several", "in the order of the selector, at the index of the key", []string{"a", "b"}, selector("", "b", "a", "b", "a"), []string{twice("[1]", "b"), twice("[0]", "a")}},
		{"a key listed twice", "the last index counts", []string{"a", "a"}, selector("a", "a"), []string{twice("[1]", "a")}},
	}, func(t *testing.T, c test) {
		var got []string
		for _, err := range apiserver.DoubledKeys(c.keys, c.selector, field.NewPath("term")) {
			got = append(got, err.Error())
		}
		require.Equal(t, c.want, got)
	})
}
