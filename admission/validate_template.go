package admission

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Template returns the pod template of a workload object and the path of the template in it: of a Deployment, ReplicaSet,
// StatefulSet, DaemonSet, Job, CronJob or ReplicationController. The template is nil for every other object, and for a
// ReplicationController without one. The template belongs to the object.
func Template(object metav1.Object) (t *v1.PodTemplateSpec, path string) {
	const plain = "spec.template"
	switch o := object.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Template, plain
	case *appsv1.ReplicaSet:
		return &o.Spec.Template, plain
	case *appsv1.StatefulSet:
		return &o.Spec.Template, plain
	case *appsv1.DaemonSet:
		return &o.Spec.Template, plain
	case *batchv1.Job:
		return &o.Spec.Template, plain
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template, "spec.jobTemplate.spec.template"
	case *v1.ReplicationController:
		return o.Spec.Template, plain
	}
	return nil, ""
}

// validateTemplate checks a pod template as the pods that are made from it, with the paths of the workload.
func validateTemplate(t *v1.PodTemplateSpec, path string, o Options) field.ErrorList {
	errs := validateNewPod(&v1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec}, o)
	for _, e := range errs {
		e.Field = path + "." + strings.TrimPrefix(e.Field, ".")
	}
	return errs
}
