// Package write (experimental) sends the decisions of a scheduler to a real API server.
//
//	c := write.New(client, feed, write.Options{})
//	go c.Run(ctx, 16)                       // sends status patches
//	s, err := scheduler.New(snapshot, scheduler.Options{Client: c, Recorder: recorder})
//
// How each write meets an API server that fails, is slow, or has moved on:
//
//   - Bind posts a Binding with the pod's UID. If the answer does not say whether the pod was bound, Bind reads the pod. A pod
//     that is bound to the node counts as bound, so a lost answer never marks a bound pod as unschedulable.
//   - PatchStatus of a failed attempt returns at once: the scheduling cycle does not wait. Patches of a pod are sent in their
//     order, the newest replaces one that was not sent yet, and a binding drops it. A patch names the UID and the resource
//     version that it is made for. After a conflict the patch is made again from the pod as it is then; so is a patch that ends a
//     nomination which the informer does not show yet. A pod that was bound or replaced meanwhile is not patched.
//   - Delete names the victim's UID. A deletion that is refused is tried again at once a few times. Then Delete waits, 1 s
//     doubling to 10 s, before it returns the error, because the scheduler tries the preemption again at once.
//   - BindVolumes and WriteClaims replace objects at the version that the decision was made with, and wait for reports.
//
// Every request has a time-out, and ends before the time of Until. Cancelling the context of a call does not cut a binding: Close
// ends what is under way.
package write

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/lru"

	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/scheduler"
)

// View is what the informers know. *feed.Feed is a View.
type View interface {
	// Pod returns a pod, nil if there is none.
	Pod(namespace, name string) *v1.Pod
	// Reported returns an object as the scheduler knows it, nil if it does not.
	Reported(resource, namespace, name string) metav1.Object
	// Changed returns a channel that is closed at the next report.
	Changed() <-chan struct{}
}

// Options are the options of a client. The zero value has the defaults.
type Options struct {
	// Release is the release that the client follows: v1.37 tries a binding again (rule L9.2).
	Release release.Version
	// Timeout bounds each request; 0 is 30 s.
	Timeout time.Duration
	// Waits has the waits for the volumes and devices of a pod by spec.schedulerName. A name that is missing has DefaultWaits.
	Waits map[string]Waits
	// Retry has the pauses between tries of a write that failed in a way that may pass; nil is 10, 50 and 250 ms.
	Retry []time.Duration
	// DeleteBackoff is the first wait after a refused deletion and DeleteBackoffLimit the longest; 0 is 1 s and 10 s.
	DeleteBackoff, DeleteBackoffLimit time.Duration
	// OnError receives the errors of status patches, which nobody waits for. nil drops them.
	OnError func(error)
}

// Waits bound how long a pod that has a node waits before its binding.
type Waits struct {
	Volumes time.Duration // until the controllers have bound its claims
	Devices time.Duration // until its devices are ready
}

// DefaultWaits are kube-scheduler's.
func DefaultWaits() Waits { return Waits{10 * time.Minute, 10 * time.Minute} }

func (o *Options) waits(pod *v1.Pod) Waits {
	if w, ok := o.Waits[pod.Spec.SchedulerName]; ok {
		return w
	}
	return DefaultWaits()
}

// Client is a scheduler.Client.
type Client struct {
	api     kubernetes.Interface
	view    View
	o       Options
	life    context.Context
	end     context.CancelFunc
	until   atomic.Pointer[time.Time]
	status  *statusWriter
	refused workqueue.TypedRateLimiter[types.UID] // deletions

	bindings  *turns
	claims    claimTurns
	post      post
	nominated *lru.Cache // UIDs of pods for which a nomination was perhaps written
}

var _ scheduler.Client = (*Client)(nil)

// New returns a client. Run must run for status patches to be sent.
func New(api kubernetes.Interface, view View, o Options) *Client {
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Retry == nil {
		o.Retry = []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 250 * time.Millisecond}
	}
	if o.DeleteBackoff == 0 {
		o.DeleteBackoff = time.Second
	}
	if o.DeleteBackoffLimit == 0 {
		o.DeleteBackoffLimit = 10 * time.Second
	}
	if o.OnError == nil {
		o.OnError = func(error) {}
	}
	c := &Client{api: api, view: view, o: o, bindings: newTurns(bindingTurns), post: postBy(api.CoreV1().RESTClient()), nominated: lru.New(nominations)}
	c.life, c.end = context.WithCancel(context.Background())
	c.refused = workqueue.NewTypedItemExponentialFailureRateLimiter[types.UID](o.DeleteBackoff, o.DeleteBackoffLimit)
	c.status = newStatusWriter(c.patchNow, len(o.Retry), o.OnError)
	return c
}

