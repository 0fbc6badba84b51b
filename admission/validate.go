package admission

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/apiserver"
)

// Validate returns what the API server finds wrong with the fields that scheduling reads of a new object, with the server's
// texts; nil for an object that it accepts. It joins the checks of:
//
//   - Pod: see below,
//   - Node: the labels; of taints the key, the value and the effect, and that a pair of key and effect stands there once,
//   - PriorityClass: the name, the value and the preemption policy (rules P1.10 to P1.12),
//   - RuntimeClass: overhead.podFixed, which is checked like the limits of a container, and the nodeSelector and tolerations of scheduling
//     (rule O6.6),
//   - PodDisruptionBudget: minAvailable and maxUnavailable, the policy and the selector (rule D4.1),
//   - objects with a pod template ([Template]): the checks of a pod for the template, with the paths of the object.
//
// The fields of a pod, in the order of their errors:
//
//  1. metadata.labels,
//  2. of containers and init containers: ports, resources, and the restart policy of an init container,
//  3. spec.resources,
//  4. spec.hostNetwork, spec.nodeSelector, spec.affinity, spec.schedulingGates, spec.topologySpreadConstraints,
//  5. spec.nodeName, spec.tolerations, spec.preemptionPolicy, spec.overhead.
//
// Pass a pod as its author wrote it, or after admission plugins: Validate itself fills in the defaults of [overhead.Default] and
// merges label keys, as the API server does before it checks. Errors of one map, such as nodeSelector, are in the order of the
// keys; the API server's own order there varies. Fields that scheduling does not read, such as images, are not checked. The
// checks do not look whether a class that the object names exists.
//
// Of the options only Tolerations matters: with the gate, tolerations may have the operators Gt and Lt. Objects of other kinds, and
// nil, have no errors. An object in the interface must not be a nil pointer. Cost: O(size of the object).
func Validate(object metav1.Object, o Options) field.ErrorList {
	switch x := object.(type) {
	case *v1.Pod:
		return validateNewPod(x, o)
	case *v1.Node:
		metadata := field.NewPath("metadata")
		errs := apiserver.ValidateLabels(x.Labels, metadata.Child("labels"))
		return append(errs, validateTaints(x.Spec.Taints, metadata.Child("taints"))...)
	case *schedulingv1.PriorityClass:
		return validateNewClass(x)
	case *nodev1.RuntimeClass:
		return validateRuntimeClass(x, o)
	case *policyv1.PodDisruptionBudget:
		return validateBudget(&x.Spec, field.NewPath("spec"))
	}
	if t, path := Template(object); t != nil {
		return validateTemplate(t, path, o)
	}
	return nil
}

func validateRuntimeClass(c *nodev1.RuntimeClass, o Options) field.ErrorList {
	var errs field.ErrorList
	if c.Overhead != nil {
		errs = append(errs, apiserver.ValidateResources(c.Overhead.PodFixed, nil, apiserver.ResourceName, field.NewPath("overhead"))...)
	}
	if c.Scheduling != nil {
		path := field.NewPath("scheduling")
		errs = append(errs, apiserver.ValidateLabels(c.Scheduling.NodeSelector, path.Child("nodeSelector"))...)
		errs = append(errs, validateClassTolerations(c.Scheduling.Tolerations, path.Child("tolerations"), o)...)
	}
	return errs
}

// validateClassTolerations checks the tolerations of a RuntimeClass: as those of a pod, and no two are equal in all
// but the seconds.
func validateClassTolerations(list []v1.Toleration, path *field.Path, o Options) field.ErrorList {
	var errs field.ErrorList
	for i := range list {
		errs = append(errs, validateToleration(&list[i], path.Index(i), o.Tolerations.ComparisonOperators)...)
		if slices.ContainsFunc(list[:i], func(t v1.Toleration) bool { return t.MatchToleration(&list[i]) }) {
			errs = append(errs, field.Duplicate(path.Index(i), internalToleration(list[i])))
		}
	}
	return errs
}

// internalToleration prints as the internal type of the API server does: with the names of the Go fields.
type internalToleration struct {
	Key               string
	Operator          v1.TolerationOperator
	Value             string
	Effect            v1.TaintEffect
	TolerationSeconds *int64
}

// Refusal returns the error with which the API server refuses an object that has the errors of [Validate], nil without errors:
//
//	Pod "web" is invalid: spec.tolerations[0].operator: Invalid value: ...
//
// Equal errors are printed once. The object must not be nil.
func Refusal(object metav1.Object, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%s %q is invalid: %w", kindOf(object), object.GetName(), errs.ToAggregate())
}

// kindOf returns the kind as the API server prints it: with its group, if it has one.
func kindOf(object metav1.Object) string {
	switch object.(type) {
	case *v1.Pod:
		return "Pod"
	case *v1.Node:
		return "Node"
	case *schedulingv1.PriorityClass:
		return "PriorityClass.scheduling.k8s.io"
	case *nodev1.RuntimeClass:
		return "RuntimeClass.node.k8s.io"
	case *storagev1.StorageClass:
		return "StorageClass.storage.k8s.io"
	case *policyv1.PodDisruptionBudget:
		return "PodDisruptionBudget.policy"
	case *appsv1.Deployment:
		return "Deployment.apps"
	case *appsv1.ReplicaSet:
		return "ReplicaSet.apps"
	case *appsv1.StatefulSet:
		return "StatefulSet.apps"
	case *appsv1.DaemonSet:
		return "DaemonSet.apps"
	case *batchv1.Job:
		return "Job.batch"
	case *batchv1.CronJob:
		return "CronJob.batch"
	case *v1.ReplicationController:
		return "ReplicationController"
	}
	return "object"
}
