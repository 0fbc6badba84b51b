package workload

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// A pod without a node gets the claims of its ephemeral volumes and devices, whether it was there or is made; a pod on a node, a claim
// that is there, an entry that the status names and a template that is missing make nothing.
func TestClaimsOfPods(t *testing.T) {
	spec := v1.PodSpec{
		Containers:     []v1.Container{{Name: "c"}},
		Volumes:        []v1.Volume{{Name: "s", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{}}}}},
		ResourceClaims: []v1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr("gpus")}, {Name: "nic", ResourceClaimTemplateName: ptr("gone")}},
	}
	waits, runs, named, has := &v1.Pod{ObjectMeta: meta("waits"), Spec: spec}, &v1.Pod{ObjectMeta: meta("runs"), Spec: spec}, &v1.Pod{ObjectMeta: meta("named"), Spec: spec}, &v1.Pod{ObjectMeta: meta("has"), Spec: spec}
	runs.Spec.NodeName = "n1"
	named.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr("mine")}}
	there := &v1.PersistentVolumeClaim{ObjectMeta: meta("has-s")}
	d := deployment("web", 1)
	d.Spec.Template.Spec = spec
	made, err := Make(Objects{
		Deployments: []*appsv1.Deployment{d}, Pods: []*v1.Pod{waits, runs, named, has}, Claims: []*v1.PersistentVolumeClaim{there},
		ClaimTemplates: []*resourcev1.ResourceClaimTemplate{{ObjectMeta: meta("gpus")}},
		ResourceClaims: []*resourcev1.ResourceClaim{{ObjectMeta: meta("has-gpu-1")}},
	}, Options{})
	require.NoError(t, err)
	require.Len(t, made.Pods, 1)
	var claims, devices, claiming []string
	for _, c := range made.Claims {
		claims = append(claims, c.Name)
	}
	for _, c := range made.ResourceClaims {
		devices = append(devices, c.Name)
		require.NotEmpty(t, c.OwnerReferences[0].UID, "the scheduler compares it with that of the pod")
	}
	for _, p := range made.Claiming {
		require.NotEmpty(t, p.UID)
		claiming = append(claiming, p.Name+" "+*p.Status.ResourceClaimStatuses[0].ResourceClaimName)
	}
	web := made.Pods[0].Name
	require.Equal(t, []string{"waits-s", "named-s", web + "-s"}, claims)
	require.Equal(t, []string{"waits-gpu-1", "has-gpu-2", web + "-gpu-1"}, devices)
	require.Equal(t, []string{"waits waits-gpu-1", "named mine", "has has-gpu-2"}, claiming)
	require.Equal(t, web+"-gpu-1", *made.Pods[0].Status.ResourceClaimStatuses[0].ResourceClaimName)
	require.Empty(t, waits.Status.ResourceClaimStatuses, "the input stays as it is")
}

// A CronJob makes the pods of its next run unless it is suspended, goes away, or forbids a run beside the one that is there.
func TestCronJob(t *testing.T) {
	type test struct {
		name, why string
		change    func(c *batchv1.CronJob)
		running   bool
		want      int
	}
	testkit.Run(t, []test{
		{"next run", "its parallelism", func(*batchv1.CronJob) {}, false, 2},
		{"suspended", "has no next run", func(c *batchv1.CronJob) { c.Spec.Suspend = ptr(true) }, false, 0},
		{"Forbid", "the run that is there must end first", func(c *batchv1.CronJob) { c.Spec.ConcurrencyPolicy = batchv1.ForbidConcurrent }, true, 0},
		{"Forbid without a run", "nothing is in the way", func(c *batchv1.CronJob) { c.Spec.ConcurrencyPolicy = batchv1.ForbidConcurrent }, false, 2},
		{"Allow", "runs stand side by side", func(c *batchv1.CronJob) { c.Spec.ConcurrencyPolicy = batchv1.AllowConcurrent }, true, 2},
	}, func(t *testing.T, c test) {
		cron := &batchv1.CronJob{ObjectMeta: meta("night")}
		cron.Spec.JobTemplate.Spec = job("x", ptr(int32(2)), ptr(int32(4))).Spec
		c.change(cron)
		o := Objects{CronJobs: []*batchv1.CronJob{cron}}
		if c.running {
			run := job("night-1", ptr(int32(0)), nil)
			run.OwnerReferences = jobOf(cron).OwnerReferences
			o.Jobs = append(o.Jobs, run)
		}
		made, err := Make(o, Options{})
		require.NoError(t, err)
		require.Len(t, made.Pods, c.want, c.why)
		for _, p := range made.Pods {
			require.Equal(t, "night-next", p.OwnerReferences[0].Name)
			require.Equal(t, "night-next", made.Jobs[0].Name)
		}
	})
}

// The target of an autoscaler has a number of replicas between the bounds.
func TestAutoscaler(t *testing.T) {
	type test struct {
		name, why   string
		asked       int32
		least, most *int32
		want        int
	}
	testkit.Run(t, []test{
		{"too few", "minReplicas", 1, ptr(int32(3)), ptr(int32(10)), 3},
		{"too many", "maxReplicas", 12, ptr(int32(3)), ptr(int32(10)), 10},
		{"between", "as they are", 5, ptr(int32(3)), ptr(int32(10)), 5},
		{"off", "0 replicas turn it off", 0, ptr(int32(3)), ptr(int32(10)), 0},
		{"default", "minReplicas is 1", 1, nil, ptr(int32(4)), 1},
	}, func(t *testing.T, c test) {
		h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: meta("h")}
		h.Spec.MinReplicas, h.Spec.MaxReplicas = c.least, *c.most
		h.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "web"}
		made, err := Make(Objects{Deployments: []*appsv1.Deployment{deployment("web", c.asked)}, Autoscalers: []*autoscalingv2.HorizontalPodAutoscaler{h}}, Options{})
		require.NoError(t, err)
		require.Len(t, made.Pods, c.want, c.why)
	})
	gone := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: meta("gone")}
	gone.Spec.MinReplicas, gone.Spec.MaxReplicas = ptr(int32(3)), 10
	gone.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "web"}
	gone.DeletionTimestamp = &metav1.Time{Time: testkit.Epoch}
	made, err := Make(Objects{Deployments: []*appsv1.Deployment{deployment("web", 1)}, Autoscalers: []*autoscalingv2.HorizontalPodAutoscaler{gone}}, Options{})
	require.NoError(t, err)
	require.Len(t, made.Pods, 1, "an autoscaler that is being deleted scales nothing")
	bad := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: meta("h")}
	bad.Spec.ScaleTargetRef.Name = "web"
	_, err = Make(Objects{Autoscalers: []*autoscalingv2.HorizontalPodAutoscaler{bad}}, Options{})
	require.EqualError(t, err, "HorizontalPodAutoscaler shop/h: spec.maxReplicas: Invalid value: 0: must be greater than 0")
}
