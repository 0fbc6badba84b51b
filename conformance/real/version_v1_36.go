//go:build k1_36

package real

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	helper "k8s.io/component-helpers/resource"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

func (s *Scheduler) schedule(state fwk.CycleState, info *framework.PodInfo) (scheduler.ScheduleResult, error) {
	return s.Sched.SchedulePod(s.ctx, s.Framework, state, &framework.QueuedPodInfo{PodInfo: info})
}

func (s *Scheduler) enqueue(pod *v1.Pod) { s.Sched.SchedulingQueue.Add(s.ctx, pod) }

func (s *Scheduler) dequeue(pod *v1.Pod) { s.Sched.SchedulingQueue.Delete(pod) }

// spare makes the plugin delete nobody.
func spare(dp *defaultpreemption.DefaultPreemption) {
	dp.Executor.PreemptPod = func(context.Context, preemption.Candidate, preemption.ExecutorPreemptor, *v1.Pod, string) error {
		return nil
	}
}

// recorders makes recorders that drop their events.
func recorders(string) events.EventRecorderLogger { return &events.FakeRecorder{} }

// PodChanges returns the events of a change of an assigned pod, or of the pending pod itself.
func PodChanges(old, new *v1.Pod) []fwk.ClusterEvent {
	return framework.PodSchedulingPropertiesChange(new, old)
}

// Held returns what a pod on a node counts with, with the feature gates that this version has on.
func Held(pod *v1.Pod) v1.ResourceList {
	return helper.PodRequests(pod, helper.PodResourcesOptions{UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true})
}
