package admission

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

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

// validateGates checks an update of a pod whose spec was old, by rules F15.3 to F15.8: documentation, "Pod Scheduling Readiness", Mutable
// pod scheduling directives. [ValidateUpdate] has them in words.
func validateGates(spec, old *v1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	had, last := map[string]bool{}, map[string]int{}
	for _, g := range old.SchedulingGates {
		had[g.Name] = true
	}
	for i, g := range spec.SchedulingGates {
		last[g.Name] = i
	}
	for i, g := range spec.SchedulingGates {
		if !had[g.Name] && last[g.Name] == i { // a name that stands there twice is named once
			errs = append(errs, field.Forbidden(path.Child("schedulingGates").Index(i).Child("name"),
				"only deletion is allowed, but found new scheduling gate '"+g.Name+"'"))
		}
	}
	narrower, changed := placementUpdate(spec, old, path)
	errs = append(errs, narrower...)
	if changed {
		errs = append(errs, field.Forbidden(path, fixedText))
	}
	return errs
}

// placementUpdate checks changes of nodeSelector and affinity. changed reports whether they have a change that no update may
// make: any change without gates, and a change of inter-pod affinity. The API server says so of the spec as a whole.
func placementUpdate(spec, old *v1.PodSpec, path *field.Path) (errs field.ErrorList, changed bool) {
	if equality.Semantic.DeepEqual(spec.NodeSelector, old.NodeSelector) && equality.Semantic.DeepEqual(spec.Affinity, old.Affinity) {
		return nil, false
	}
	if len(old.SchedulingGates) == 0 {
		return nil, true
	}
	errs = selectorUpdate(spec.NodeSelector, old.NodeSelector, path.Child("nodeSelector"))
	now, was := nodeAffinity(spec.Affinity), nodeAffinity(old.Affinity)
	terms := path.Child("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	errs = append(errs, termsUpdate(requiredTerms(now), requiredTerms(was), terms)...)
	rest := spec.Affinity // with the old node affinity: what no update may change
	switch {
	case equality.Semantic.DeepEqual(now, was):
	case rest == nil && was != nil:
		rest = &v1.Affinity{NodeAffinity: was}
	case rest != nil && old.Affinity == nil && rest.PodAffinity == nil && rest.PodAntiAffinity == nil:
		rest = nil
	case rest != nil:
		rest = &v1.Affinity{NodeAffinity: was, PodAffinity: rest.PodAffinity, PodAntiAffinity: rest.PodAntiAffinity}
	}
	return errs, !equality.Semantic.DeepEqual(rest, old.Affinity)
}

func nodeAffinity(a *v1.Affinity) *v1.NodeAffinity {
	if a == nil {
		return nil
	}
	return a.NodeAffinity
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
		errs = append(errs, nodeWhileGated(path))
	}
	return errs
}

// nodeWhileGated is the error of a pod that has gates and a node. path is that of its spec.
func nodeWhileGated(path *field.Path) *field.Error {
	return field.Forbidden(path.Child("nodeName"), "cannot be set until all schedulingGates have been cleared")
}

func selectorUpdate(updated, old map[string]string, path *field.Path) field.ErrorList {
	for key, value := range old {
		if v, ok := updated[key]; !ok || v != value {
			return field.ErrorList{field.Invalid(path, updated, "only additions to spec.nodeSelector are allowed (no mutations or deletions)")}
		}
	}
	return nil
}

func requiredTerms(a *v1.NodeAffinity) []v1.NodeSelectorTerm {
	if a == nil || a.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}

func termsUpdate(updated, old []v1.NodeSelectorTerm, path *field.Path) field.ErrorList {
	if len(old) == 0 {
		return nil
	}
	if len(updated) != len(old) {
		return field.ErrorList{field.Invalid(path, internalTerms(updated), "no additions/deletions to non-empty NodeSelectorTerms list are allowed")}
	}
	var errs field.ErrorList
	for i, o := range old {
		u := updated[i]
		empty := len(o.MatchExpressions) == 0 && len(o.MatchFields) == 0
		stays := len(u.MatchExpressions) == 0 && len(u.MatchFields) == 0
		if empty != stays && empty || !extends(u.MatchExpressions, o.MatchExpressions) || !extends(u.MatchFields, o.MatchFields) {
			errs = append(errs, field.Invalid(path.Index(i), internalTerms(updated[i : i+1])[0], "only additions are allowed (no mutations or deletions)"))
		}
	}
	return errs
}

// extends reports whether updated begins with all of old.
func extends(updated, old []v1.NodeSelectorRequirement) bool {
	return len(updated) >= len(old) && equality.Semantic.DeepEqual(updated[:len(old)], old[:len(old):len(old)])
}

// internalTerm and internalRequirement print as the internal types of the API server do: with the names of the Go fields.
type internalTerm struct {
	MatchExpressions []internalRequirement
	MatchFields      []internalRequirement
}

type internalRequirement struct {
	Key      string
	Operator v1.NodeSelectorOperator
	Values   []string
}

func internalTerms(list []v1.NodeSelectorTerm) []internalTerm {
	if list == nil {
		return nil
	}
	out := []internalTerm{}
	for _, t := range list {
		out = append(out, internalTerm{internalRequirements(t.MatchExpressions), internalRequirements(t.MatchFields)})
	}
	return out
}

func internalRequirements(list []v1.NodeSelectorRequirement) []internalRequirement {
	var out []internalRequirement
	for _, r := range list {
		if len(r.Values) == 0 {
			r.Values = nil
		}
		out = append(out, internalRequirement(r))
	}
	return out
}
