package admission

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/overhead"
)

// ValidateUpdate returns what the API server finds wrong with an update of an object from old to object, as far as
// scheduling reads its fields; nil for an update that the server accepts. Both have the same kind, otherwise there are no
// errors. It joins the checks of:
//
//   - Pod: see below,
//   - PriorityClass: value and preemption policy stay; an absent policy is PreemptLowerPriority (rule P1.13),
//   - RuntimeClass: Validate, and the handler stays; pods keep what their class gave them (rule O6.9),
//   - StorageClass: parameters, provisioner, reclaimPolicy and volumeBindingMode stay,
//   - Deployment, ReplicaSet, DaemonSet: Validate, and the selector stays,
//   - StatefulSet: Validate, and the selector, podManagementPolicy, serviceName and volumeClaimTemplates stay,
//   - Job: Validate, and the selector, the completion mode, the template and completions stay, as far as the Job is not suspended or elastic, and so do
//     podFailurePolicy, successPolicy, backoffLimitPerIndex and managedBy,
//   - PersistentVolumeClaim: the spec stays, but for what a claim gets once and what a bound claim may ask for,
//   - PersistentVolume: the source, the mode and a node affinity that is set stay, but for labels that left their beta,
//   - ResourceClaim, ResourceClaimTemplate: the spec stays,
//   - Node, PodDisruptionBudget and other controllers: Validate.
//
// Of a pod first come the errors of the new pod by itself, in the order of [Validate], then:
//
//  1. Tolerations may be added, and their seconds changed. Gt and Lt are accepted where an old toleration has one of them.
//  2. Gates may go, and a gated pod's nodeSelector and node affinity may become narrower (rules F15.3 to F15.8):
//     a. Gates may be removed and reordered, but not added.
//     b. spec.nodeSelector changes only while the old pod has gates, and only by additions.
//     c. spec.affinity changes only while the old pod has gates, and only in its nodeAffinity. Preferred terms may change.
//     Required terms may change when there were none. Otherwise the number of terms stays the same, and each term may get
//     more expressions and fields at its end. An empty term stays empty.
//  3. Every other field of the spec that scheduling reads stays as it was.
//
// For rule 3 the server's text ends with a list of differences between its internal structures. No document describes that
// list, and the text here ends before it. Before the comparison, missing requests of both pods are filled in from their limits.
//
// The options are those of Validate. Objects of other kinds, and nil, have no errors. An object in the interface must not be a nil
// pointer.
func ValidateUpdate(object, old metav1.Object, options Options) field.ErrorList {
	switch o := object.(type) {
	case *v1.Pod:
		if before, same := old.(*v1.Pod); same {
			return validatePodUpdate(o, before, options)
		}
		return nil
	case *schedulingv1.PriorityClass:
		if before, same := old.(*schedulingv1.PriorityClass); same {
			return validateClassUpdate(before, o)
		}
		return nil
	case *nodev1.RuntimeClass:
		if before, same := old.(*nodev1.RuntimeClass); same {
			errs := validateRuntimeClass(o, options)
			if o.Handler != before.Handler {
				errs = append(errs, field.Invalid(field.NewPath("handler"), nil, "field is immutable")) // without a value, as in v1.37
			}
			return errs
		}
		return nil
	case *storagev1.StorageClass:
		if before, same := old.(*storagev1.StorageClass); same {
			return validateStorageClassUpdate(o, before)
		}
		return nil
	}
	return append(append(Validate(object, options), validateWorkloadUpdate(object, old)...), validateVolumeUpdate(object, old)...)
}

func validatePodUpdate(pod, old *v1.Pod, o Options) field.ErrorList {
	pod, old = overhead.Default(pod), overhead.Default(old)
	path := field.NewPath("spec")
	used := slices.ContainsFunc(old.Spec.Tolerations, func(t v1.Toleration) bool { return compares(t.Operator) })
	errs := validatePod(pod, used || o.Tolerations.ComparisonOperators)
	for _, list := range [...]struct {
		name     string
		now, was int
	}{{"containers", len(pod.Spec.Containers), len(old.Spec.Containers)}, {"initContainers", len(pod.Spec.InitContainers), len(old.Spec.InitContainers)}} {
		if list.now != list.was {
			return append(errs, field.Forbidden(path.Child(list.name), "pod updates may not add or remove containers"))
		}
	}
	errs = append(errs, tolerationsKept(pod.Spec.Tolerations, old.Spec.Tolerations, path.Child("tolerations"))...)
	gates := validateGates(&pod.Spec, &old.Spec, path)
	kept := slices.ContainsFunc(gates, func(e *field.Error) bool { return e.Field == path.String() })
	errs = append(errs, gates...)
	if !kept && !equality.Semantic.DeepEqual(fixed(&pod.Spec), fixed(&old.Spec)) {
		errs = append(errs, field.Forbidden(path, fixedText))
	}
	return errs
}

const fixedText = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

// fixed returns a spec of the fields that scheduling reads and that no update may change.
func fixed(s *v1.PodSpec) *v1.PodSpec {
	return &v1.PodSpec{
		NodeName: s.NodeName, SchedulerName: s.SchedulerName, HostNetwork: s.HostNetwork, TopologySpreadConstraints: s.TopologySpreadConstraints,
		Priority: s.Priority, PriorityClassName: s.PriorityClassName, PreemptionPolicy: s.PreemptionPolicy, RuntimeClassName: s.RuntimeClassName,
		Overhead: s.Overhead, Resources: s.Resources, ResourceClaims: s.ResourceClaims, Containers: fixedContainers(s.Containers),
		InitContainers: fixedContainers(s.InitContainers),
	}
}

func fixedContainers(list []v1.Container) (out []v1.Container) {
	for _, c := range list {
		out = append(out, v1.Container{Resources: c.Resources, Ports: c.Ports, RestartPolicy: c.RestartPolicy})
	}
	return out
}
