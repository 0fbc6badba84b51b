package disruption

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How long kubectl drain waits before it asks again, and how often it looks whether an evicted pod is gone.
const (
	RetryInterval = 5 * time.Second
	PollInterval  = time.Second
)

// Reaction is what kubectl drain does about one pod after an answer of the Eviction API. The pods of a node are asked for
// side by side; one that fails stops none of the others, but the drain reports it.
type Reaction uint8

// The reactions.
const (
	GiveUp        Reaction = iota // the drain fails for this pod
	Gone                          // the pod is not there: done
	AwaitDeletion                 // look every PollInterval until the pod is gone or has another UID
	AskAgain                      // after RetryInterval, without limit but the drain's own timeout
)

// String returns "give up", "gone", "await deletion" or "ask again".
func (r Reaction) String() string {
	return [...]string{"give up", "gone", "await deletion", "ask again"}[min(r, AskAgain)]
}

// React tells what kubectl drain does after an answer about pod:
//
//  1. accepted: it waits for the deletion
//  2. 404: the pod is gone
//  3. 429, for whatever reason: it asks again (RetryText)
//  4. 403 since the namespace is terminating: it waits for a pod that is terminating, and asks again for others
//  5. anything else, the 500 of several budgets included: it gives up
//
// Source: documentation, "Safely Drain a Node", and kubectl's behaviour.
func React(s *metav1.Status, pod *v1.Pod) Reaction {
	switch {
	case Classify(s) == Accepted:
		return AwaitDeletion
	case s.Code == codeNotFound || s.Reason == metav1.StatusReasonNotFound:
		return Gone
	case s.Code == codeTooMany || s.Reason == metav1.StatusReasonTooManyRequests:
		return AskAgain
	case !namespaceTerminates(s):
		return GiveUp
	case pod.DeletionTimestamp != nil:
		return AwaitDeletion
	}
	return AskAgain
}

func namespaceTerminates(s *metav1.Status) bool {
	if s.Code != codeForbidden && s.Reason != metav1.StatusReasonForbidden || s.Details == nil {
		return false
	}
	return slices.ContainsFunc(s.Details.Causes, func(c metav1.StatusCause) bool { return c.Type == v1.NamespaceTerminatingCause })
}

// RetryText is what kubectl drain prints when it will ask again, before it waits for RetryInterval.
func RetryText(pod *v1.Pod, refusal string) string {
	return fmt.Sprintf("error when evicting pods/%q -n %q (will retry after %v): %s", pod.Name, pod.Namespace, RetryInterval, refusal)
}

// TimeoutText is the error of a drain that ran out of its own time (--timeout).
func TimeoutText(timeout time.Duration) string {
	return fmt.Sprintf("global timeout reached: %v", timeout)
}
