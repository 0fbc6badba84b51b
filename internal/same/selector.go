package same

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// AsSelector is metav1.LabelSelectorAsSelector, whose error is that of the first key of matchLabels that has one. The function of the
// API takes the keys in any order, so that its text is another one each time.
func AsSelector(s *metav1.LabelSelector) (labels.Selector, error) {
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
