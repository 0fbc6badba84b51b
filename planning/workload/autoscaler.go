package workload

import (
	"fmt"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// targets returns the autoscalers by their targets; the first one of a target counts.
func targets(list []*autoscalingv2.HorizontalPodAutoscaler) map[reference]*autoscalingv2.HorizontalPodAutoscaler {
	out := map[reference]*autoscalingv2.HorizontalPodAutoscaler{}
	for _, h := range list {
		at := reference{h.Spec.ScaleTargetRef.Kind, id{h.Namespace, h.Spec.ScaleTargetRef.Name}}
		if out[at] == nil && h.DeletionTimestamp == nil {
			out[at] = h
		}
	}
	return out
}

// scaled returns the replicas of a workload, 1 when they are not given, within the bounds of its autoscaler.
func (m *maker) scaled(kind string, o metav1.Object, replicas *int32) int {
	return WithinBounds(m.scales[reference{kind, id{o.GetNamespace(), o.GetName()}}], orOne(replicas))
}

// WithinBounds returns the replicas that an autoscaler leaves of a number of replicas: at least minReplicas, which is 1 when it is not
// given, and at most maxReplicas. Metrics are not read. 0 replicas turn an autoscaler off, and so does a nil one: the number comes
// back. (Documentation, "Horizontal Pod Autoscaling".)
func WithinBounds(h *autoscalingv2.HorizontalPodAutoscaler, replicas int) int {
	if h == nil || replicas == 0 {
		return replicas
	}
	least := orOne(h.Spec.MinReplicas)
	return max(least, min(replicas, int(h.Spec.MaxReplicas)))
}

// checkAutoscaler returns what the API server finds wrong with the numbers of an autoscaler.
func checkAutoscaler(h *autoscalingv2.HorizontalPodAutoscaler) error {
	if strings.TrimSpace(h.Spec.ScaleTargetRef.Name) == "" {
		return fmt.Errorf("spec.scaleTargetRef.name: Required value")
	}
	if n := h.Spec.MinReplicas; n != nil && *n < 0 {
		return negative("spec.minReplicas", *n)
	}
	if h.Spec.MaxReplicas < 1 {
		return fmt.Errorf("spec.maxReplicas: Invalid value: %d: must be greater than 0", h.Spec.MaxReplicas)
	}
	if least := orOne(h.Spec.MinReplicas); int(h.Spec.MaxReplicas) < least {
		return fmt.Errorf("spec.maxReplicas: Invalid value: %d: must be greater than or equal to `minReplicas`", h.Spec.MaxReplicas)
	}
	return nil
}
