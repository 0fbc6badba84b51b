package queue_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
)

// The queue article's podA needs a node in the region cd, podB needs 10 cpu. Both fail and wait. A new node in cd wakes podA and
// not podB; a pod that leaves wakes podB and not podA. The hints are simple ones; the packages of the plugins have those of v1.36.
func Example_podAAndPodB() {
	inCD := func(pod *v1.Pod, _, new any) (bool, error) {
		n, ok := new.(*v1.Node)
		return ok && n.Labels["region"] == pod.Spec.NodeSelector["region"], nil
	}
	fits := func(pod *v1.Pod, _, new any) (bool, error) {
		n, ok := new.(*v1.Node) // a pod that leaves always may help
		return !ok || n.Status.Allocatable.Cpu().Cmp(*pod.Spec.Containers[0].Resources.Requests.Cpu()) >= 0, nil
	}
	profile := queue.Profile{Events: queue.DefaultEvents(map[string]queue.Hint{"NodeAffinity": inCD, "NodeResourcesFit": fits}, release.Current)}
	q, err := queue.New(queue.Options{Profiles: map[string]queue.Profile{"default-scheduler": profile}})
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, p := range []struct{ name, region, cpu, rejectedBy string }{
		{"podA", "cd", "1", "NodeAffinity"}, {"podB", "", "10", "NodeResourcesFit"},
	} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: p.name, UID: types.UID(p.name)}, Spec: v1.PodSpec{SchedulerName: "default-scheduler"}}
		pod.Spec.NodeSelector = map[string]string{"region": p.region}
		pod.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse(p.cpu)}}}}
		if _, err := q.Add(pod, now); err != nil {
			fmt.Println(err)
			return
		}
		e, _ := q.Pop(now)
		if _, err := q.Return(e, queue.Failure{Rejecters: []string{p.rejectedBy}}, now); err != nil {
			fmt.Println(err)
			return
		}
	}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "nodeA", Labels: map[string]string{"region": "cd"}}}
	node.Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse("4")}
	for _, c := range []queue.Change{
		{Event: queue.Event{Resource: "Node", Action: queue.Add}, New: node},
		{Event: queue.Event{Resource: "AssignedPod", Action: queue.Delete}, Old: &v1.Pod{}},
	} {
		for _, m := range q.Move(c, now) {
			fmt.Println(m)
		}
	}
	// Output:
	// default/podA: unschedulable -> backoff (NodeAdd, NodeAffinity)
	// default/podB: unschedulable -> backoff (AssignedPodDelete, NodeResourcesFit)
}
