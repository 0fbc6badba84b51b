package disruption

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The actions that [React] returns.
const (
	awaitDeletion = "wait for the deletion"
	gone          = "done: the pod is gone"
	askAgain      = "ask again after 5s"
	giveUp        = "give up"
)

// React returns what kubectl drain does after an answer of the Eviction API about pod, and the line that kubectl then
// prints, "" for no line (rule D7.13). The first rule that applies decides:
//
//  1. The request was accepted, with 200 as documented or with 201: "wait for the deletion". kubectl looks every second
//     whether the pod is gone or has another UID.
//  2. 404: "done: the pod is gone".
//  3. 429 for any reason: "ask again after 5s", until the drain's own --timeout.
//  4. 403 because the namespace is terminating: "wait for the deletion" when the pod is terminating, otherwise "ask again
//     after 5s".
//  5. Any other answer, 500 of several budgets included: "give up". The drain fails for this pod.
//
// kubectl evicts the pods of a node in parallel: a pod that fails stops no other pod, but the drain reports it. Source:
// documentation, "Safely Drain a Node", and kubectl's behaviour. A nil status gives "give up". A nil pod has no name.
func React(s *metav1.Status, pod *v1.Pod) (does, prints string) {
	if pod == nil {
		pod = &v1.Pod{}
	}
	switch {
	case s == nil:
		return giveUp, ""
	case s.Status == metav1.StatusSuccess, s.Code >= 200 && s.Code < 300:
		return awaitDeletion, ""
	case s.Code == codeNotFound || s.Reason == metav1.StatusReasonNotFound:
		return gone, ""
	case s.Code == codeTooMany || s.Reason == metav1.StatusReasonTooManyRequests:
	case !namespaceTerminates(s):
		return giveUp, ""
	case pod.DeletionTimestamp != nil:
		return awaitDeletion, ""
	}
	return askAgain, fmt.Sprintf("error when evicting pods/%q -n %q (will retry after 5s): %s", pod.Name, pod.Namespace, s.Message)
}

func namespaceTerminates(s *metav1.Status) bool {
	if s.Code != codeForbidden && s.Reason != metav1.StatusReasonForbidden || s.Details == nil {
		return false
	}
	return slices.ContainsFunc(s.Details.Causes, func(c metav1.StatusCause) bool { return c.Type == v1.NamespaceTerminatingCause })
}
