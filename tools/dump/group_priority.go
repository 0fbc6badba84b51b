package dump

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/scheduler/groups"
)

// GroupPriorities returns what the groups that the API server has not stored say of their priorities, by the names of RefusedGroups. said are the
// feature gates that a user said. When nothing was said about groups, the policies of groups count if one of them has a policy. The error is that of
// [groups.FeatureGates.Gates].
func (o *Objects) GroupPriorities(said groups.FeatureGates) (map[string]admission.GroupPriority, error) {
	out, policies := map[string]admission.GroupPriority{}, false
	for name, g := range o.newGroups() {
		m, _ := priorityIn(g)
		policies = policies || m.Policy != nil
		out[name] = m
	}
	on, err := said.Gates()
	if said.OfGroups() {
		policies = on != nil && on.PreemptionPolicy
	}
	lower := v1.PreemptLowerPriority
	for name, m := range out {
		m.Policy = cmp.Or(m.Policy, &lower) // the API's default
		if !policies {
			m.Policy = nil
		}
		out[name] = m
	}
	return out, err
}

// priorityIn returns what a group says of its priority; false for another object.
func priorityIn(o metav1.Object) (said admission.GroupPriority, is bool) {
	switch g := o.(type) {
	case *schedulingv1beta1.PodGroup:
		return admission.GroupPriority{Class: g.Spec.PriorityClassName, Priority: g.Spec.Priority, Policy: (*v1.PreemptionPolicy)(g.Spec.PreemptionPolicy)}, true
	case *schedulingv1alpha3.CompositePodGroup:
		return admission.GroupPriority{Composite: true, Class: g.Spec.PriorityClassName, Priority: g.Spec.Priority, Policy: (*v1.PreemptionPolicy)(g.Spec.PreemptionPolicy)}, true
	}
	return said, false
}

// RefusedPriority returns why the API server refuses a group that it has not stored for its priority class; nil for other objects. A priority
// that the group has stays as it is, like that of a pod; with admit it must be that of the class. Preemption policies are not looked at: their gate
// is not known here.
func RefusedPriority(o metav1.Object, classes []*schedulingv1.PriorityClass, admit bool) *field.Error {
	said, is := priorityIn(o)
	if !is || stored(o) || said.Priority != nil && !admit {
		return nil
	}
	said.Policy = nil
	_, refused := said.Admit(withSystemClasses(classes))
	return refused
}

// AdmitGroups makes the API server refuse a new group whose priority is not that of its class. Otherwise such a priority stays.
func (o *Objects) AdmitGroups() { o.admitGroups = true }

// priorityOf returns the priority of a group: what it has, or what the API server gives it; nil when there is no such class.
func priorityOf(o metav1.Object, classes []*schedulingv1.PriorityClass) *int32 {
	said, _ := priorityIn(o)
	if said.Priority != nil {
		return said.Priority
	}
	said.Policy = nil
	value, refused := said.Admit(withSystemClasses(classes))
	if refused != nil {
		return nil
	}
	return &value
}
