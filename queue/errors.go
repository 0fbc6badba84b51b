package queue

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// Errors of Add, Update and Return; test for them with [errors.Is].
var (
	// ErrNoPod: the pod or the entry is nil.
	ErrNoPod = errors.New("queue: the pod is nil")
	// ErrQueued: a pod of that namespace and name is queued already. The queued pod stays as it is.
	ErrQueued = errors.New("queue: the pod is queued already")
	// ErrOtherPod: two pods that should be versions of one pod differ in name or UID.
	ErrOtherPod = errors.New("queue: the pods are not versions of one pod")
	// ErrNotTried: the entry is not the root whose attempt runs.
	ErrNotTried = errors.New("queue: the group is not tried")
)

// failure is an error of one kind with a text of its own.
type failure struct {
	kind error
	text string
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.kind }

func otherPod(a, b *v1.Pod) error {
	return &failure{ErrOtherPod, fmt.Sprintf("queue: pod %s (UID %q) and pod %s (UID %q) are not versions of one pod", keyOf(a), a.UID, keyOf(b), b.UID)}
}

func notTried(root *v1.Pod) error {
	return &failure{ErrNotTried, fmt.Sprintf("queue: %s is not the group that is tried", podName(root))}
}

// alreadyPresent has kube-scheduler's text.
func alreadyPresent(e *Entry) error {
	where := "the active"
	switch e.place {
	case Unschedulable, Gated:
		where = "unschedulable"
	case Backoff, ErrorBackoff:
		where = "the backoff"
	}
	return &failure{ErrQueued, fmt.Sprintf("Pod %s is already present in %s queue", podName(e.Pod), where)}
}

// podName returns namespace/name, or the name alone when the pod has no namespace.
func podName(pod *v1.Pod) string {
	if pod.Namespace == "" {
		return pod.Name
	}
	return podinfo.Name(pod)
}
