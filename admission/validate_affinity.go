package admission

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/apiserver"
)

// validateAffinity checks spec.affinity, which is at path, after MergeLabelKeys. Rules: API reference, NodeAffinity, PodAffinityTerm;
// A11.1 to A11.7.
func validateAffinity(a *v1.Affinity, path *field.Path) field.ErrorList {
	if a == nil {
		return nil
	}
	var errs field.ErrorList
	if a.NodeAffinity != nil {
		errs = append(errs, validateNodeAffinity(a.NodeAffinity, path.Child("nodeAffinity"))...)
	}
	if p := a.PodAffinity; p != nil {
		errs = append(errs, validateTerms(p.RequiredDuringSchedulingIgnoredDuringExecution,
			p.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAffinity"))...)
	}
	if p := a.PodAntiAffinity; p != nil {
		errs = append(errs, validateTerms(p.RequiredDuringSchedulingIgnoredDuringExecution,
			p.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAntiAffinity"))...)
	}
	return errs
}

// validateNodeAffinity checks node affinity as the API server does. Illegal label values in preferred terms and operands of
// Gt and Lt that are not integers are accepted, as there.
func validateNodeAffinity(affinity *v1.NodeAffinity, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r := affinity.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
		errs = append(errs, validateNodeSelector(r, path.Child("requiredDuringSchedulingIgnoredDuringExecution"))...)
	}
	path = path.Child("preferredDuringSchedulingIgnoredDuringExecution")
	for i := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
		t := &affinity.PreferredDuringSchedulingIgnoredDuringExecution[i]
		errs = append(errs, validateWeight(t.Weight, path.Index(i))...)
		errs = append(errs, validateNodeTerm(&t.Preference, false, path.Index(i).Child("preference"))...)
	}
	return errs
}

// validateNodeSelector checks a required node selector as the API server does: at least one term, of which each may be
// empty.
func validateNodeSelector(selector *v1.NodeSelector, path *field.Path) field.ErrorList {
	path = path.Child("nodeSelectorTerms")
	if len(selector.NodeSelectorTerms) == 0 {
		return field.ErrorList{field.Required(path, "must have at least one node selector term")}
	}
	var errs field.ErrorList
	for i := range selector.NodeSelectorTerms {
		errs = append(errs, validateNodeTerm(&selector.NodeSelectorTerms[i], true, path.Index(i))...)
	}
	return errs
}

func validateNodeTerm(t *v1.NodeSelectorTerm, labelValues bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range t.MatchExpressions {
		errs = append(errs, validateRequirement(&t.MatchExpressions[i], labelValues, path.Child("matchExpressions").Index(i))...)
	}
	for i := range t.MatchFields {
		errs = append(errs, validateField(&t.MatchFields[i], path.Child("matchFields").Index(i))...)
	}
	return errs
}

func validateRequirement(r *v1.NodeSelectorRequirement, labelValues bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch r.Operator {
	case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
		if len(r.Values) == 0 {
			errs = append(errs, field.Required(path.Child("values"), "must be specified when `operator` is 'In' or 'NotIn'"))
		}
	case v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			errs = append(errs, field.Forbidden(path.Child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
		}
	case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			errs = append(errs, field.Required(path.Child("values"), "must be specified single value when `operator` is 'Lt' or 'Gt'"))
		}
	default:
		errs = append(errs, field.Invalid(path.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	errs = append(errs, metavalidation.ValidateLabelName(r.Key, path.Child("key"))...)
	if labelValues {
		for i, value := range r.Values {
			for _, msg := range validation.IsValidLabelValue(value) {
				errs = append(errs, field.Invalid(path.Child("values").Index(i), value, msg))
			}
		}
	}
	return errs
}

func validateField(r *v1.NodeSelectorRequirement, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch r.Operator {
	case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
		if len(r.Values) != 1 {
			errs = append(errs, field.Required(path.Child("values"), "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"))
		}
	default:
		errs = append(errs, field.Invalid(path.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	if r.Key != "metadata.name" {
		return append(errs, field.Invalid(path.Child("key"), r.Key, "not a valid field selector key"))
	}
	for i, value := range r.Values {
		for _, msg := range validation.IsDNS1123Subdomain(value) {
			errs = append(errs, field.Invalid(path.Child("values").Index(i), value, msg))
		}
	}
	return errs
}

func validateWeight(weight int32, path *field.Path) field.ErrorList {
	if weight < 1 || weight > 100 {
		return field.ErrorList{field.Invalid(path.Child("weight"), weight, "must be in the range 1-100")}
	}
	return nil
}

func validateTerms(required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range required {
		errs = append(errs, validateTerm(&required[i], path.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i))...)
	}
	path = path.Child("preferredDuringSchedulingIgnoredDuringExecution")
	for i := range preferred {
		errs = append(errs, validateWeight(preferred[i].Weight, path.Index(i))...)
		errs = append(errs, validateTerm(&preferred[i].PodAffinityTerm, path.Index(i).Child("podAffinityTerm"))...)
	}
	return errs
}

// validateTerm checks a term after MergeLabelKeys.
func validateTerm(t *v1.PodAffinityTerm, path *field.Path) field.ErrorList {
	options := metavalidation.LabelSelectorValidationOptions{}
	errs := apiserver.ValidateSelector(t.LabelSelector, options, path.Child("labelSelector"))
	errs = append(errs, apiserver.ValidateSelector(t.NamespaceSelector, options, path.Child("namespaceSelector"))...)
	for _, name := range t.Namespaces {
		for _, msg := range validation.IsDNS1123Label(name) {
			errs = append(errs, field.Invalid(path.Child("namespace"), name, msg))
		}
	}
	errs = append(errs, validateLabelKeys(t, path)...)
	if t.TopologyKey == "" {
		errs = append(errs, field.Required(path.Child("topologyKey"), "can not be empty"))
	}
	return append(errs, metavalidation.ValidateLabelName(t.TopologyKey, path.Child("topologyKey"))...)
}

func validateLabelKeys(t *v1.PodAffinityTerm, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, list := range [...]struct {
		name string
		keys []string
	}{{"matchLabelKeys", t.MatchLabelKeys}, {"mismatchLabelKeys", t.MismatchLabelKeys}} {
		if len(list.keys) == 0 {
			continue
		}
		p := path.Child(list.name)
		if t.LabelSelector == nil {
			errs = append(errs, field.Forbidden(p, "must not be specified when labelSelector is not set"))
			continue
		}
		for i, key := range list.keys {
			errs = append(errs, metavalidation.ValidateLabelName(key, p.Index(i))...)
		}
	}
	for i, key := range t.MatchLabelKeys {
		p := path.Child("matchLabelKeys").Index(i)
		if slices.Contains(t.MismatchLabelKeys, key) {
			errs = append(errs, field.Invalid(p, key, "exists in both matchLabelKeys and mismatchLabelKeys"))
		}
	}
	return append(errs, apiserver.DoubledKeys(t.MatchLabelKeys, t.LabelSelector, path)...)
}
