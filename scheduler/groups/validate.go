package groups

import (
	"k8s.io/api/scheduling/v1alpha3"
	"k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/podgroup"
)

// Validate returns what the API server refuses in the spec of a new PodGroup, with all gates of groups on: none or several of what must
// be one, and what [podgroup.ValidateGroup] refuses. Nil disruption modes are the default, Single.
func Validate(o *v1beta1.PodGroup) field.ErrorList {
	s, at := &o.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if r := s.WorkloadRef; r != nil {
		errs = workload(at, r.WorkloadName, r.TemplateName)
	} else if s.ParentCompositePodGroupName != nil {
		errs = append(errs, field.Required(at.Child("workloadRef"), "must be set when parentCompositePodGroupName is set"))
	}
	errs = append(errs, emptyParent(at, s.ParentCompositePodGroupName)...)
	p := s.SchedulingPolicy
	errs = append(errs, one(at.Child("schedulingPolicy"), "basic", p.Basic != nil, "gang", p.Gang != nil)...)
	if m := s.DisruptionMode; m != nil {
		errs = append(errs, one(at.Child("disruptionMode"), "single", m.Single != nil, "all", m.All != nil)...)
	}
	return append(errs, podgroup.ValidateGroup(Of(o), nil)...)
}

// ValidateComposite is [Validate] for a composite group.
func ValidateComposite(o *v1alpha3.CompositePodGroup) field.ErrorList {
	s, at := &o.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if r := s.WorkloadRef; r != nil {
		errs = workload(at, r.WorkloadName, r.TemplateName)
	} else {
		errs = append(errs, field.Required(at.Child("workloadRef"), ""))
	}
	errs = append(errs, emptyParent(at, s.ParentCompositePodGroupName)...)
	p := s.SchedulingPolicy
	errs = append(errs, one(at.Child("schedulingPolicy"), "basic", p.Basic != nil, "gang", p.Gang != nil)...)
	if m := s.DisruptionMode; m != nil {
		errs = append(errs, one(at.Child("disruptionMode"), "single", m.Single != nil, "all", m.All != nil)...)
	}
	return append(errs, podgroup.ValidateComposite(OfComposite(o), nil)...)
}

// workload checks a reference to a workload.
func workload(spec *field.Path, workload, template string) field.ErrorList {
	at := spec.Child("workloadRef")
	return append(name(at.Child("workloadName"), workload, content.IsDNS1123Subdomain), name(at.Child("templateName"), template, content.IsDNS1123Label)...)
}

// name checks a name that must be set. problems says what is wrong with its form.
func name(at *field.Path, value string, problems func(string) []string) (errs field.ErrorList) {
	if value == "" {
		return field.ErrorList{field.Required(at, "")}
	}
	for _, problem := range problems(value) {
		errs = append(errs, field.Invalid(at, value, problem))
	}
	return errs
}

// emptyParent checks that a parent that is set has a name. Of other names [podgroup.ValidateGroup] checks the form.
func emptyParent(spec *field.Path, parent *string) (errs field.ErrorList) {
	if parent != nil && *parent == "" {
		for _, problem := range content.IsDNS1123Subdomain("") {
			errs = append(errs, field.Invalid(spec.Child("parentCompositePodGroupName"), "", problem))
		}
	}
	return errs
}

// one checks that one of two fields is set.
func one(at *field.Path, a string, hasA bool, b string, hasB bool) field.ErrorList {
	switch {
	case !hasA && !hasB:
		return field.ErrorList{field.Invalid(at, "", "must specify one of: `"+a+"`, `"+b+"`")}
	case hasA && hasB:
		return field.ErrorList{field.Invalid(at, "{"+a+", "+b+"}", "must specify exactly one of: `"+a+"`, `"+b+"`")}
	}
	return nil
}
