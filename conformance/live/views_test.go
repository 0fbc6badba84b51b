package live

import (
	"slices"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/api/scheduling/v1alpha3"
	"k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/scheduler"

	"github.com/podberth/podberth/scheduler/live/daemon"
)

// view is what a scheduler knows of the nodes, and of the pods of the namespace default; nil: nothing.
type view struct {
	node     func(name string) *v1.Node
	pod      func(name string) *v1.Pod // on its node or in the queue
	informer func(name string) *v1.Pod // as the informer has it: a pod that is being bound does not change in the scheduler
	forgot   func(p *v1.Pod) bool      // neither the cache nor the queue has the pod

	object func(kind schema.GroupVersionResource, namespace, name string) metav1.Object // of another kind; nil: none
}

// Kinds beside nodes and pods. A scheduler watches each kind by itself, so what was made first may be seen last: a test that makes an
// object waits until the schedulers know it before it makes what needs it.
var (
	volumeKind         = v1.SchemeGroupVersion.WithResource("persistentvolumes")
	volumeClaimKind    = v1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	storageClassKind   = storagev1.SchemeGroupVersion.WithResource("storageclasses")
	budgetKind         = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")
	deviceClaimKind    = resourcev1.SchemeGroupVersion.WithResource("resourceclaims")
	deviceClassKind    = resourcev1.SchemeGroupVersion.WithResource("deviceclasses")
	sliceKind          = resourcev1.SchemeGroupVersion.WithResource("resourceslices")
	groupKind          = v1beta1.SchemeGroupVersion.WithResource("podgroups")
	compositeGroupKind = v1alpha3.SchemeGroupVersion.WithResource("compositepodgroups")
)

// viewed adds what a scheduler knows to the world, until the returned function is called.
func (w *world) viewed(v *view) (gone func()) {
	w.views = append(w.views, v)
	return func() { w.views = slices.DeleteFunc(w.views, func(x *view) bool { return x == v }) }
}

// seen waits until every scheduler that runs knows what a condition asks for.
func (w *world) seen(what string, met func(v *view) bool) {
	w.t.Helper()
	for _, v := range w.views {
		w.until("a scheduler knows "+what, func() bool { return met(v) })
	}
}

// nodeSeen waits until every scheduler that runs knows the version of the node.
func (w *world) nodeSeen(n *v1.Node) {
	w.t.Helper()
	w.seen("node "+n.Name, func(v *view) bool {
		known := v.node(n.Name)
		return known != nil && known.ResourceVersion == n.ResourceVersion
	})
}

// objectSeen waits until every scheduler that runs knows the version of an object, or a later one.
func (w *world) objectSeen(kind schema.GroupVersionResource, o metav1.Object) {
	w.t.Helper()
	w.seen(kind.Resource+" "+o.GetName(), func(v *view) bool {
		known := v.object(kind, o.GetNamespace(), o.GetName())
		if known == nil || known.GetUID() != o.GetUID() {
			return false
		}
		order, err := resourceversion.CompareResourceVersion(known.GetResourceVersion(), o.GetResourceVersion())
		require.NoError(w.t, err)
		return order >= 0
	})
}

// objectGone waits until no scheduler that runs knows an object.
func (w *world) objectGone(kind schema.GroupVersionResource, o metav1.Object) {
	w.t.Helper()
	w.seen("the end of "+kind.Resource+" "+o.GetName(), func(v *view) bool {
		known := v.object(kind, o.GetNamespace(), o.GetName())
		return known == nil || known.GetUID() != o.GetUID()
	})
}

// boundSeen waits until every scheduler that runs knows that a pod is on a node.
func (w *world) boundSeen(name, node string) {
	w.t.Helper()
	w.seen("where "+name+" is", func(v *view) bool {
		p := v.pod(name)
		return p != nil && p.Spec.NodeName == node
	})
}

func viewOf(d *daemon.Daemon) *view {
	return &view{
		node: func(name string) *v1.Node {
			n, _ := d.Feed.Reported("nodes", "", name).(*v1.Node)
			return n
		},
		pod: func(name string) *v1.Pod {
			p, _ := d.Feed.Reported("pods", "default", name).(*v1.Pod)
			return p
		},
		informer: func(name string) *v1.Pod { return d.Feed.Pod("default", name) },
		forgot: func(p *v1.Pod) bool {
			known := d.Feed.Reported("pods", p.Namespace, p.Name)
			return known == nil || known.GetUID() != p.UID
		},
		object: func(kind schema.GroupVersionResource, namespace, name string) metav1.Object {
			return d.Feed.Reported(kind.GroupResource().String(), namespace, name)
		},
	}
}

func viewOfKube(s *scheduler.Scheduler, factory informers.SharedInformerFactory) *view {
	pods := factory.Core().V1().Pods().Lister()
	informer := func(name string) *v1.Pod {
		p, err := pods.Pods("default").Get(name)
		if err != nil {
			return nil // the only error is that there is no such pod
		}
		return p
	}
	return &view{
		node: func(name string) *v1.Node {
			n, err := s.Cache.GetNode(name)
			if err != nil {
				return nil // the same
			}
			return n.Node()
		},
		pod: func(name string) *v1.Pod {
			p := informer(name)
			if p != nil && p.Spec.NodeName != "" {
				known, err := s.Cache.GetPod(p)
				if err != nil {
					return nil // the cache does not have it yet
				}
				return known
			}
			if q, ok := s.SchedulingQueue.GetPod(name, "default", nil); ok {
				return q.Pod
			}
			return p
		},
		informer: informer,
		forgot: func(p *v1.Pod) bool {
			if known := informer(p.Name); known != nil && known.UID == p.UID {
				return false
			}
			if _, err := s.Cache.GetPod(p); err == nil {
				return false
			}
			q, waits := s.SchedulingQueue.GetPod(p.Name, p.Namespace, nil)
			return !waits || q.Pod.UID != p.UID
		},
		object: func(kind schema.GroupVersionResource, namespace, name string) metav1.Object {
			if kind == deviceClaimKind { // as the plugin has it, which comes after the informer
				c, err := s.Profiles[v1.DefaultSchedulerName].SharedDRAManager().ResourceClaims().Get(namespace, name)
				if err != nil {
					return nil // the same
				}
				return c
			}
			generic, err := factory.ForResource(kind)
			if err != nil {
				return nil // the same
			}
			o, known, err := generic.Informer().GetStore().GetByKey(cache.NewObjectName(namespace, name).String())
			if err != nil || !known {
				return nil
			}
			return o.(metav1.Object)
		},
	}
}
