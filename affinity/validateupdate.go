package affinity

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateGatedUpdate checks what an update may change in node selection while the old pod has scheduling gates, as the API
// server does; without gates nothing may change. nodeSelector: pairs may be added. Required node affinity: anything when
// the old pod has no terms, else each term may be extended at its end, and neither may terms come or go nor an empty term
// be filled. Preferred node affinity is free. Inter-pod affinity may not change. (Pod Scheduling Readiness, Mutable pod
// scheduling directives.)
func ValidateGatedUpdate(old, new *v1.Pod) field.ErrorList {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	for key, value := range old.Spec.NodeSelector {
		if now, ok := new.Spec.NodeSelector[key]; !ok || now != value {
			errs = append(errs, field.Invalid(spec.Child("nodeSelector"), new.Spec.NodeSelector,
				"only additions to spec.nodeSelector are allowed (no mutations or deletions)"))
			break
		}
	}
	path := spec.Child("affinity")
	errs = append(errs, validateGatedNodeAffinity(requiredTerms(old), requiredTerms(new),
		path.Child("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"))...)
	oldAffinity, oldAnti := podAffinity(old)
	newAffinity, newAnti := podAffinity(new)
	if !reflect.DeepEqual(oldAffinity, newAffinity) {
		errs = append(errs, field.Invalid(path.Child("podAffinity"), newAffinity, "field is immutable"))
	}
	if !reflect.DeepEqual(oldAnti, newAnti) {
		errs = append(errs, field.Invalid(path.Child("podAntiAffinity"), newAnti, "field is immutable"))
	}
	return errs
}

func requiredTerms(pod *v1.Pod) []v1.NodeSelectorTerm {
	a := nodeAffinity(pod)
	if a == nil || a.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}

func validateGatedNodeAffinity(old, new []v1.NodeSelectorTerm, path *field.Path) field.ErrorList {
	if len(old) == 0 {
		return nil
	}
	if len(old) != len(new) {
		return field.ErrorList{field.Invalid(path, new, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")}
	}
	var errs field.ErrorList
	for i := range old {
		extended := extends(old[i].MatchExpressions, new[i].MatchExpressions) && extends(old[i].MatchFields, new[i].MatchFields)
		if !extended || emptyTerm(&old[i]) && !emptyTerm(&new[i]) {
			errs = append(errs, field.Invalid(path.Index(i), new[i], "only additions are allowed (no mutations or deletions)"))
		}
	}
	return errs
}

// extends reports whether new begins with old.
func extends(old, new []v1.NodeSelectorRequirement) bool {
	if len(new) < len(old) {
		return false
	}
	for i := range old {
		if !reflect.DeepEqual(old[i], new[i]) {
			return false
		}
	}
	return true
}
