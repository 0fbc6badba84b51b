package admission

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/podinfo"
)

// validateNewClass checks a class that is created:
//
//  1. The name is a DNS subdomain. A name that begins with "system-" is that of a built-in class, with its value and
//     without globalDefault.
//  2. The value of any other class is at most 1000000000. There is no lower bound.
//  3. The preemption policy is absent, Never or PreemptLowerPriority.
//
// Rules P1.10 to P1.12: documentation, "Pod Priority and Preemption" (PriorityClass).
func validateNewClass(class *schedulingv1.PriorityClass) field.ErrorList {
	var errs field.ErrorList
	name := field.NewPath("metadata", "name")
	if class.Name == "" {
		errs = append(errs, field.Required(name, "name or generateName is required"))
	} else {
		for _, message := range validation.IsDNS1123Subdomain(class.Name) {
			errs = append(errs, field.Invalid(name, class.Name, message))
		}
	}
	if strings.HasPrefix(class.Name, systemPrefix) {
		if problem := notBuiltIn(class); problem != "" {
			errs = append(errs, field.Forbidden(name, "priority class names with 'system-' prefix are reserved for system use only. error: "+problem))
		}
	} else if class.Value > podinfo.HighestOfUsers {
		errs = append(errs, field.Forbidden(field.NewPath("value"), fmt.Sprintf("maximum allowed value of a user defined priority is %d", podinfo.HighestOfUsers)))
	}
	if p := class.PreemptionPolicy; p != nil && *p == "" {
		errs = append(errs, field.Required(field.NewPath("preemptionPolicy"), ""))
	} else if p != nil && *p != v1.PreemptNever && *p != v1.PreemptLowerPriority {
		errs = append(errs, field.NotSupported(field.NewPath("preemptionPolicy"), *p, []v1.PreemptionPolicy{v1.PreemptLowerPriority, v1.PreemptNever}))
	}
	return errs
}

// notBuiltIn returns how a class differs from the built-in class of its name; "" if it does not differ.
func notBuiltIn(class *schedulingv1.PriorityClass) string {
	for _, c := range SystemPriorityClasses() {
		switch {
		case c.Name != class.Name:
		case c.Value != class.Value:
			return fmt.Sprintf("value of %s PriorityClass must be %d", c.Name, c.Value)
		case class.GlobalDefault:
			return fmt.Sprintf("globalDefault of %s PriorityClass must be false", c.Name)
		default:
			return ""
		}
	}
	return class.Name + " is not a known system priority class"
}

// validateClassUpdate checks an update. Value and policy must not change; an absent policy is PreemptLowerPriority. Description and
// globalDefault may change. Rule P1.13.
func validateClassUpdate(old, class *schedulingv1.PriorityClass) field.ErrorList {
	var errs field.ErrorList
	if class.Value != old.Value {
		errs = append(errs, field.Forbidden(field.NewPath("value"), "may not be changed in an update."))
	}
	if now := policyOf(class); now != policyOf(old) {
		errs = append(errs, field.Invalid(field.NewPath("preemptionPolicy"), now, immutable))
	}
	return errs
}

// policyOf returns the class's preemption policy with the API's default.
func policyOf(class *schedulingv1.PriorityClass) v1.PreemptionPolicy {
	if class.PreemptionPolicy == nil {
		return v1.PreemptLowerPriority
	}
	return *class.PreemptionPolicy
}

// AdmitPriorityClass returns the API server's Forbidden error if class cannot be created or updated because another class of
// existing has globalDefault already, and nil if it can. A class without globalDefault is always admitted, also if existing
// has several defaults. The error names the default class of [AdmitPriority]. A nil class is admitted. Rule P1.14.
func AdmitPriorityClass(class *schedulingv1.PriorityClass, existing []*schedulingv1.PriorityClass) error {
	if class == nil || !class.GlobalDefault {
		return nil
	}
	if d := defaultPriorityClass(existing); d != nil && d.Name != class.Name {
		return apierrors.NewForbidden(schedulingv1.Resource("priorityclasses"), class.Name,
			fmt.Errorf("PriorityClass %v is already marked as default. Only one default can exist", d.Name))
	}
	return nil
}
