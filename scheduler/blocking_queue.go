package scheduler

import (
	"context"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/queue"
)

// Queue is a queue.Queue for many goroutines, with a clock and a Pop that waits. Queue passes every move of a pod to a
// function, under the lock, in the order of the moves.
type Queue struct {
	mu     sync.Mutex
	inner  *queue.Queue
	clock  Clock
	onMove func([]queue.Move)
	wake   chan struct{} // has an element if the queue changed and Pop has not looked since
	closed bool

	disorder error       // why the order of the queue has changed since the lock was taken; nil: it has not
	failed   []error     // other failures since the lock was taken
	onError  func(error) // is called with the failures, without the lock
}

// NewQueue wraps a queue. From then on nobody else may use that queue. onMove may be nil; it must not call the queue.
func NewQueue(inner *queue.Queue, clock Clock, onMove func([]queue.Move)) *Queue {
	return &Queue{inner: inner, clock: clock, onMove: onMove, wake: make(chan struct{}, 1)}
}

// do runs one operation under the lock, reports its moves, and wakes Pop.
func (q *Queue) do(operation func(*queue.Queue) []queue.Move) {
	q.mu.Lock()
	defer q.unlock()
	moves := operation(q.inner)
	if q.onMove != nil && len(moves) > 0 {
		q.onMove(moves)
	}
	q.signal()
}

// unlock releases the lock. If the queue's order failed meanwhile, unlock sorts the queue again first.
func (q *Queue) unlock() {
	failed := q.failed
	if q.disorder != nil {
		failed = append(failed, q.disorder)
		q.inner.Reorder()
	}
	q.disorder, q.failed = nil, nil
	q.mu.Unlock()
	for _, err := range failed {
		q.onError(err)
	}
}

func (q *Queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Add adds a new pod.
func (q *Queue) Add(pod *v1.Pod) (err error) {
	q.do(func(in *queue.Queue) (m []queue.Move) { m, err = in.Add(pod, q.clock.Now()); return m })
	return err
}

// Update replaces an unassigned pod with its new version.
func (q *Queue) Update(old, new *v1.Pod) (err error) {
	q.do(func(in *queue.Queue) (m []queue.Move) { m, err = in.Update(old, new, q.clock.Now()); return m })
	return err
}

// Delete removes a pod.
func (q *Queue) Delete(pod *v1.Pod) {
	q.do(func(in *queue.Queue) []queue.Move { return in.Delete(pod) })
}

// TryPop takes the next pod. It returns nil if no pod is active.
func (q *Queue) TryPop() *queue.Entry {
	e, _ := q.pop()
	return e
}

// pop takes the next pod, and reports whether the queue is closed and empty. After pop took a pod, the other goroutines
// that wait look for the next pod.
func (q *Queue) pop() (e *queue.Entry, over bool) {
	q.mu.Lock()
	defer q.unlock()
	e, moves := q.inner.Pop(q.clock.Now())
	if q.onMove != nil && len(moves) > 0 {
		q.onMove(moves)
	}
	over = e == nil && q.closed
	if e != nil || over {
		q.signal()
	}
	return e, over
}

// Pop takes the next pod, and waits until there is a pod. It returns nil when the context ends, or when the queue is
// closed and empty.
func (q *Queue) Pop(ctx context.Context) *queue.Entry {
	for ctx.Err() == nil {
		if e, over := q.pop(); e != nil || over {
			return e
		}
		select {
		case <-q.wake: // the queue changed since
		case <-ctx.Done():
		}
	}
	return nil
}

// Done ends the attempt of a popped pod.
func (q *Queue) Done(pod *v1.Pod) {
	q.do(func(in *queue.Queue) []queue.Move { return in.Done(pod) })
}

// Return puts a popped pod back.
func (q *Queue) Return(e *queue.Entry, f queue.Failure) (err error) {
	q.do(func(in *queue.Queue) (m []queue.Move) { m, err = in.Return(e, f, q.clock.Now()); return m })
	return err
}

// ReturnRoot ends the attempt of a root.
func (q *Queue) ReturnRoot(root *queue.Entry, r queue.RootResult) (err error) {
	q.do(func(in *queue.Queue) (m []queue.Move) { m, err = in.ReturnRoot(root, r, q.clock.Now()); return m })
	return err
}

// Activate moves pods to the active queue.
func (q *Queue) Activate(pods ...*v1.Pod) {
	if len(pods) > 0 {
		q.do(func(in *queue.Queue) []queue.Move { return in.Activate(q.clock.Now(), pods...) })
	}
}

// Move reports an event of the cluster to the queue.
func (q *Queue) Move(c queue.Change) {
	q.do(func(in *queue.Queue) []queue.Move { return in.Move(c, q.clock.Now()) })
}

// Advance ends the backoffs that are over, and moves the pods that have waited too long as unschedulable.
func (q *Queue) Advance() {
	q.do(func(in *queue.Queue) []queue.Move { return in.Advance(q.clock.Now()) })
}

// Nominate replaces a pod's nomination.
func (q *Queue) Nominate(pod *v1.Pod, to queue.Nomination) {
	q.do(func(in *queue.Queue) []queue.Move { in.Nominate(pod, to); return nil })
}

// NominatedFor returns the pods nominated for a node.
func (q *Queue) NominatedFor(node string) []*v1.Pod {
	q.mu.Lock()
	defer q.unlock()
	return q.inner.NominatedFor(node)
}

// nominated returns the node that a pod, queued or in flight, is nominated for, "" for none.
func (q *Queue) nominated(pod *v1.Pod) (node string) {
	q.Read(func(in *queue.Queue) {
		if in.Nominations() == 0 {
			return
		}
		if x := in.Explain(pod, q.clock.Now()); x.Found && x.Pod.UID == pod.UID {
			node = x.Nominated
		}
	})
	return node
}

// Read lets a function read the queue under the lock. The function must change nothing and keep nothing.
func (q *Queue) Read(read func(*queue.Queue)) {
	q.mu.Lock()
	defer q.unlock()
	read(q.inner)
}

// Close lets Pop return nil once the queue is empty.
func (q *Queue) Close() {
	q.do(func(in *queue.Queue) []queue.Move {
		q.closed = true
		return in.Close()
	})
}
