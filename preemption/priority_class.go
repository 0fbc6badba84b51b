package preemption

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidatePriorityClass returns what the API server finds wrong with a new PriorityClass at path (nil: the root):
//
//  1. the name is a DNS subdomain; it begins with "system-" only for the built-in classes, with their value and without
//     globalDefault,
//  2. the value of all others is at most 1000000000; any negative one is allowed,
//  3. the preemption policy is absent, Never or PreemptLowerPriority.
//
// Rule: documentation, "Pod Priority and Preemption" (PriorityClass). nil has no errors.
func ValidatePriorityClass(class *schedulingv1.PriorityClass, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if class == nil {
		return errs
	}
	name := path.Child("metadata", "name")
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
	} else if class.Value > MaxUserPriority {
		errs = append(errs, field.Forbidden(path.Child("value"), fmt.Sprintf("maximum allowed value of a user defined priority is %d", MaxUserPriority)))
	}
	if p := class.PreemptionPolicy; p != nil && *p != v1.PreemptNever && *p != v1.PreemptLowerPriority {
		errs = append(errs, field.NotSupported(path.Child("preemptionPolicy"), *p, []v1.PreemptionPolicy{v1.PreemptLowerPriority, v1.PreemptNever}))
	}
	return errs
}

// notBuiltIn says in what a class differs from the built-in one of its name, "" when it does not.
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

// ValidatePriorityClassUpdate returns what the API server finds wrong with an update: the value and the preemption policy
// never change; globalDefault and description may. An absent policy is PreemptLowerPriority.
func ValidatePriorityClassUpdate(old, class *schedulingv1.PriorityClass, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if old == nil || class == nil {
		return errs
	}
	if class.Value != old.Value {
		errs = append(errs, field.Forbidden(path.Child("value"), "may not be changed in an update."))
	}
	if now := policyOf(class); now != policyOf(old) {
		errs = append(errs, field.Invalid(path.Child("preemptionPolicy"), now, "field is immutable"))
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

// AdmitPriorityClass reports with the API server's Forbidden error that the class cannot be created, or updated to this,
// since another of existing has globalDefault already; nil when it can. Several that exist are no error for a class
// without globalDefault. Of several existing defaults the one named is DefaultPriorityClass.
func AdmitPriorityClass(class *schedulingv1.PriorityClass, existing []*schedulingv1.PriorityClass) error {
	if class == nil || !class.GlobalDefault {
		return nil
	}
	if d := DefaultPriorityClass(existing); d != nil && d.Name != class.Name {
		return apierrors.NewForbidden(schedulingv1.Resource("priorityclasses"), class.Name,
			fmt.Errorf("PriorityClass %v is already marked as default. Only one default can exist", d.Name))
	}
	return nil
}
