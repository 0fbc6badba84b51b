//go:build k1_36

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
	arrivingPods  = []fwk.EventResource{"AssignedPod", "UnschedulablePod", fwk.Pod}
	waitingKinds  = []fwk.EventResource{"UnschedulablePod"}
	waitingArrive = fwk.EventResource("UnschedulablePod")
)

// offByDefault has the registrations of plugins that are not in the default profile. Those of GangScheduling are in
// queue.Options.GangScheduling.
var offByDefault = []queue.Registration{
	{Plugin: "GangScheduling", Event: queue.Event{Resource: "Pod", Action: queue.Add}},
	{Plugin: "GangScheduling", Event: queue.Event{Resource: "scheduling.k8s.io/PodGroup", Action: queue.Add}},
}

// gaugesDrift says that gauges of the real queue count wrongly, see drift.
const gaugesDrift = true

// addsTwice says that a second addition of a queued pod replaces the first. In v1.37 the pod is then in two places, or counted twice.
const addsTwice = true

// queued is what the order of the queue compares.
type queued = fwk.QueuedPodInfo

func uidOf(q queued) types.UID { return q.GetPodInfo().GetPod().UID }

//go:linkname flushLeftover k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushUnschedulablePodsLeftover
func flushLeftover(*realqueue.PriorityQueue, klog.Logger)

func popNext(q realqueue.SchedulingQueue) (*framework.QueuedPodInfo, error) {
	return q.Pop(klog.Background())
}

// popNamed takes a pod out of its turn, which v1.37 cannot.
func popNamed(q *realqueue.PriorityQueue, pod *v1.Pod) (info *framework.QueuedPodInfo, can bool) {
	return q.PopSpecificPod(klog.Background(), pod), true
}

func handBack(q realqueue.SchedulingQueue, info *framework.QueuedPodInfo) error {
	return q.AddUnschedulableIfNotPresent(klog.Background(), info, q.SchedulingCycle())
}

func lookUp(q *realqueue.PriorityQueue, pod *v1.Pod) (*framework.QueuedPodInfo, bool) {
	return q.GetPod(pod.Name, pod.Namespace)
}

func remove(q realqueue.SchedulingQueue, pod *v1.Pod) { q.Delete(pod) }

// grows reports whether the event says that requests of a pod grew, which v1.36 does not say.
func grows(fwk.ClusterEvent) bool { return false }
