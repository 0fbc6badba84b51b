package gen

import (
	"context"
	"fmt"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	podstrategy "k8s.io/kubernetes/pkg/registry/core/pod"

	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	_ "k8s.io/kubernetes/pkg/apis/core/install" // the API server's conversions and defaults
)

// Refused counts drafts of pods that the API server would not have taken.
var Refused atomic.Int64

// Admit returns the pod as an API server stores it: defaulted, prepared and validated by its own code.
func Admit(pod *v1.Pod) (*v1.Pod, error) {
	p := pod.DeepCopy()
	corev1.SetObjectDefaults_Pod(p)
	internal := &core.Pod{}
	if err := corev1.Convert_v1_Pod_To_core_Pod(p, internal, nil); err != nil {
		return nil, err
	}
	ctx := genericapirequest.WithNamespace(context.Background(), p.Namespace)
	podstrategy.Strategy.PrepareForCreate(ctx, internal)
	if errs := podstrategy.Strategy.Validate(ctx, internal); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	out := &v1.Pod{}
	if err := corev1.Convert_core_Pod_To_v1_Pod(internal, out, nil); err != nil {
		return nil, err
	}
	return out, nil
}

// CheckNode returns what the API server has against a node.
func CheckNode(node *v1.Node) error {
	internal := &core.Node{}
	if err := corev1.Convert_v1_Node_To_core_Node(node, internal, nil); err != nil {
		return err
	}
	if errs := validation.ValidateNode(internal); len(errs) > 0 {
		return fmt.Errorf("node %s: %w", node.Name, errs.ToAggregate())
	}
	return nil
}
