package workload

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nextRun ends the name of the Job that a CronJob makes next. The controller ends it with the minute of the run.
const nextRun = "-next"

// cronJob makes the pods of the next run of a CronJob. A suspended CronJob has no next run, and one that forbids runs at a time has
// none while a Job of its own is active.
func (m *maker) cronJob(c *batchv1.CronJob) {
	if gone(c) || c.Spec.Suspend != nil && *c.Spec.Suspend {
		return
	}
	if c.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent && slices.ContainsFunc(m.o.Jobs, func(j *batchv1.Job) bool {
		ref := metav1.GetControllerOfNoCopy(j)
		return ref != nil && ref.Kind == "CronJob" && ref.Name == c.Name && j.Namespace == c.Namespace && !ended(j) && !gone(j)
	}) {
		return
	}
	j := jobOf(c)
	m.made.Jobs = append(m.made.Jobs, j)
	m.job(j)
}

// jobOf returns the Job of a CronJob's next run.
func jobOf(c *batchv1.CronJob) *batchv1.Job {
	yes := true
	t := c.Spec.JobTemplate.DeepCopy()
	j := &batchv1.Job{ObjectMeta: t.ObjectMeta, Spec: t.Spec}
	j.Namespace, j.Name = c.Namespace, c.Name+nextRun
	j.OwnerReferences = []metav1.OwnerReference{{APIVersion: batch, Kind: "CronJob", Name: c.Name, UID: c.UID, Controller: &yes, BlockOwnerDeletion: &yes}}
	return j
}
