package admission

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// The template of every workload is checked as its pods are, with the paths and the kind of the workload.
func TestTemplates(t *testing.T) {
	template := v1.PodTemplateSpec{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c"}}, TopologySpreadConstraints: []v1.TopologySpreadConstraint{{TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule}}}}
	m := metav1.ObjectMeta{Name: "w", Namespace: "default"}
	const says = " is invalid: spec.template.spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"
	type test struct {
		name, why string
		object    metav1.Object
		want      string
	}
	testkit.Run(t, []test{
		{"Deployment", "a template", &appsv1.Deployment{ObjectMeta: m, Spec: appsv1.DeploymentSpec{Template: template}}, `Deployment.apps "w"` + says},
		{"ReplicaSet", "a template", &appsv1.ReplicaSet{ObjectMeta: m, Spec: appsv1.ReplicaSetSpec{Template: template}}, `ReplicaSet.apps "w"` + says},
		{"StatefulSet", "a template", &appsv1.StatefulSet{ObjectMeta: m, Spec: appsv1.StatefulSetSpec{Template: template}}, `StatefulSet.apps "w"` + says},
		{"DaemonSet", "a template", &appsv1.DaemonSet{ObjectMeta: m, Spec: appsv1.DaemonSetSpec{Template: template}}, `DaemonSet.apps "w"` + says},
		{"Job", "a template", &batchv1.Job{ObjectMeta: m, Spec: batchv1.JobSpec{Template: template}}, `Job.batch "w"` + says},
		{"ReplicationController", "of the core group", &v1.ReplicationController{ObjectMeta: m, Spec: v1.ReplicationControllerSpec{Template: &template}}, `ReplicationController "w"` + says},
		{"CronJob", "a longer path", &batchv1.CronJob{ObjectMeta: m, Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}}}},
			`CronJob.batch "w" is invalid: spec.jobTemplate.spec.template.spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero`},
		{"no template", "nothing to check", &v1.ReplicationController{ObjectMeta: m}, ""},
		{"no workload", "nothing to check", &v1.Service{ObjectMeta: m}, ""},
	}, func(t *testing.T, c test) {
		err := Refusal(c.object, Validate(c.object, Options{}))
		if c.want == "" {
			require.NoError(t, err)
			return
		}
		require.EqualError(t, err, c.want)
	})
}
