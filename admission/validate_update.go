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
	"github.com/podberth/podberth/overhead/runtimeclass"
)

// ValidateUpdate returns what the API server finds wrong with an update of an object from old to object, as far as
// scheduling reads its fields; nil for an update that the server accepts. Both have the same kind, otherwise there are no
// errors. It joins the checks of:
//
//   - Pod: [ValidatePodUpdate],
//   - PriorityClass: [ValidatePriorityClass],
//   - RuntimeClass: runtimeclass.ValidateUpdate,
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
// Objects of other kinds, and nil, have no errors. An object in the interface must not be a nil pointer.
func ValidateUpdate(object, old metav1.Object) field.ErrorList {
	switch o := object.(type) {
	case *v1.Pod:
		if before, same := old.(*v1.Pod); same {
			return ValidatePodUpdate(o, before)
		}
		return nil
	case *schedulingv1.PriorityClass:
		if before, same := old.(*schedulingv1.PriorityClass); same {
			return ValidatePriorityClass(before, o, nil)
		}
		return nil
	case *nodev1.RuntimeClass:
		if before, same := old.(*nodev1.RuntimeClass); same {
			return append(validateRuntimeClass(o), runtimeclass.ValidateUpdate(before, o, nil)...)
		}
		return nil
	case *storagev1.StorageClass:
		if before, same := old.(*storagev1.StorageClass); same {
			return validateStorageClassUpdate(o, before)
		}
		return nil
	}
	return append(append(Validate(object), validateWorkloadUpdate(object, old)...), validateVolumeUpdate(object, old)...)
}

// ValidatePodUpdate returns what the API server finds wrong with an update of a stored pod from old to pod, with the server's
// texts; nil for an update that it accepts. First come the errors of the new pod by itself, in the order of [ValidatePod], then:
//
//  1. Tolerations may be added, and their seconds changed. See [ValidateTolerationsUpdate].
//  2. Gates may go, and a gated pod's nodeSelector and node affinity may become narrower. See [ValidateGates].
//  3. Every other field of the spec that scheduling reads stays as it was.
//
// For rule 3 the server's text ends with a list of differences between its internal structures. No document describes that
// list, and the text here ends before it. Before the comparison, missing requests of both pods are filled in from their
// limits. The pods must not be nil.
func ValidatePodUpdate(pod, old *v1.Pod) field.ErrorList {
	pod, old = overhead.Default(pod), overhead.Default(old)
	path := field.NewPath("spec")
	used := slices.ContainsFunc(old.Spec.Tolerations, func(t v1.Toleration) bool { return compares(t.Operator) })
	errs := validatePod(pod, used)
	for _, list := range [...]struct {
		name     string
		now, was int
	}{{"containers", len(pod.Spec.Containers), len(old.Spec.Containers)}, {"initContainers", len(pod.Spec.InitContainers), len(old.Spec.InitContainers)}} {
		if list.now != list.was {
			return append(errs, field.Forbidden(path.Child(list.name), "pod updates may not add or remove containers"))
		}
	}
	errs = append(errs, tolerationsKept(pod.Spec.Tolerations, old.Spec.Tolerations, path.Child("tolerations"))...)
	gates := ValidateGates(&pod.Spec, &old.Spec, path)
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
