package admission

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// GroupPriority is what a new PodGroup or CompositePodGroup says of its priority. The zero value says nothing.
type GroupPriority struct {
	Composite bool   // a CompositePodGroup says it; it has words of its own
	Class     string // priorityClassName, "" for none
	Priority  *int32 // nil for none
	// Policy is preemptionPolicy with the API's default PreemptLowerPriority. nil where the gate PodGroupPreemptionPolicy is off: no policy is
	// looked at.
	Policy *v1.PreemptionPolicy
}

const mostOfGroup = 1_000_000_000 // priority of a group

// Admit does what the Priority admission plugin does when a group is created: it returns the priority that the API server stores, or why the server
// refuses the group.
//
//  1. The class that the group names must exist. A group that names no class gets the default class of [AdmitPriority], or 0.
//  2. A priority in the group must be that of the class.
//  3. A policy in the group must be that of the class, or PreemptLowerPriority without a policy or a class.
//  4. The priority of the class is at most 1000000000, so that no group may have a system class: fields are checked after admission.
//
// The refusal has the field and, as Detail, the server's words; that of rule 4 is of type Invalid, the others are Forbidden. nil
// entries of classes are ignored. O(classes).
func (g GroupPriority) Admit(classes []*schedulingv1.PriorityClass) (int32, *field.Error) {
	kind, spec := "pod group", field.NewPath("spec")
	if g.Composite {
		kind = "composite pod group"
	}
	pod, err := AdmitPriority(&v1.Pod{Spec: v1.PodSpec{PriorityClassName: g.Class}}, classes)
	if err != nil {
		return 0, field.Forbidden(spec.Child("priorityClassName"), fmt.Sprintf("no PriorityClass with name %s was found", g.Class))
	}
	value, policy := *pod.Spec.Priority, v1.PreemptLowerPriority
	if p := pod.Spec.PreemptionPolicy; p != nil {
		policy = *p
	}
	switch {
	case g.Priority != nil && *g.Priority != value:
		return 0, field.Forbidden(spec.Child("priority"), fmt.Sprintf("priority set in the %s (%d) must match the priority computed (%d) based on the priority class set in the spec", kind, *g.Priority, value))
	case g.Policy != nil && *g.Policy != policy:
		return 0, field.Forbidden(spec.Child("preemptionPolicy"), fmt.Sprintf("the string value of PreemptionPolicy (%s) must not be provided in %s spec; priority admission controller computed %s from the given PriorityClass name", *g.Policy, kind, policy))
	case value > mostOfGroup && g.Priority == nil:
		return 0, field.Invalid(spec.Child("priority"), value, fmt.Sprintf("must be less than or equal to %d", mostOfGroup))
	}
	return value, nil
}
