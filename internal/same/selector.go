package same

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/internal/legal"
)

// AsSelector is metav1.LabelSelectorAsSelector, whose error is that of the first key of matchLabels that has one. The function of the
// API takes the keys in any order, so that its text is another one each time.
func AsSelector(s *metav1.LabelSelector) (labels.Selector, error) {
	if plain(s) { // most selectors; the function of the API takes five times as long
		return labels.SelectorFromValidatedSet(s.MatchLabels), nil
	}
	out, err := metav1.LabelSelectorAsSelector(s)
	if err == nil {
		return out, nil
	}
	for _, k := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		if _, first := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchLabels: map[string]string{k: s.MatchLabels[k]}}); first != nil {
			return nil, first
		}
	}
	return nil, err // of an expression: a list has an order
}

// plain reports whether a selector has legal label pairs and nothing else.
func plain(s *metav1.LabelSelector) bool {
	if s == nil || len(s.MatchLabels) == 0 || len(s.MatchExpressions) > 0 {
		return false
	}
	for k, v := range s.MatchLabels {
		if !legal.Key(k) || !legal.Value(v) {
			return false
		}
	}
	return true
}
