package apiserver

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DoubledKeys returns an error for every requirement of selector about a key of keys that has a requirement before. The selector is
// the one into which the API server has merged the keys, so that a key of the author's own selector stands there twice. The
// errors are in the order of the selector. Each is at the last index of the key below path, which is the path of the
// constraint or term: the API server leaves out the name of the list.
func DoubledKeys(keys []string, selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	last, seen := map[string]int{}, map[string]bool{}
	for i, key := range keys {
		last[key] = i
		_, seen[key] = selector.MatchLabels[key]
	}
	var errs field.ErrorList
	for i := range selector.MatchExpressions {
		key := selector.MatchExpressions[i].Key
		at, listed := last[key]
		if listed && seen[key] {
			errs = append(errs, field.Invalid(path.Index(at), key, "exists in both matchLabelKeys and labelSelector"))
		}
		seen[key] = true
	}
	return errs
}
