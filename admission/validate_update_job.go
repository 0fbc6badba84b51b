package admission

import (
	"maps"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/overhead"
)

// jobUpdate keeps the selector, the mode, the template, and completions that do not follow parallelism. The template of a suspended Job
// without running pods may change where the pods go and what they ask for. A selector that the new Job lacks is the one that the server
// made.
func jobUpdate(job, old *batchv1.Job) (errs field.ErrorList) {
	path := field.NewPath("spec")
	mode := func(j *batchv1.Job) batchv1.CompletionMode {
		if j.Spec.CompletionMode == nil {
			return batchv1.NonIndexedCompletion
		}
		return *j.Spec.CompletionMode
	}
	if now, was := completionsOf(job), completionsOf(old); !equality.Semantic.DeepEqual(now, was) {
		switch indexed := mode(job) == batchv1.IndexedCompletion; {
		case indexed && now == nil: // an Indexed Job needs completions, which is another error
		case !indexed:
			errs = append(errs, field.Invalid(path.Child("completions"), now, immutable))
		case *now != parallelismOf(job) || was != nil && *was != parallelismOf(old):
			errs = append(errs, field.Invalid(path.Child("completions"), now, "can only be modified in tandem with spec.parallelism"))
		}
	}
	if job.Spec.Selector != nil && !equality.Semantic.DeepEqual(job.Spec.Selector, old.Spec.Selector) {
		errs = append(errs, field.Invalid(path.Child("selector"), job.Spec.Selector, immutable))
	}
	idle := old.Spec.Suspend != nil && *old.Spec.Suspend && old.Status.Active == 0
	now, was := &job.Spec.Template, &old.Spec.Template
	if !equality.Semantic.DeepEqual(fixedTemplate(now, idle), fixedTemplate(was, idle)) || !equality.Semantic.DeepEqual(restOf(now, idle), restOf(was, idle)) {
		if idle { // the server looks at the specification alone
			errs = append(errs, field.Invalid(path.Child("template", "spec"), job.Spec.Template.Spec, immutable))
		} else {
			errs = append(errs, field.Invalid(path.Child("template"), job.Spec.Template, immutable))
		}
	}
	for _, f := range [...]struct {
		name     string
		now, was any
	}{
		{"podFailurePolicy", job.Spec.PodFailurePolicy, old.Spec.PodFailurePolicy}, {"backoffLimitPerIndex", job.Spec.BackoffLimitPerIndex, old.Spec.BackoffLimitPerIndex},
		{"managedBy", job.Spec.ManagedBy, old.Spec.ManagedBy}, {"successPolicy", job.Spec.SuccessPolicy, old.Spec.SuccessPolicy},
	} {
		if !equality.Semantic.DeepEqual(f.now, f.was) {
			errs = append(errs, field.Invalid(path.Child(f.name), f.now, immutable))
		}
	}
	if mode(job) != mode(old) {
		errs = append(errs, field.Invalid(path.Child("completionMode"), mode(job), immutable))
	}
	return errs
}

// completionsOf returns the completions with their default: 1 when parallelism is not set either.
func completionsOf(j *batchv1.Job) *int32 {
	if j.Spec.Completions == nil && j.Spec.Parallelism == nil {
		return new(int32(1))
	}
	return j.Spec.Completions
}

func parallelismOf(j *batchv1.Job) int32 {
	if j.Spec.Parallelism == nil {
		return 1
	}
	return *j.Spec.Parallelism
}

// fixedTemplate returns what no update may change of a template, as far as scheduling reads it. The labels that the server sets are
// left out. The template of an idle Job keeps less.
func fixedTemplate(t *v1.PodTemplateSpec, idle bool) *v1.PodTemplateSpec {
	p := overhead.Default(&v1.Pod{Spec: t.Spec})
	out := &v1.PodTemplateSpec{Spec: *fixed(&p.Spec)}
	s := &out.Spec
	if s.SchedulerName == "" {
		s.SchedulerName = v1.DefaultSchedulerName
	}
	s.Volumes = claimVolumes(t.Spec.Volumes)
	if idle {
		s.Resources = t.Spec.Resources
		for _, list := range [][]v1.Container{s.Containers, s.InitContainers} {
			for i := range list {
				list[i].Resources = v1.ResourceRequirements{}
			}
		}
	} else {
		s.NodeSelector, s.Affinity, s.Tolerations, s.SchedulingGates = t.Spec.NodeSelector, t.Spec.Affinity, t.Spec.Tolerations, t.Spec.SchedulingGates
		out.Labels = maps.Clone(t.Labels)
		maps.DeleteFunc(out.Labels, func(key, _ string) bool {
			return key == "controller-uid" || key == "job-name" || strings.HasPrefix(key, "batch.kubernetes.io/")
		})
	}
	if idle && t.Spec.Affinity != nil { // node affinity may change, affinity to pods may not
		if s.Affinity = (&v1.Affinity{PodAffinity: t.Spec.Affinity.PodAffinity, PodAntiAffinity: t.Spec.Affinity.PodAntiAffinity}); *s.Affinity == (v1.Affinity{}) {
			s.Affinity = nil
		}
	}
	for _, list := range [][]v1.Container{s.Containers, s.InitContainers} {
		for i := range list {
			for k := range list[i].Ports {
				if port := &list[i].Ports[k]; port.Protocol == "" {
					list[i].Ports[k].Protocol = v1.ProtocolTCP
				}
			}
		}
	}
	return out
}

// claimVolumes returns the volumes with claims.
func claimVolumes(list []v1.Volume) (out []v1.Volume) {
	for _, v := range list {
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			out = append(out, v)
		}
	}
	return out
}
