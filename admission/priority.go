package admission

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
	// criticalPriority is the priority from which a pod is critical.
	criticalPriority = podinfo.SystemCritical

	systemClusterCritical = "system-cluster-critical"
	systemNodeCritical    = "system-node-critical"
	systemPrefix          = "system-"
)

// SystemPriorityClasses returns new objects of the two classes that the API server creates when it starts:
// system-node-critical (2000001000) and system-cluster-critical (2000000000). Admission treats them as any other class. A
// caller whose list of classes lacks them adds them before [AdmitPriority]. Rule P1.6.
func SystemPriorityClasses() []*schedulingv1.PriorityClass {
	return []*schedulingv1.PriorityClass{
		systemClass(systemNodeCritical, criticalPriority+1000, "Used for system critical pods that must not be moved from their current node."),
		systemClass(systemClusterCritical, criticalPriority, "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."),
	}
}

func systemClass(name string, value int32, description string) *schedulingv1.PriorityClass {
	policy := v1.PreemptLowerPriority
	return &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, Description: description, PreemptionPolicy: &policy,
	}
}

// defaultPriorityClass returns the class of pods that name none: of the classes with globalDefault the class with the
// smallest value, and of equal values (unspecified on a server) the class with the smallest name; nil without such a class.
// Rule P1.3.
func defaultPriorityClass(classes []*schedulingv1.PriorityClass) *schedulingv1.PriorityClass {
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

// AdmitPriority does what the Priority admission plugin does when a pod is created, and returns a changed copy. The copy has
// spec.priority and spec.preemptionPolicy of its class, and the default class's name if the pod names no class. classes are
// all PriorityClasses; nil entries are ignored.
//
//  1. A class that the pod names must exist, also a class whose name begins with "system-".
//  2. A pod that names no class gets the default class: of the classes with globalDefault the class with the smallest value,
//     then the smallest name. Without a default class it gets priority 0 and policy PreemptLowerPriority.
//  3. A priority in the pod must be that of the class.
//  4. A policy in the pod must be that of the class. A class without a policy keeps the pod's policy.
//
// A pod that breaks a rule is rejected with the API server's Forbidden error and a nil pod. Later changes of classes change no
// pod. A nil pod gives nil. Rules P1.3 to P1.8: documentation, "Pod Priority and Preemption" (PriorityClass, Pod priority).
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
		return nil, noPriority(pod, fmt.Sprintf("the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", *p, class.Value))
	}
	value := class.Value
	pod.Spec.Priority = &value
	if class.PreemptionPolicy == nil {
		return pod, nil
	}
	policy := *class.PreemptionPolicy
	if p := pod.Spec.PreemptionPolicy; p != nil && *p != policy {
		return nil, noPriority(pod, fmt.Sprintf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", *p, policy))
	}
	pod.Spec.PreemptionPolicy = &policy
	return pod, nil
}

// classOf returns the class that the pod gets. A pod without a class gets a class without a name.
func classOf(pod *v1.Pod, classes []*schedulingv1.PriorityClass) (*schedulingv1.PriorityClass, error) {
	name := pod.Spec.PriorityClassName
	if name == "" {
		if c := defaultPriorityClass(classes); c != nil {
			return c, nil
		}
		return systemClass("", 0, ""), nil
	}
	for _, c := range classes {
		if c != nil && c.Name == name {
			return c, nil
		}
	}
	return nil, noPriority(pod, fmt.Sprintf("no PriorityClass with name %s was found", name))
}

// AdmitPriorityUpdate does what the Priority admission plugin does when a pod is updated: it returns a copy of the new pod
// that has the old pod's priority and preemption policy where the new pod has none. It computes neither from a class. A nil
// new pod gives nil. A nil old pod gives a copy of the new pod. Rule P1.9.
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

func noPriority(pod *v1.Pod, message string) error {
	return apierrors.NewForbidden(v1.Resource("pods"), pod.Name, errors.New(message))
}
