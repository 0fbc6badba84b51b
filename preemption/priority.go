package preemption

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// Bounds of priorities and the classes that every cluster has.
const (
	// MaxUserPriority is the largest value of a PriorityClass that is not built in. There is no lower bound.
	MaxUserPriority int32 = 1000000000
	// CriticalPriority is the priority from which a pod is critical.
	CriticalPriority = podinfo.SystemCritical

	SystemClusterCritical = "system-cluster-critical"
	SystemNodeCritical    = "system-node-critical"
	systemPrefix          = "system-"
)

// Priority returns the pod's effective priority: spec.priority, 0 without one. Nothing else counts, neither class, quality
// of service nor owner. Rule: API field spec.priority.
func Priority(pod *v1.Pod) int32 { return podinfo.Priority(pod) }

// Critical reports whether the pod's priority is CriticalPriority or more.
func Critical(pod *v1.Pod) bool { return podinfo.Critical(pod) }

// SystemPriorityClasses returns new objects of the two classes that the API server creates when it starts:
// system-node-critical (2000001000) and system-cluster-critical (2000000000). Admission treats them as any other class: give
// them to AdmitPriority where the cluster at hand does not list them.
func SystemPriorityClasses() []*schedulingv1.PriorityClass {
	return []*schedulingv1.PriorityClass{
		systemClass(SystemNodeCritical, CriticalPriority+1000, "Used for system critical pods that must not be moved from their current node."),
		systemClass(SystemClusterCritical, CriticalPriority, "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."),
	}
}

func systemClass(name string, value int32, description string) *schedulingv1.PriorityClass {
	policy := v1.PreemptLowerPriority
	return &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, Description: description, PreemptionPolicy: &policy,
	}
}

// DefaultPriorityClass returns the class of pods that name none: of those with globalDefault the one with the smallest
// value, of equal ones (unspecified on a server) the smallest name; nil without any.
func DefaultPriorityClass(classes []*schedulingv1.PriorityClass) *schedulingv1.PriorityClass {
	var best *schedulingv1.PriorityClass
	for _, c := range classes {
		if c == nil || !c.GlobalDefault {
			continue
		}
		if best == nil || c.Value < best.Value || c.Value == best.Value && c.Name < best.Name {
			best = c
		}
	}
	return best
}

// AdmitPriority does what the Priority admission plugin does when a pod is created, and returns a changed copy with
// spec.priority, and from the class spec.preemptionPolicy and, where the default class was taken, spec.priorityClassName.
// classes are all PriorityClasses.
//
//  1. A named class must exist, system-* classes not excepted. Without a name DefaultPriorityClass applies, and without a
//     default priority 0 and policy PreemptLowerPriority.
//  2. A priority in the pod must be the computed one.
//  3. A policy in the pod must be that of the class; it is kept where the class has none.
//
// A pod that breaks one is rejected with the API server's Forbidden error and a nil pod. Classes that change or go later
// never change a pod. Rule: documentation, "Pod Priority and Preemption" (PriorityClass, Pod priority). nil gives nil.
func AdmitPriority(pod *v1.Pod, classes []*schedulingv1.PriorityClass) (*v1.Pod, error) {
	pod = pod.DeepCopy()
	if pod == nil {
		return nil, nil
	}
	class, err := classOf(pod, classes)
	if err != nil {
		return nil, err
	}
	pod.Spec.PriorityClassName = class.Name
	if p := pod.Spec.Priority; p != nil && *p != class.Value {
		return nil, rejected(pod, fmt.Sprintf("the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", *p, class.Value))
	}
	value := class.Value
	pod.Spec.Priority = &value
	if class.PreemptionPolicy == nil {
		return pod, nil
	}
	policy := *class.PreemptionPolicy
	if p := pod.Spec.PreemptionPolicy; p != nil && *p != policy {
		return nil, rejected(pod, fmt.Sprintf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", *p, policy))
	}
	pod.Spec.PreemptionPolicy = &policy
	return pod, nil
}

// classOf returns the class that the pod gets; one without a name stands for the absence of any.
func classOf(pod *v1.Pod, classes []*schedulingv1.PriorityClass) (*schedulingv1.PriorityClass, error) {
	name := pod.Spec.PriorityClassName
	if name == "" {
		if c := DefaultPriorityClass(classes); c != nil {
			return c, nil
		}
		return systemClass("", 0, ""), nil
	}
	for _, c := range classes {
		if c != nil && c.Name == name {
			return c, nil
		}
	}
	return nil, rejected(pod, fmt.Sprintf("no PriorityClass with name %s was found", name))
}

// AdmitPriorityUpdate does what the plugin does when a pod is updated: it returns a copy of the new pod with the old one's
// priority and preemption policy where the new one has none. Nothing is computed anew. nil gives nil.
func AdmitPriorityUpdate(old, pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	if pod == nil || old == nil {
		return pod
	}
	if pod.Spec.Priority == nil && old.Spec.Priority != nil {
		value := *old.Spec.Priority
		pod.Spec.Priority = &value
	}
	if pod.Spec.PreemptionPolicy == nil && old.Spec.PreemptionPolicy != nil {
		policy := *old.Spec.PreemptionPolicy
		pod.Spec.PreemptionPolicy = &policy
	}
	return pod
}

func rejected(pod *v1.Pod, message string) error {
	return apierrors.NewForbidden(v1.Resource("pods"), pod.Name, errors.New(message))
}
