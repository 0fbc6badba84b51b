package overhead

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// AdmitRuntimeClass does what the RuntimeClass admission plugin does when a pod is created, and returns a changed copy:
// the class's overhead.podFixed becomes spec.overhead, its node selector is merged into the pod's, and its tolerations are
// merged by MergeTolerations. classes are all RuntimeClasses. It rejects, with the API server's Forbidden error and a nil
// pod,
//
//  1. a class that is not in classes,
//  2. an overhead in the pod that is not that of the class ("120Mi" and "122880Ki" are equal),
//  3. a node selector that contradicts that of the class (of several contradictions the smallest key is named),
//  4. an overhead in the pod, even an empty one, without a class or with a class that defines none.
//
// Rules: documentation, "Pod Overhead", "Runtime Class" (Scheduling). nil gives nil.
func AdmitRuntimeClass(pod *v1.Pod, classes []*nodev1.RuntimeClass) (*v1.Pod, error) {
	pod = pod.DeepCopy()
	if pod == nil {
		return nil, nil
	}
	class, err := runtimeClass(pod, classes)
	if err != nil {
		return nil, err
	}
	if class != nil && class.Overhead != nil {
		fixed := class.Overhead.PodFixed
		if len(pod.Spec.Overhead) > 0 && !equalLists(pod.Spec.Overhead, fixed) {
			return nil, forbidden(pod, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
		}
		pod.Spec.Overhead = fixed.DeepCopy()
	}
	if class != nil && class.Scheduling != nil {
		for _, key := range slices.Sorted(maps.Keys(class.Scheduling.NodeSelector)) {
			want := class.Scheduling.NodeSelector[key]
			if have, ok := pod.Spec.NodeSelector[key]; ok && have != want {
				return nil, forbidden(pod, fmt.Sprintf("conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = %s", key, want, key, have))
			}
			if pod.Spec.NodeSelector == nil {
				pod.Spec.NodeSelector = map[string]string{}
			}
			pod.Spec.NodeSelector[key] = want
		}
		pod.Spec.Tolerations = MergeTolerations(pod.Spec.Tolerations, class.Scheduling.Tolerations)
	}
	if (class == nil || class.Overhead == nil) && pod.Spec.Overhead != nil {
		return nil, forbidden(pod, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
	}
	return pod, nil
}

// ValidateRuntimeClassUpdate returns what the API server finds wrong with an update of a RuntimeClass that stands at path
// (nil: the root): its handler never changes. Overhead and scheduling may, and pods that exist keep what they were given.
// Rule: API field RuntimeClass.handler. nil has no errors.
func ValidateRuntimeClassUpdate(old, class *nodev1.RuntimeClass, path *field.Path) field.ErrorList {
	if old == nil || class == nil || old.Handler == class.Handler {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("handler"), class.Handler, "field is immutable")}
}

func runtimeClass(pod *v1.Pod, classes []*nodev1.RuntimeClass) (*nodev1.RuntimeClass, error) {
	if pod.Spec.RuntimeClassName == nil {
		return nil, nil
	}
	name := *pod.Spec.RuntimeClassName
	for _, class := range classes {
		if class != nil && class.Name == name {
			return class, nil
		}
	}
	return nil, forbidden(pod, fmt.Sprintf("pod rejected: RuntimeClass %q not found", name))
}

func forbidden(pod *v1.Pod, message string) error {
	return apierrors.NewForbidden(v1.Resource("pods"), pod.Name, errors.New(message))
}

// equalLists reports whether both name the same resources with the same amounts, however they are written.
func equalLists(a, b v1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for name, q := range a {
		other, ok := b[name]
		if !ok || q.Cmp(other) != 0 {
			return false
		}
	}
	return true
}
