//go:build !k1_36

package queue_test

import (
	_ "unsafe" // for linkname

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	realqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/podberth/podberth/queue"
)

// The kinds of pods that arrive in TestEveryEventForEveryPlugin. Of pods without a node: the kinds of registrations, and of events.
var (
	arrivingPods  = []fwk.EventResource{fwk.AssignedPod, fwk.TargetPod, fwk.UnscheduledPod}
	waitingKinds  = []fwk.EventResource{fwk.TargetPod, fwk.UnscheduledPod}
	waitingArrive = fwk.UnscheduledPod
)

// offByDefault has the registrations of plugins that are not in the default profile.
var offByDefault = []queue.Registration{
	{Plugin: "GangScheduling", Event: queue.Event{Resource: "AssignedPod", Action: queue.Add}},
	{Plugin: "GangScheduling", Event: queue.Event{Resource: "UnscheduledPod", Action: queue.Add}},
	{Plugin: "GangScheduling", Event: queue.Event{Resource: "scheduling.k8s.io/PodGroup", Action: queue.Add}},
	{Plugin: "GangScheduling", Event: queue.Event{Resource: "scheduling.k8s.io/PodGroup", Action: queue.Update}},
	{Plugin: "DeferredPodScheduling", Event: queue.Event{Resource: "Node", Action: queue.Add}},
	{Plugin: "DeferredPodScheduling", Event: queue.Event{Resource: "Node", Action: queue.Update}}, // UpdateNodePreemptionPolicy
}

// gaugesDrift says that gauges of the real queue count wrongly, see drift.
const gaugesDrift = false

// addsTwice says that a second addition of a queued pod replaces the first. In v1.37 the pod is then in two places, or counted twice.
const addsTwice = false

// queued is what the order of the queue compares.
type queued = fwk.QueuedEntityInfo

func uidOf(q queued) types.UID { return q.(*framework.QueuedPodInfo).Pod.UID }

//go:linkname flushLeftover k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushUnschedulableEntitiesLeftover
func flushLeftover(*realqueue.PriorityQueue, klog.Logger)

func popNext(q realqueue.SchedulingQueue) (*framework.QueuedPodInfo, error) {
	info, err := q.Pop(klog.Background())
	if info == nil {
		return nil, err
	}
	return info.(*framework.QueuedPodInfo), err
}

// popNamed takes a pod out of its turn, which v1.37 cannot.
func popNamed(*realqueue.PriorityQueue, *v1.Pod) (info *framework.QueuedPodInfo, can bool) {
	return nil, false
}

func handBack(q realqueue.SchedulingQueue, info *framework.QueuedPodInfo) error {
	return q.AddUnschedulablePodIfNotPresent(klog.Background(), info, q.SchedulingCycle())
}

func lookUp(q *realqueue.PriorityQueue, pod *v1.Pod) (*framework.QueuedPodInfo, bool) {
	return q.GetPod(pod.Name, pod.Namespace, nil)
}

func remove(q realqueue.SchedulingQueue, pod *v1.Pod) { q.Delete(klog.Background(), pod) }

// grows reports whether the event says that requests of a pod grew, which v1.36 does not say.
func grows(e fwk.ClusterEvent) bool { return e.ActionType == fwk.UpdatePodScaleUp }
