package write

import (
	"context"
	"errors"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/podberth/podberth/scheduler"
)

// statusWriter sends patches that nobody waits for. Of a pod it keeps the newest patch, and while somebody holds the pod it
// sends nothing about it.
type statusWriter struct {
	send    func(pod *v1.Pod, patch scheduler.StatusPatch) error
	tries   int // after the first
	onError func(error)
	queue   workqueue.TypedRateLimitingInterface[types.UID]

	mu      sync.Mutex
	waiting map[types.UID]statusJob
	held    map[types.UID]bool
	freed   chan struct{} // is closed when a pod is not held any more; nil: nobody waits
}

type statusJob struct {
	pod   *v1.Pod
	patch scheduler.StatusPatch
}

// The pauses before a failed patch is sent again double from the first to the last.
const firstPatchPause, lastPatchPause = 10 * time.Millisecond, time.Second

func newStatusWriter(send func(*v1.Pod, scheduler.StatusPatch) error, tries int, onError func(error)) *statusWriter {
	return &statusWriter{
		send: send, tries: tries, onError: onError, waiting: map[types.UID]statusJob{}, held: map[types.UID]bool{},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[types.UID](firstPatchPause, lastPatchPause)),
	}
}

// run sends patches with n workers until the context ends and the last worker has finished. life bounds the wait for a pod.
func (w *statusWriter) run(ctx, life context.Context, n int) {
	var workers sync.WaitGroup
	for range n {
		workers.Go(func() {
			for w.one(life) {
			}
		})
	}
	<-ctx.Done()
	w.queue.ShutDown()
	workers.Wait()
}

// one sends the patch of one pod. It returns false when the queue is shut down.
func (w *statusWriter) one(life context.Context) bool {
	uid, over := w.queue.Get()
	if over {
		return false
	}
	defer w.queue.Done(uid)
	w.mu.Lock()
	held := w.held[uid]
	w.held[uid] = true
	w.mu.Unlock()
	if held {
		return true // the holder's release queues the pod again
	}
	defer w.free(uid)
	job, ok := w.take(uid)
	if !ok {
		w.queue.Forget(uid)
		return true
	}
	err := w.send(job.pod, job.patch)
	if err == nil || errors.Is(err, scheduler.ErrGone) {
		w.queue.Forget(uid)
		return true
	}
	if (final(err) && !apierrors.IsConflict(err)) || w.queue.NumRequeues(uid) >= w.tries || life.Err() != nil {
		w.queue.Forget(uid)
		w.onError(err)
		return true
	}
	w.mu.Lock()
	if _, newer := w.waiting[uid]; !newer {
		w.waiting[uid] = job
	}
	w.mu.Unlock()
	w.queue.AddRateLimited(uid)
	return true
}

// later keeps a patch to be sent. It replaces a patch that waits, whose nomination stays if the new patch has none.
func (w *statusWriter) later(pod *v1.Pod, patch scheduler.StatusPatch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if patch.NominatedNode == nil {
		patch.NominatedNode = w.waiting[pod.UID].patch.NominatedNode
	}
	w.waiting[pod.UID] = statusJob{pod, patch}
	w.queue.Add(pod.UID)
}

// take removes the patch that waits for a pod.
func (w *statusWriter) take(uid types.UID) (statusJob, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	job, ok := w.waiting[uid]
	delete(w.waiting, uid)
	return job, ok
}

// drop forgets the patch that waits for a pod.
func (w *statusWriter) drop(uid types.UID) { w.take(uid) }

// hold waits until nobody else writes to the pod. Until release no patch of the pod is sent.
func (w *statusWriter) hold(ctx context.Context, uid types.UID) (release func(), err error) {
	for {
		w.mu.Lock()
		if !w.held[uid] && ctx.Err() == nil {
			w.held[uid] = true
			w.mu.Unlock()
			return func() {
				if w.free(uid) || w.queue.NumRequeues(uid) > 0 {
					w.queue.Add(uid) // for what came meanwhile; a worker that finds nothing forgets the failures of the pod
				}
			}, nil
		}
		freed := w.nextFreed()
		w.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// nextFreed returns the channel that is closed when a pod is not held any more. The caller has the lock.
func (w *statusWriter) nextFreed() <-chan struct{} {
	if w.freed == nil {
		w.freed = make(chan struct{})
	}
	return w.freed
}

// free ends the hold of a pod. It reports whether a patch waits for the pod.
func (w *statusWriter) free(uid types.UID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.held, uid)
	if w.freed != nil {
		close(w.freed)
		w.freed = nil
	}
	_, waiting := w.waiting[uid]
	return waiting
}

// wait returns when nothing waits and nobody holds a pod, or when the context ends.
func (w *statusWriter) wait(ctx context.Context) {
	for {
		w.mu.Lock()
		if len(w.waiting)+len(w.held) == 0 {
			w.mu.Unlock()
			return
		}
		freed := w.nextFreed()
		w.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return
		}
	}
}
