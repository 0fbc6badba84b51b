package admission

import (
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// A Job keeps its template, unless it is suspended; completions follow parallelism in an Indexed Job.
func TestJobUpdates(t *testing.T) {
	job := func(changes ...func(j *batchv1.Job)) *batchv1.Job {
		j := &batchv1.Job{Spec: batchv1.JobSpec{Parallelism: new(int32(2)), Completions: new(int32(2))}}
		j.Spec.Template.Labels = map[string]string{"app": "a"}
		j.Spec.Template.Spec.RestartPolicy = v1.RestartPolicyNever
		j.Spec.Template.Spec.Containers = []v1.Container{{Name: "c", Image: "i", Ports: []v1.ContainerPort{{ContainerPort: 80}}, Resources: v1.ResourceRequirements{Limits: v1.ResourceList{"cpu": resource.MustParse("1")}}}}
		for _, change := range changes {
			change(j)
		}
		return j
	}
	suspended := func(j *batchv1.Job) { j.Spec.Suspend = new(true) }
	indexed := func(j *batchv1.Job) { j.Spec.CompletionMode = new(batchv1.IndexedCompletion) }
	numbers := func(parallelism, completions int32) func(j *batchv1.Job) {
		return func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = &parallelism, &completions }
	}
	selector := func(j *batchv1.Job) { j.Spec.Template.Spec.NodeSelector = map[string]string{"pool": "a"} }
	larger := func(j *batchv1.Job) {
		j.Spec.Template.Spec.Containers[0].Resources.Limits["cpu"] = resource.MustParse("2")
	}
	stored := func(j *batchv1.Job) { // as the server stores it
		j.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"batch.kubernetes.io/controller-uid": "u"}}
		j.Spec.Template.Labels["batch.kubernetes.io/controller-uid"], j.Spec.Template.Labels["job-name"] = "u", "j"
		j.Spec.Template.Spec.Containers[0].Ports[0].Protocol = v1.ProtocolTCP
		j.Spec.Template.Spec.Containers[0].Resources.Requests = v1.ResourceList{"cpu": resource.MustParse("1")}
		j.Spec.Template.Spec.SchedulerName = v1.DefaultSchedulerName
		j.Spec.CompletionMode = new(batchv1.NonIndexedCompletion)
	}
	apart := func(j *batchv1.Job) {
		j.Spec.Template.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{testkit.Term(v1.LabelHostname, "app=a")}}}
	}
	type test struct {
		name, why string
		new, old  *batchv1.Job
		want      string
	}
	testkit.Run(t, []test{
		{"as it is", "defaults and labels of the server do not differ", job(), job(stored), ""},
		{"parallelism", "it may change", job(numbers(5, 2)), job(stored), ""},
		{"node selector", "the template stays", job(selector), job(stored), "spec.template: Invalid value"},
		{"cpu", "the template stays", job(larger), job(stored), "spec.template: Invalid value"},
		{"labels", "the template stays", job(func(j *batchv1.Job) { j.Spec.Template.Labels["app"] = "b" }), job(stored), "spec.template: Invalid value"},
		{"node selector of a suspended Job", "where the pods go may change", job(suspended, selector), job(stored, suspended), ""},
		{"cpu of a suspended Job", "since v1.36", job(suspended, larger), job(stored, suspended), ""},
		{"affinity to pods of a suspended Job", "it stays", job(suspended, apart), job(stored, suspended), "spec.template.spec: Invalid value"},
		{"a suspended Job with a pod", "the pod runs with the old template", job(suspended, selector), job(stored, suspended, func(j *batchv1.Job) { j.Status.Active = 1 }), "spec.template: Invalid value"},
		{"completions", "they stay", job(numbers(2, 3)), job(stored), "spec.completions: Invalid value: 3: field is immutable"},
		{"a Job that becomes Indexed", "the mode stays, completions follow parallelism", job(numbers(3, 3), indexed), job(stored), "spec.completionMode: Invalid value: \"Indexed\": field is immutable"},
		{"completions of an Indexed Job", "in step with parallelism", job(numbers(3, 3), indexed), job(stored, indexed), ""},
		{"completions out of step", "an Indexed Job wants both", job(numbers(2, 3), indexed), job(stored, indexed), "spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism"},
		{"an Indexed Job without completions", "another check says that they are missing", job(indexed, func(j *batchv1.Job) { j.Spec.Completions = nil }), job(stored, indexed), ""},
		{"mode", "it stays", job(indexed), job(stored), "spec.completionMode: Invalid value"},
		{"failures of an index", "their limit stays", job(indexed, func(j *batchv1.Job) { j.Spec.BackoffLimitPerIndex = new(int32(2)) }), job(stored, indexed, func(j *batchv1.Job) { j.Spec.BackoffLimitPerIndex = new(int32(1)) }), "spec.backoffLimitPerIndex: Invalid value: 2: field is immutable"},
		{"failures of an index as they are", "nothing changes", job(indexed, func(j *batchv1.Job) { j.Spec.BackoffLimitPerIndex = new(int32(1)) }), job(stored, indexed, func(j *batchv1.Job) { j.Spec.BackoffLimitPerIndex = new(int32(1)) }), ""},
		{"who manages it", "it stays", job(func(j *batchv1.Job) { j.Spec.ManagedBy = new("example.com/b") }), job(stored, func(j *batchv1.Job) { j.Spec.ManagedBy = new("example.com/a") }), "spec.managedBy: Invalid value: \"example.com/b\": field is immutable"},
		{"who manages it as it is", "nothing changes", job(func(j *batchv1.Job) { j.Spec.ManagedBy = new("example.com/a") }), job(stored, func(j *batchv1.Job) { j.Spec.ManagedBy = new("example.com/a") }), ""},
		{"selector", "it stays", job(func(j *batchv1.Job) { j.Spec.Selector = &metav1.LabelSelector{} }), job(stored), "spec.selector: Invalid value"},
	}, func(t *testing.T, c test) {
		testkit.Unchanged(t, func() {
			errs := jobUpdate(c.new, c.old)
			requireOne(t, c.want, errs, c.why)
		}, c.new, c.old)
	})
	require.Empty(t, validateWorkloadUpdate(job(), &v1.Pod{}), "another kind")
	require.NotEmpty(t, ValidateUpdate(job(selector), job(stored), Options{}))
}
