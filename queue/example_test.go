package queue_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func pod(name string, priority int32) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1.PodSpec{Priority: &priority}}
}

func node(name, gpus string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     v1.NodeStatus{Allocatable: v1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)}},
	}
}

// Pod gpu fits no node. It waits for an event that the rejecting plugin registered.
func Example() {
	q, err := queue.New(queue.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	now := noon
	show := func(moves []queue.Move) {
		for _, m := range moves {
			fmt.Println(m)
		}
	}
	for _, p := range []*v1.Pod{pod("web", 0), pod("gpu", 100)} {
		moves, err := q.Add(p, now)
		if err != nil {
			fmt.Println(err)
		}
		show(moves)
	}
	e, moves := q.Pop(now) // gpu goes first: it has the higher priority
	show(moves)
	moves, err = q.Return(e, queue.Failure{Rejecters: []string{"NodeResourcesFit"}}, now)
	if err != nil {
		fmt.Println(err)
	}
	show(moves)

	now = now.Add(time.Minute)
	show(q.Move(queue.Change{Event: queue.Event{Resource: "Node", Action: queue.Add}, New: node("n4", "2")}, now))
	// Output:
	// default/web: nowhere -> active (UnscheduledPodAdd)
	// default/gpu: nowhere -> active (UnscheduledPodAdd)
	// default/gpu: active -> in flight (PodPopped)
	// default/gpu: in flight -> unschedulable (ScheduleAttemptFailure)
	// default/gpu: unschedulable -> active (NodeAdd, NodeResourcesFit)
}

// A hint decides whether an event can help a pod: here, only a node with GPUs.
func ExampleDefaultEvents() {
	events := queue.DefaultEvents(map[string]queue.Hint{
		"NodeResourcesFit": func(_ *v1.Pod, _, new any) (bool, error) {
			n, ok := new.(*v1.Node)
			return ok && !n.Status.Allocatable.Name("nvidia.com/gpu", "").IsZero(), nil
		},
	}, release.Current)
	q, err := queue.New(queue.Options{Profiles: map[string]queue.Profile{v1.DefaultSchedulerName: {Events: events}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	gpu := pod("gpu", 0)
	if _, err := q.Add(gpu, noon); err != nil {
		fmt.Println(err)
	}
	e, _ := q.Pop(noon)
	if _, err := q.Return(e, queue.Failure{Rejecters: []string{"NodeResourcesFit"}}, noon); err != nil {
		fmt.Println(err)
	}
	fmt.Println(q.Move(queue.Change{Event: queue.Event{Resource: "Node", Action: queue.Add}, New: node("n1", "0")}, noon))
	fmt.Println(q.Move(queue.Change{Event: queue.Event{Resource: "Node", Action: queue.Add}, New: node("n4", "2")}, noon))
	// Output:
	// []
	// [default/gpu: unschedulable -> backoff (NodeAdd, NodeResourcesFit)]
}

func ExampleQueue_Explain() {
	q, err := queue.New(queue.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	db := pod("db", 0)
	if _, err := q.Add(db, noon); err != nil {
		fmt.Println(err)
	}
	e, _ := q.Pop(noon)
	if _, err := q.Return(e, queue.Failure{Rejecters: []string{"NodeAffinity"}}, noon); err != nil {
		fmt.Println(err)
	}
	fmt.Print(q.Explain(db, noon))
	// Output:
	// default/db is unschedulable since 2026-01-01T12:00:00Z, 1 attempts
	// rejected by NodeAffinity
	// moved by NodeAdd|UpdateNodeLabel, always (NodeAffinity)
	// tried again at 2026-01-01T12:05:30Z in any case
}

// The caller owns the clock. It sleeps until Next and calls Advance.
func ExampleQueue_Next() {
	q, err := queue.New(queue.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := q.Add(pod("web", 0), noon); err != nil {
		fmt.Println(err)
	}
	e, _ := q.Pop(noon)
	if _, err := q.Return(e, queue.Failure{}, noon); err != nil { // an error ended the attempt
		fmt.Println(err)
	}
	next, _ := q.Next(noon)
	fmt.Println(next.Format(time.TimeOnly), q.Advance(next))
	// Output: 12:00:02 [default/web: error backoff -> active (BackoffComplete)]
}

// Options change the backoff and the profiles. The zero value of each field is the default of v1.36.
func ExampleOptions() {
	most := 4 * time.Second
	q, err := queue.New(queue.Options{
		InitialBackoff: 2 * time.Second,
		MaxBackoff:     &most,
		Profiles: map[string]queue.Profile{v1.DefaultSchedulerName: {
			Gates:  []queue.Gate{queue.SchedulingGates()},
			Events: queue.DefaultEvents(nil, release.Current),
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	db := pod("db", 0)
	db.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/quota"}}
	moves, err := q.Add(db, noon)
	fmt.Println(moves, err)
	fmt.Println(q.Explain(db, noon).GateMessage)

	_, err = queue.New(queue.Options{InitialBackoff: 8 * time.Second, MaxBackoff: &most})
	fmt.Println(err)
	// Output:
	// [default/db: nowhere -> gated (UnscheduledPodAdd, SchedulingGates)] <nil>
	// waiting for scheduling gates: [example.com/quota]
	// maxBackoff: Invalid value: "4s": must be greater than or equal to initialBackoff 8s, or 0 for no backoff
}