// Run sends status patches with n workers until the context ends.
func (c *Client) Run(ctx context.Context, n int) { c.status.run(ctx, c.life, n) }

// Flush waits until all status patches are sent, or until the context ends.
func (c *Client) Flush(ctx context.Context) { c.status.wait(ctx) }

// Close cuts the requests that are under way. Later requests fail.
func (c *Client) Close() { c.end() }

// Until sets the time by which every later request ends: another scheduler may write from then on. Requests that have begun keep the time
// that was set before.
func (c *Client) Until(t time.Time) { c.until.Store(&t) }

// Pod returns the pod as the informer has it.
func (c *Client) Pod(namespace, name string) *v1.Pod { return c.view.Pod(namespace, name) }

// request returns the context of one request.
func (c *Client) request() (context.Context, context.CancelFunc) {
	return context.WithDeadline(c.life, c.deadline())
}

// mayWrite reports whether no other scheduler may write yet.
func (c *Client) mayWrite() bool {
	t := c.until.Load()
	return t == nil || time.Now().Before(*t)
}

// deadline returns when a request that begins now ends at the latest.
func (c *Client) deadline() time.Time {
	end := time.Now().Add(c.o.Timeout)
	if t := c.until.Load(); t != nil && t.Before(end) {
		end = *t
	}
	return end
}

// Bind assigns the pod to a node.
func (c *Client) Bind(_ context.Context, pod *v1.Pod, node string) error {
	release, err := c.status.hold(c.life, pod.UID)
	if err != nil {
		return err
	}
	defer release()
	c.status.drop(pod.UID)
	over, err := c.bindOnce(pod, node)
	for _, pause := range c.o.bindPauses() {
		if !bindMayPass(err) || !c.pause(pause) {
			break
		}
		over, err = c.bindOnce(pod, node)
	}
	switch {
	case err == nil, final(err) && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err):
		return err
	}
	// The pod may be gone, may be bound by another, or may be bound by this request, whose answer was lost.
	now, unknown := c.settled(pod, err, over)
	switch {
	case unknown != nil:
		return err
	case now == nil:
		return gone{err}
	case now.Spec.NodeName == node:
		return nil
	}
	return err
}

// bindOnce posts the binding. over is when the API server is done with it: a tenth of Timeout after the request's end, because an API
// server that has too much to do is late.
func (c *Client) bindOnce(pod *v1.Pod, node string) (over time.Time, err error) {
	err = c.bindings.do(c.life, func() error {
		over = c.deadline().Add(c.o.Timeout / 10)
		return c.postBinding(pod, node)
	})
	return over, err
}

func (c *Client) postBinding(pod *v1.Pod, node string) error {
	ctx, cancel := c.request()
	defer cancel()
	binding := &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     v1.ObjectReference{Kind: "Node", Name: node},
	}
	if c.post == nil {
		return c.api.CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
	}
	return c.post(ctx, "/api/v1/namespaces/"+pod.Namespace+"/pods/"+pod.Name+"/binding", binding)
}

// ReadPod asks the API server for the pod: nil if it is gone or replaced.
func (c *Client) ReadPod(pod *v1.Pod) (*v1.Pod, error) { return c.read(pod) }

// read asks the API server for the pod: nil if it is gone or replaced.
func (c *Client) read(pod *v1.Pod) (*v1.Pod, error) {
	ctx, cancel := c.request()
	defer cancel()
	now, err := c.api.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case now.UID != pod.UID:
		return nil, nil
	}
	return now, nil
}

// gone is a failure because the pod does not exist any more. Its text is the API server's.
type gone struct{ error }

func (g gone) Unwrap() error        { return g.error }
func (g gone) Is(target error) bool { return target == scheduler.ErrGone }

// final reports whether an error is an answer that another try would get again. No error is not final.
func final(err error) bool {
	if errors.Is(err, scheduler.ErrGone) || errors.Is(err, context.Canceled) {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false // the request or its answer was lost
	}
	code := status.Status().Code
	return code < 500 && code != 429
}

// again tries a write until it succeeds or fails for good, with the pauses of Options.
func (c *Client) again(try func() error) error {
	for _, pause := range c.o.Retry {
		err := try()
		if err == nil || final(err) && !apierrors.IsConflict(err) {
			return err
		}
		if !c.pause(pause) {
			return err
		}
	}
	return try()
}

// pause waits about as long, and returns false when Close was called.
func (c *Client) pause(d time.Duration) bool { return c.pauseFor(wait.Jitter(d, 0.5)) }

// pauseFor waits exactly as long, and returns false when Close was called.
func (c *Client) pauseFor(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-c.life.Done():
		return false
	}
}
