package queue_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/queue"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// A pod that no node has room for waits for an event that its rejector registered.
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
	web, gpu := testkit.Pod("web").Obj(), testkit.Pod("gpu").Request("nvidia.com/gpu=1").Priority(100).Obj()
	for _, p := range []*v1.Pod{web, gpu} {
		moves, err := q.Add(p, now)
		if err != nil {
			fmt.Println(err)
		}
		show(moves)
	}
	e, moves := q.Pop(now) // gpu goes first: it has the higher priority
	show(moves)
	moves, err = q.Return(e, queue.Failure{Unschedulable: []string{"NodeResourcesFit"}}, now)
	if err != nil {
		fmt.Println(err)
	}
	show(moves)

	now = now.Add(time.Minute)
	show(q.Move(queue.Change{Event: queue.NodeAdd, New: testkit.Node("node-6").Capacity("nvidia.com/gpu=1").Obj()}, now))
	// Output:
	// default/web: nowhere -> active (UnschedulablePodAdd)
	// default/gpu: nowhere -> active (UnschedulablePodAdd)
	// default/gpu: active -> in flight (PodPopped)
	// default/gpu: in flight -> unschedulable (ScheduleAttemptFailure)
	// default/gpu: unschedulable -> active (NodeAdd, NodeResourcesFit)
}

// Hints are functions of the packages that know the plugins.
func ExampleWithHints() {
	events := queue.WithHints(queue.DefaultEvents(), map[string]queue.Hint{
		"NodeResourcesFit": func(_ *v1.Pod, _, new any) (bool, error) {
			n, ok := new.(*v1.Node)
			return ok && !n.Status.Allocatable.Name("nvidia.com/gpu", "").IsZero(), nil
		},
	})
	q, err := queue.New(queue.Options{Profiles: map[string]queue.Profile{v1.DefaultSchedulerName: {Events: events}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	gpu := testkit.Pod("gpu").Obj()
	if _, err := q.Add(gpu, noon); err != nil {
		fmt.Println(err)
	}
	e, _ := q.Pop(noon)
	if _, err := q.Return(e, queue.Failure{Unschedulable: []string{"NodeResourcesFit"}}, noon); err != nil {
		fmt.Println(err)
	}
	fmt.Println(q.Move(queue.Change{Event: queue.NodeAdd, New: testkit.Node("small").Obj()}, noon))
	fmt.Println(q.Move(queue.Change{Event: queue.NodeAdd, New: testkit.Node("big").Capacity("nvidia.com/gpu=8").Obj()}, noon))
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
	db := testkit.Pod("db").Obj()
	if _, err := q.Add(db, noon); err != nil {
		fmt.Println(err)
	}
	e, _ := q.Pop(noon)
	if _, err := q.Return(e, queue.Failure{Unschedulable: []string{"NodeAffinity"}}, noon); err != nil {
		fmt.Println(err)
	}
	fmt.Print(q.Explain(db, noon))
	// Output:
	// default/db is unschedulable since 2026-01-01T12:00:00Z, 1 attempts
	// rejected by NodeAffinity
	// moved by NodeAdd|UpdateNodeLabel, always (NodeAffinity)
	// moved by NodeUpdateNodeTaint, always (NodeAffinity)
	// tried again at 2026-01-01T12:05:30Z in any case
}

// The caller owns the clock: it sleeps, or jumps, until Next.
func ExampleQueue_Next() {
	q, err := queue.New(queue.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := q.Add(testkit.Pod("web").Obj(), noon); err != nil {
		fmt.Println(err)
	}
	e, _ := q.Pop(noon)
	if _, err := q.Return(e, queue.Failure{}, noon); err != nil { // an error: it rests
		fmt.Println(err)
	}
	next, _ := q.Next(noon)
	fmt.Println(next.Format(time.TimeOnly), q.Advance(next))
	// Output: 12:00:02 [default/web: error backoff -> active (BackoffComplete)]
}
