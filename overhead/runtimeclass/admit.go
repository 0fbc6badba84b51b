// Package runtimeclass (experimental) does what the API server does with RuntimeClasses: it gives a new pod the overhead, node selector
// and tolerations of its class.
//
//	pod, err := runtimeclass.Admit(pod, classes) // a changed copy, or the API server's Forbidden error
//
// The rule: spec.overhead of the pod becomes overhead.podFixed of the class, the node selectors are merged without conflict,
// and the tolerations are merged by [taints.MergeTolerations].
//
// Results share no memory with arguments. The cost is O(classes + tolerations^2). What all packages promise is said in
// [github.com/podberth/podberth].
//
// Package overhead computes requests and limits with the overhead that [Admit] sets. Package admission validates classes, and has all
// that the API server does to a new pod.
//
// This package follows Kubernetes v1.37.2. docs/fidelity/overhead.md lists the rules (O6).
package runtimeclass

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/podberth/podberth/taints"
)

// Admit does what the RuntimeClass admission plugin does when a pod is created, and returns a changed copy. classes are all
// RuntimeClasses; nil entries are ignored. The copy has
//
//   - in spec.overhead the overhead.podFixed of the class,
//   - in spec.nodeSelector also the pairs of the class's scheduling.nodeSelector,
//   - in spec.tolerations those of pod and class, merged by [taints.MergeTolerations].
//
// Admit rejects the pod with the API server's Forbidden error and returns a nil pod in these cases:
//
//  1. classes has no class of that name. An empty runtimeClassName counts as a name.
//  2. The pod has an overhead that is not that of the class. "120Mi" and "122880Ki" are equal.
//  3. The pod's node selector contradicts that of the class. The error names the smallest key.
//  4. The pod has an overhead, even an empty one, and has no class or a class without overhead.
//
// A nil pod gives nil. Rules O6.1 to O6.8: documentation, "Pod Overhead", "Runtime Class" (Scheduling).
func Admit(pod *v1.Pod, classes []*nodev1.RuntimeClass) (*v1.Pod, error) {
	pod = pod.DeepCopy()
	if pod == nil {
		return nil, nil
	}
	class, err := classOf(pod, classes)
	if err != nil {
		return nil, err
	}
	if class != nil && class.Overhead != nil {
		fixed := class.Overhead.PodFixed
		if len(pod.Spec.Overhead) > 0 && !equal(pod.Spec.Overhead, fixed) {
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
		pod.Spec.Tolerations = taints.MergeTolerations(pod.Spec.Tolerations, class.Scheduling.Tolerations)
	}
	if (class == nil || class.Overhead == nil) && pod.Spec.Overhead != nil {
		return nil, forbidden(pod, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
	}
	return pod, nil
}

// classOf returns the RuntimeClass that the pod names, nil if the pod names none.
func classOf(pod *v1.Pod, classes []*nodev1.RuntimeClass) (*nodev1.RuntimeClass, error) {
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

// equal reports whether both lists have the same resources with the same amounts, in whatever notation.
func equal(a, b v1.ResourceList) bool {
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
