//go:build k1_36

package kubelet_test

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/preemption"
)

// handleFailure lets the handler make room for a pod that does not fit.
func handleFailure(h *preemption.CriticalPodAdmissionHandler, pod *v1.Pod, reasons []lifecycle.PredicateFailureReason) ([]lifecycle.PredicateFailureReason, error) {
	return h.HandleAdmissionFailure(context.Background(), pod, reasons)
}

// admits asks an admission handler about a pod.
func admits(h lifecycle.PodAdmitHandler, pod *v1.Pod) lifecycle.PodAdmitResult {
	return h.Admit(&lifecycle.PodAdmitAttributes{Pod: pod})
}
