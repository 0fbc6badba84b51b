package admission

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/third_party/forked/golang/reflect"
)

// semantic compares as the API server does: nil and empty are equal.
var semantic reflect.Equalities

// GatedCondition returns the condition that the API server gives a pod with scheduling gates at its creation, without times.
// It returns false when the pod has no gates or has a PodScheduled condition already. A nil pod has no gates. Rule F15.2.
func GatedCondition(pod *v1.Pod) (v1.PodCondition, bool) {
	if pod == nil || len(pod.Spec.SchedulingGates) == 0 {
		return v1.PodCondition{}, false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodScheduled {
			return v1.PodCondition{}, false
		}
	}
	return v1.PodCondition{
		Type:    v1.PodScheduled,
		Status:  v1.ConditionFalse,
		Reason:  v1.PodReasonSchedulingGated,
		Message: "Scheduling is blocked due to non-empty scheduling gates",
	}, true
}

// ValidateGates checks the scheduling gates of a pod that is created (old is nil) or updated (old is the spec before).
//
// At creation every gate has a qualified name, no two gates have the same name, and spec.nodeName is empty. In an update:
//
//  1. Gates may be removed and reordered, but not added.
//  2. spec.nodeSelector changes only while the old pod has gates, and only by additions.
//  3. spec.affinity changes only while the old pod has gates, and only in its nodeAffinity. Preferred terms may change.
//     Required terms may change when there were none. Otherwise the number of terms stays the same, and each term may get
//     more expressions and fields at its end. An empty term stays empty.
//
// path is the path of the pod's spec; nil means "spec". The spec must not be nil. Rules F15.3 to F15.8: documentation, "Pod
// Scheduling Readiness", Mutable pod scheduling directives.
func ValidateGates(spec, old *v1.PodSpec, path *field.Path) field.ErrorList {
	if path == nil {
		path = field.NewPath("spec")
	}
	if old == nil {
		return newGates(spec, path)
	}
	var errs field.ErrorList
	had := map[string]bool{}
	for _, g := range old.SchedulingGates {
		had[g.Name] = true
	}
	for i, g := range spec.SchedulingGates {
		if !had[g.Name] {
			errs = append(errs, field.Forbidden(path.Child("schedulingGates").Index(i).Child("name"),
				"only deletion is allowed, but found new scheduling gate '"+g.Name+"'"))
		}
	}
	gated := len(old.SchedulingGates) > 0
	errs = append(errs, selectorUpdate(spec.NodeSelector, old.NodeSelector, gated, path.Child("nodeSelector"))...)
	return append(errs, affinityUpdate(spec.Affinity, old.Affinity, gated, path.Child("affinity"))...)
}

func newGates(spec *v1.PodSpec, path *field.Path) field.ErrorList {
	gates := path.Child("schedulingGates")
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, g := range spec.SchedulingGates {
		for _, text := range validation.IsQualifiedName(g.Name) {
			errs = append(errs, field.Invalid(gates.Index(i), g.Name, text))
		}
		if seen[g.Name] {
			errs = append(errs, field.Duplicate(gates.Index(i), g.Name))
		}
		seen[g.Name] = true
	}
	if len(spec.SchedulingGates) > 0 && spec.NodeName != "" {
		errs = append(errs, field.Forbidden(path.Child("nodeName"), "cannot be set until all schedulingGates have been cleared"))
	}
	return errs
}

func selectorUpdate(updated, old map[string]string, gated bool, path *field.Path) field.ErrorList {
	if semantic.DeepEqual(updated, old) {
		return nil
	}
	if !gated {
		return field.ErrorList{immutable(path)}
	}
	for key, value := range old {
		if v, ok := updated[key]; !ok || v != value {
			return field.ErrorList{field.Invalid(path, updated, "only additions to spec.nodeSelector are allowed (no mutations or deletions)")}
		}
	}
	return nil
}

func affinityUpdate(updated, old *v1.Affinity, gated bool, path *field.Path) field.ErrorList {
	if semantic.DeepEqual(updated, old) {
		return nil
	}
	if !gated {
		return field.ErrorList{immutable(path)}
	}
	var u, o v1.Affinity
	if updated != nil {
		u = *updated
	}
	if old != nil {
		o = *old
	}
	var errs field.ErrorList
	if !semantic.DeepEqual(u.PodAffinity, o.PodAffinity) {
		errs = append(errs, immutable(path.Child("podAffinity")))
	}
	if !semantic.DeepEqual(u.PodAntiAffinity, o.PodAntiAffinity) {
		errs = append(errs, immutable(path.Child("podAntiAffinity")))
	}
	terms := path.Child("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	return append(errs, termsUpdate(requiredTerms(u), requiredTerms(o), terms)...)
}

func requiredTerms(a v1.Affinity) []v1.NodeSelectorTerm {
	if a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}

func termsUpdate(updated, old []v1.NodeSelectorTerm, path *field.Path) field.ErrorList {
	if len(old) == 0 {
		return nil
	}
	if len(updated) != len(old) {
		return field.ErrorList{field.Invalid(path, updated, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")}
	}
	var errs field.ErrorList
	for i, o := range old {
		u := updated[i]
		empty := len(o.MatchExpressions) == 0 && len(o.MatchFields) == 0
		stays := len(u.MatchExpressions) == 0 && len(u.MatchFields) == 0
		if empty != stays && empty || !extends(u.MatchExpressions, o.MatchExpressions) || !extends(u.MatchFields, o.MatchFields) {
			errs = append(errs, field.Invalid(path.Index(i), u, "only additions are allowed (no mutations or deletions)"))
		}
	}
	return errs
}

// extends reports whether updated begins with all of old.
func extends(updated, old []v1.NodeSelectorRequirement) bool {
	return len(updated) >= len(old) && semantic.DeepEqual(updated[:len(old)], old[:len(old):len(old)])
}

func immutable(path *field.Path) *field.Error {
	return field.Forbidden(path, "may not change, except as documented for pods with scheduling gates")
}
