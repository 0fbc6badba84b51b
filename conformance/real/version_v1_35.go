//go:build k1_34 || k1_35

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
	return s.Sched.SchedulePod(s.ctx, s.Framework, state, info.Pod)
}

func (s *Scheduler) enqueue(pod *v1.Pod) { s.Sched.SchedulingQueue.Add(s.logger, pod) }

func (s *Scheduler) dequeue(pod *v1.Pod) { s.Sched.SchedulingQueue.Delete(pod) }

// spare makes the plugin delete nobody.
func spare(dp *defaultpreemption.DefaultPreemption) {
	dp.Evaluator.PreemptPod = func(context.Context, preemption.Candidate, *v1.Pod, *v1.Pod, string) error { return nil }
}

// recorders makes recorders that drop their events.
func recorders(string) events.EventRecorder { return &events.FakeRecorder{} }

// Held returns what a pod on a node counts with, with the feature gates that this version has on.
func Held(pod *v1.Pod) v1.ResourceList {
	return helper.PodRequests(pod, helper.PodResourcesOptions{UseStatusResources: true})
}
