package queue_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/history"
	"github.com/podberth/podberth/queue"
)

// moveRequestCycle, the rule of v1.27 and v1.28: each Pop begins a scheduling cycle, and an event notes the cycle in which it comes. A
// pod that fails waits for an event when no event came since its Pop. It only rests (backoff) when one came, because the attempt may
// not have seen what the event changed.
func ExampleLegacy() {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	q, err := queue.New(queue.Options{
		Legacy:   queue.Legacy{CycleCounter: true},
		Profiles: map[string]queue.Profile{v1.DefaultSchedulerName: {Events: history.Registrations128()}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"first", "second"} {
		if _, err := q.Add(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}, now); err != nil {
			fmt.Println(err)
		}
	}
	for _, eventComes := range []bool{true, false} {
		e, _ := q.Pop(now) // a new scheduling cycle
		if eventComes {
			q.Move(queue.Change{Event: queue.Event{Resource: "Node", Action: queue.Add}, New: &v1.Node{}}, now)
		}
		moves, err := q.Return(e, queue.Failure{Rejecters: []string{"NodeResourcesFit"}}, now)
		if err != nil {
			fmt.Println(err)
		}
		fmt.Println(moves[0])
	}
	// Output:
	// default/first: in flight -> backoff (ScheduleAttemptFailure)
	// default/second: in flight -> unschedulable (ScheduleAttemptFailure)
}
