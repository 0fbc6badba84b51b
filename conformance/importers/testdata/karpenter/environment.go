package test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/awslabs/operatorpkg/option"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"
	clientfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// withStatus have a status of their own in an API server.
var withStatus = []client.Object{&corev1.Pod{}, &corev1.Node{}, &corev1.Namespace{}, &corev1.PersistentVolume{}, &corev1.PersistentVolumeClaim{},
	&policyv1.PodDisruptionBudget{}, &karpv1.NodePool{}, &karpv1.NodeClaim{}}

// clusterWide are the kinds without a namespace that specs make.
var clusterWide = []string{"Node", "PersistentVolume", "StorageClass", "RuntimeClass", "NodePool", "NodeClaim", "TestNodeClass", "NodeOverlay", "DeviceClass", "ResourceSlice", "PriorityClass", "CSINode"}

// indexes is a cache that gives its indexes to a client in memory.
type indexes struct {
	cache.Cache
	builder *fake.ClientBuilder
}

func (i indexes) IndexField(_ context.Context, obj client.Object, field string, value client.IndexerFunc) error {
	i.builder.WithIndex(obj, field, value)
	return nil
}

// NewEnvironment is an API server in memory: specs that ask nothing of a server but to keep objects run without envtest.
func NewEnvironment(...option.Function[EnvironmentOptions]) *Environment {
	var serial atomic.Int64
	kind := func(obj client.Object) string {
		gvk, err := apiutil.GVKForObject(obj, scheme.Scheme)
		if err != nil {
			panic(err)
		}
		return gvk.Kind
	}
	builder := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithStatusSubresource(withStatus...)
	builder.WithIndex(&corev1.Pod{}, "spec.nodeName", func(obj client.Object) []string { return []string{obj.(*corev1.Pod).Spec.NodeName} })
	for _, index := range []func(context.Context) func(cache.Cache) error{NodeProviderIDFieldIndexer, NodeClaimProviderIDFieldIndexer, NodeClaimNodeClassRefFieldIndexer, NodePoolNodeClassRefFieldIndexer} {
		if err := index(context.Background())(indexes{builder: builder}); err != nil {
			panic(err)
		}
	}
	c := builder.WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if binding, ok := obj.(*corev1.Binding); ok {
				return bind(ctx, c, client.ObjectKeyFromObject(binding), binding)
			}
			if obj.GetUID() == "" {
				obj.SetUID(types.UID(fmt.Sprintf("uid-%06d", serial.Add(1))))
			}
			if t := obj.GetCreationTimestamp(); t.IsZero() {
				obj.SetCreationTimestamp(metav1.Time{Time: time.Now().Truncate(time.Second)})
			}
			return c.Create(ctx, obj, opts...)
		},
		DeleteAllOf: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteAllOfOption) error {
			if slices.Contains(clusterWide, kind(obj)) { // an API server has no namespace in their paths
				opts = slices.DeleteFunc(slices.Clone(opts), func(o client.DeleteAllOfOption) bool { _, ok := o.(client.InNamespace); return ok })
			}
			return c.DeleteAllOf(ctx, obj, opts...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
			if !slices.ContainsFunc(withStatus, func(o client.Object) bool { return kind(o) == kind(obj) }) {
				return errors.New("the server could not find the requested resource")
			}
			return c.SubResource(sub).Update(ctx, obj, opts...)
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, sub string, obj client.Object, what client.Object, opts ...client.SubResourceCreateOption) error {
			binding, ok := what.(*corev1.Binding)
			if !ok {
				return c.SubResource(sub).Create(ctx, obj, what, opts...)
			}
			return bind(ctx, c, client.ObjectKeyFromObject(obj), binding)
		},
	}).Build()
	for _, name := range []string{"default", "kube-system"} {
		if err := c.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			panic(err)
		}
	}
	_, cancel := context.WithCancel(context.Background())
	return &Environment{
		Client: c, Clock: clocktesting.NewFakeClock(time.Now()), KubernetesInterface: clientfake.NewClientset(),
		Version: version.MustParseGeneric("1.36.0"), Done: make(chan struct{}), Cancel: cancel,
	}
}

// bind puts a pod on the node of a binding.
func bind(ctx context.Context, c client.Client, key client.ObjectKey, binding *corev1.Binding) error {
	pod := &corev1.Pod{}
	if err := c.Get(ctx, key, pod); err != nil {
		return err
	}
	pod.Spec.NodeName = binding.Target.Name
	return c.Update(ctx, pod)
}

// Stop ends nothing: there is no server.
func (e *Environment) Stop() error {
	close(e.Done)
	e.Cancel()
	return nil
}
