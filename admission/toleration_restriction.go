package admission

import (
	"encoding/json"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/same"
	"github.com/podberth/podberth/taints"
)

// Annotations of namespaces that PodTolerationRestriction reads: JSON lists of tolerations.
const (
	annotationDefaultTolerations   = "scheduler.alpha.kubernetes.io/defaultTolerations"
	annotationTolerationsWhitelist = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
)

// TolerationRestriction is the configuration of the admission plugin PodTolerationRestriction, which is off by default. The
// lists are those for namespaces without an annotation. The zero value has none.
type TolerationRestriction struct {
	Default   []v1.Toleration
	Whitelist []v1.Toleration
}

// Admit returns a copy of a new pod after the plugin. namespace is that of the pod, qos the pod's class.
//
//  1. Tolerations of the annotation scheduler.alpha.kubernetes.io/defaultTolerations of the namespace, or else Default, are
//     added behind those of the pod, merged by [taints.MergeTolerations].
//  2. [WithMemoryPressure] adds its toleration.
//  3. Each toleration must be covered by one of the annotation scheduler.alpha.kubernetes.io/tolerationsWhitelist, or else of
//     Whitelist. An empty list allows everything.
//
// An annotation that is present and "[]" is an empty list and overrules the configuration. The error is the API server's; the
// pod is then nil. An annotation that is no JSON list of tolerations is an error. A nil namespace is one without annotations.
// The pod must not be nil. (Documentation, "Admission Control in Kubernetes", PodTolerationRestriction.)
func (r *TolerationRestriction) Admit(pod *v1.Pod, namespace *v1.Namespace, qos v1.PodQOSClass) (*v1.Pod, error) {
	if r == nil {
		r = &TolerationRestriction{}
	}
	defaults, err := annotated(namespace, annotationDefaultTolerations, r.Default)
	if err != nil {
		return nil, err
	}
	pod = pod.DeepCopy()
	if len(defaults) > 0 {
		pod.Spec.Tolerations = taints.MergeTolerations(pod.Spec.Tolerations, defaults)
	}
	pod = WithMemoryPressure(pod, qos)
	if err := r.check(pod, namespace); err != nil {
		return nil, err
	}
	return pod, nil
}

// check returns an error when the whitelist does not cover a toleration of the pod.
func (r *TolerationRestriction) check(pod *v1.Pod, namespace *v1.Namespace) error {
	allowed, err := annotated(namespace, annotationTolerationsWhitelist, r.Whitelist)
	if err != nil {
		return err
	}
	for _, t := range pod.Spec.Tolerations {
		if len(allowed) > 0 && !covered(allowed, t) {
			return errWhitelist
		}
	}
	return nil
}

// annotated returns the tolerations of an annotation, or else those of the configuration.
func annotated(namespace *v1.Namespace, key string, configured []v1.Toleration) ([]v1.Toleration, error) {
	if namespace == nil || namespace.Annotations[key] == "" {
		return configured, nil
	}
	list := []v1.Toleration{}
	if err := json.Unmarshal([]byte(namespace.Annotations[key]), &list); err != nil {
		return nil, err
	}
	return list, nil
}

// covered reports whether a toleration of the list covers t.
func covered(list []v1.Toleration, t v1.Toleration) bool {
	return slices.ContainsFunc(list, func(w v1.Toleration) bool { return same.CoversToleration(&w, &t) })
}
