package admission

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/apiserver"
	"github.com/podberth/podberth/overhead"
)

// validateNewPod checks a pod that is created, before defaults and label keys.
func validateNewPod(pod *v1.Pod, o Options) field.ErrorList {
	pod = MergeLabelKeys(overhead.Default(pod))
	errs := validatePod(pod, o.Tolerations.ComparisonOperators)
	if pod.Spec.NodeName != "" && len(pod.Spec.SchedulingGates) > 0 {
		errs = append(errs, nodeWhileGated(field.NewPath("spec")))
	}
	return errs
}

// validatePod checks a pod as the API server stores it. numbers accepts the operators Gt and Lt of tolerations.
func validatePod(pod *v1.Pod, numbers bool) field.ErrorList {
	s, spec := &pod.Spec, field.NewPath("spec")
	errs := apiserver.ValidateLabels(pod.Labels, field.NewPath("metadata", "labels"))
	errs = append(errs, validateContainers(s, spec)...)
	errs = append(errs, validatePodResources(s, spec.Child("resources"))...)
	errs = append(errs, validateHostNetwork(s, spec)...)
	errs = append(errs, apiserver.ValidateLabels(s.NodeSelector, spec.Child("nodeSelector"))...)
	errs = append(errs, validateAffinity(s.Affinity, spec.Child("affinity"))...)
	errs = append(errs, newGates(&v1.PodSpec{SchedulingGates: s.SchedulingGates}, spec)...)
	errs = append(errs, apiserver.ValidateSpread(s.TopologySpreadConstraints, spec.Child("topologySpreadConstraints"))...)
	if s.HostNetwork && s.HostUsers != nil && !*s.HostUsers {
		errs = append(errs, field.Forbidden(spec.Child("hostNetwork"), "when `hostUsers` is false"))
	}
	if s.NodeName != "" {
		for _, problem := range validation.IsDNS1123Subdomain(s.NodeName) {
			errs = append(errs, field.Invalid(spec.Child("nodeName"), s.NodeName, problem))
		}
	}
	errs = append(errs, validateGroup(s.SchedulingGroup, spec.Child("schedulingGroup", "podGroupName"))...)
	errs = append(errs, validateTolerations(s.Tolerations, spec.Child("tolerations"), numbers)...)
	if p := s.PreemptionPolicy; p != nil && *p == "" {
		errs = append(errs, field.Required(spec.Child("preemptionPolicy"), ""))
	} else if p != nil && *p != v1.PreemptNever && *p != v1.PreemptLowerPriority {
		errs = append(errs, field.NotSupported(spec.Child("preemptionPolicy"), *p, []v1.PreemptionPolicy{v1.PreemptLowerPriority, v1.PreemptNever}))
	}
	return append(errs, apiserver.ValidateResources(s.Overhead, nil, apiserver.ResourceName, spec.Child("overhead"))...)
}

// validateGroup checks the name of a pod's group at path. Where the feature gate GenericWorkload is off, the API server drops the field before.
func validateGroup(g *v1.PodSchedulingGroup, path *field.Path) (errs field.ErrorList) {
	if g == nil {
		return nil
	}
	if g.PodGroupName == nil {
		return field.ErrorList{field.Invalid(path, nil, "must specify one of: `podGroupName`")}
	}
	for _, problem := range validation.IsDNS1123Subdomain(*g.PodGroupName) {
		errs = append(errs, field.Invalid(path, *g.PodGroupName, problem))
	}
	return errs
}
