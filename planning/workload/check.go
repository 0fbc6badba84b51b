package workload

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/internal/same"
)

// check returns the names of the pods, or the first error of the input: a nil object, an object without a name, two of one name, and values that the
// API server refuses and that Make reads.
func (o *Objects) check() (pods names, err error) {
	if err := allNamed("Node", o.Nodes); err != nil {
		return pods, err
	}
	if pods, err = namesOf(o.Pods); err != nil {
		return pods, err
	}
	return pods, o.checkValues()
}

func (o *Objects) checkValues() error {
	if err := allNamed("PersistentVolumeClaim", o.Claims); err != nil {
		return err
	}
	if err := checkAll("Deployment", o.Deployments, func(d *appsv1.Deployment) error {
		return replicated(d.Spec.Replicas, d.Spec.Selector, &d.Spec.Template)
	}); err != nil {
		return err
	}
	if err := checkAll("ReplicaSet", o.ReplicaSets, func(r *appsv1.ReplicaSet) error {
		return replicated(r.Spec.Replicas, r.Spec.Selector, &r.Spec.Template)
	}); err != nil {
		return err
	}
	if err := checkAll("ReplicationController", o.ReplicationControllers, func(c *v1.ReplicationController) error {
		if c.Spec.Template == nil {
			return errors.New("spec.template: Required value")
		}
		return replicated(c.Spec.Replicas, mapSelector(c.Spec.Selector), c.Spec.Template)
	}); err != nil {
		return err
	}
	if err := checkAll("StatefulSet", o.StatefulSets, checkStatefulSet); err != nil {
		return err
	}
	if err := checkAll("Job", o.Jobs, checkJob); err != nil {
		return err
	}
	if err := checkAll("CronJob", o.CronJobs, func(c *batchv1.CronJob) error { return checkJob(jobOf(c)) }); err != nil {
		return err
	}
	if err := checkAll("HorizontalPodAutoscaler", o.Autoscalers, checkAutoscaler); err != nil {
		return err
	}
	if err := allNamed("ResourceClaimTemplate", o.ClaimTemplates); err != nil {
		return err
	}
	if err := allNamed("ResourceClaim", o.ResourceClaims); err != nil {
		return err
	}
	return checkAll("DaemonSet", o.DaemonSets, func(d *appsv1.DaemonSet) error { return replicated(nil, d.Spec.Selector, &d.Spec.Template) })
}

func checkStatefulSet(s *appsv1.StatefulSet) error {
	switch s.Spec.PodManagementPolicy {
	case "", appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement:
	default:
		return fmt.Errorf("spec.podManagementPolicy: Unsupported value: %q: supported values: %q, %q", s.Spec.PodManagementPolicy,
			appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement)
	}
	if s.Spec.Ordinals != nil && s.Spec.Ordinals.Start < 0 {
		return negative("spec.ordinals.start", s.Spec.Ordinals.Start)
	}
	for i := range s.Spec.VolumeClaimTemplates {
		if s.Spec.VolumeClaimTemplates[i].Name == "" {
			return fmt.Errorf("spec.volumeClaimTemplates[%d].metadata.name: Required value", i)
		}
	}
	return replicated(s.Spec.Replicas, s.Spec.Selector, &s.Spec.Template)
}

func checkJob(j *batchv1.Job) error {
	if n := j.Spec.Parallelism; n != nil && *n < 0 {
		return negative("spec.parallelism", *n)
	}
	if n := j.Spec.Completions; n != nil && *n < 0 {
		return negative("spec.completions", *n)
	}
	if m := j.Spec.CompletionMode; m != nil {
		switch *m {
		case batchv1.NonIndexedCompletion:
		case batchv1.IndexedCompletion:
			if j.Spec.Completions == nil {
				return errors.New("spec.completions: Required value: when completion mode is Indexed")
			}
			for _, f := range []struct{ path, text string }{{"status.completedIndexes", j.Status.CompletedIndexes}, {"status.failedIndexes", deref(j.Status.FailedIndexes)}} {
				if _, err := parseIndexes(f.text); err != nil {
					return fmt.Errorf("%s: Invalid value: %q: %w", f.path, f.text, err)
				}
			}
		default:
			return fmt.Errorf("spec.completionMode: Unsupported value: %q: supported values: %q, %q", *m, batchv1.IndexedCompletion, batchv1.NonIndexedCompletion)
		}
	}
	_, err := selectorOf(j.Spec.Selector)
	return err
}

func negative(path string, n int32) error {
	return fmt.Errorf("%s: Invalid value: %d: must be greater than or equal to 0", path, n)
}

// replicated checks what all controllers with a selector and a template have.
func replicated(replicas *int32, selector *metav1.LabelSelector, template *v1.PodTemplateSpec) error {
	if replicas != nil && *replicas < 0 {
		return negative("spec.replicas", *replicas)
	}
	s, err := selectorOf(selector)
	if err != nil {
		return err
	}
	if !s.Matches(labels.Set(template.Labels)) {
		return fmt.Errorf("spec.template.metadata.labels: Invalid value: %q: `selector` does not match template `labels`", labels.FormatLabels(template.Labels))
	}
	return nil
}

// selectorOf returns the selector of a controller; that of nil matches everything.
func selectorOf(selector *metav1.LabelSelector) (labels.Selector, error) {
	if selector == nil {
		return labels.Everything(), nil
	}
	s, err := same.AsSelector(selector)
	if err != nil {
		return nil, fmt.Errorf("spec.selector: Invalid value: %w", err)
	}
	return s, nil
}

// mapSelector returns the selector of a ReplicationController, nil for an empty map.
func mapSelector(m map[string]string) *metav1.LabelSelector {
	if len(m) == 0 {
		return nil
	}
	return &metav1.LabelSelector{MatchLabels: m}
}

// pointer is a pointer to an object.
type pointer[T any] interface {
	*T
	metav1.Object
}

// allNamed checks that every object is there and has a name of its own.
func allNamed[T any, P pointer[T]](kind string, list []P) error {
	return checkAll(kind, list, func(P) error { return nil })
}

// checkAll checks objects of one kind.
func checkAll[T any, P pointer[T]](kind string, list []P, check func(P) error) error {
	var seen map[id]bool // nil: an object alone has a name of its own
	if len(list) > 1 {
		seen = make(map[id]bool, len(list))
	}
	for i, o := range list {
		if err := named(kind, i, o); err != nil {
			return err
		}
		at := id{o.GetNamespace(), o.GetName()}
		if seen[at] {
			return duplicate(kind, o)
		}
		if seen != nil {
			seen[at] = true
		}
		if err := check(o); err != nil {
			return fmt.Errorf("%s: %w", called(kind, o), err)
		}
	}
	return nil
}

// named checks that object i of a list is there and has a name.
func named[T any, P pointer[T]](kind string, i int, o P) error {
	if o == nil {
		return fmt.Errorf("%s %d of the list: Required value: must not be nil", kind, i)
	}
	if o.GetName() == "" {
		return fmt.Errorf("%s %d of the list: metadata.name: Required value", kind, i)
	}
	return nil
}

func duplicate(kind string, o metav1.Object) error {
	return fmt.Errorf("%s: metadata.name: Duplicate value: %q", called(kind, o), o.GetName())
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
