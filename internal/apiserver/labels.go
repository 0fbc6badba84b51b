package apiserver

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateLabels returns the errors of metavalidation.ValidateLabels in the order of the keys. The API server returns them in any order.
func ValidateLabels(labels map[string]string, path *field.Path) (errs field.ErrorList) {
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		errs = append(errs, metavalidation.ValidateLabels(map[string]string{k: labels[k]}, path)...)
	}
	return errs
}

// ValidateSelector returns the errors of metavalidation.ValidateLabelSelector, those of matchLabels in the order of the keys. It returns
// none for a nil selector.
func ValidateSelector(s *metav1.LabelSelector, o metavalidation.LabelSelectorValidationOptions, path *field.Path) field.ErrorList {
	if s == nil {
		return nil
	}
	expressions := &metav1.LabelSelector{MatchExpressions: s.MatchExpressions}
	return append(ValidateLabels(s.MatchLabels, path.Child("matchLabels")), metavalidation.ValidateLabelSelector(expressions, o, path)...)
}
