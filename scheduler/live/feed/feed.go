// Package feed (experimental) reports to a scheduler what the informers of client-go see of a cluster.
//
//	f, err := feed.New(client, feed.Options{})
//	s, err := scheduler.New(snapshot, scheduler.Options{Client: client})   // an empty snapshot
//	err = f.Connect(s)
//	f.Start(ctx)
//	err = f.Wait(ctx)             // every object of the first lists was reported
//	go s.Run(ctx)
//
// The feed watches the 19 kinds that kube-scheduler v1.37 watches, in all namespaces, without resync, and two kinds of groups of pods
// with [Options.Groups]. Only pods have a field
// selector: a pod that is Succeeded or Failed leaves the watch, as if it were deleted.
//
// An informer knows objects by name. After a watch was broken, it may report a new object as an update of another object
// that had the same name. The feed tells both apart by their UIDs: it removes the first and adds the second.
package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/scheduler/groups"
)

// Sink receives the reports. *scheduler.Scheduler is a Sink.
type Sink interface {
	AddPod(pod *v1.Pod)
	UpdatePod(old, pod *v1.Pod)
	DeletePod(pod *v1.Pod)
	AddNode(node *v1.Node)
	UpdateNode(old, node *v1.Node)
	DeleteNode(node *v1.Node)
	Set(old, obj metav1.Object)
	Remove(obj metav1.Object)
}

// Kinds returns the resources that a feed lists and watches, pods last.
func Kinds() []schema.GroupVersionResource {
	of := func(group, version string, names ...string) (out []schema.GroupVersionResource) {
		for _, name := range names {
			out = append(out, schema.GroupVersionResource{Group: group, Version: version, Resource: name})
		}
		return out
	}
	return slices.Concat(
		of("", "v1", "nodes", "namespaces", "services", "replicationcontrollers", "persistentvolumes", "persistentvolumeclaims"),
		of("apps", "v1", "replicasets", "statefulsets"),
		of("policy", "v1", "poddisruptionbudgets"),
		of("storage.k8s.io", "v1", "storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments"),
		of("resource.k8s.io", "v1", "resourceclaims", "resourceslices", "deviceclasses", "devicetaintrules"),
		of("", "v1", "pods"))
}

// GroupKinds returns the resources that a feed lists and watches for groups of pods with these gates; nil without gates.
func GroupKinds(gates *podgroup.Gates) (out []schema.GroupVersionResource) {
	if gates == nil {
		return nil
	}
	if gates.Composites {
		out = append(out, schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1alpha3", Resource: "compositepodgroups"})
	}
	return append(out, schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1beta1", Resource: "podgroups"})
}

// Options are the options of a feed.
type Options struct {
	// Groups adds the resources of GroupKinds. Groups are reported as objects of package podgroup. nil adds none.
	Groups *podgroup.Gates
	// Without are resources of Kinds that the feed leaves out, because the API server does not serve them.
	Without []schema.GroupVersionResource
	// OnError receives errors of lists and watches, and objects of an unexpected type. nil drops them.
	OnError func(resource string, err error)
}

// Feed watches a cluster.
type Feed struct {
	o       Options
	factory informers.SharedInformerFactory
	pods    corelisters.PodLister
	sources []*source

	mu      sync.Mutex
	changed chan struct{} // is closed at the next report
}

// source is one kind.
type source struct {
	resource schema.GroupVersionResource
	name     string
	informer cache.SharedIndexInformer
	handler  cache.ResourceEventHandlerRegistration
	objects  *objects

	mu      sync.Mutex
	last    error     // of the last list or watch that failed before the first list was complete
	version string    // that the informer has reached
	moved   time.Time // when it was first seen there
}

// New makes the informers.
func New(client kubernetes.Interface, o Options) (*Feed, error) {
	f := &Feed{o: o, factory: informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(prepared))}
	pods := f.factory.InformerFor(&v1.Pod{}, func(c kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return coreinformers.NewFilteredPodInformer(c, metav1.NamespaceAll, resync, cache.Indexers{}, func(o *metav1.ListOptions) {
			o.FieldSelector = "status.phase!=" + string(v1.PodSucceeded) + ",status.phase!=" + string(v1.PodFailed)
		})
	})
	f.pods = corelisters.NewPodLister(pods.GetIndexer())
	for _, r := range slices.Concat(GroupKinds(o.Groups), Kinds()) {
		if slices.Contains(o.Without, r) {
			continue
		}
		generic, err := f.factory.ForResource(r)
		if err != nil {
			return nil, err
		}
		x := &source{resource: r, name: r.GroupResource().String(), informer: generic.Informer()}
		err = x.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			x.failed(err)
			if o.OnError != nil {
				o.OnError(x.name, err)
			}
		})
		if err != nil {
			return nil, err
		}
		f.sources = append(f.sources, x)
	}
	return f, nil
}

// prepared drops the managed fields, which no decision reads and which are much of an object's size. Objects that a scheduler writes as a
// whole keep them. A DeviceTaintRule becomes the type of package cluster, which has equal fields, and a group becomes one of package podgroup.
func prepared(obj any) (any, error) {
	switch o := obj.(type) {
	case *resourcev1.DeviceTaintRule:
		text, err := json.Marshal(o.Spec)
		if err != nil {
			return nil, err
		}
		rule := &resourcev1beta2.DeviceTaintRule{ObjectMeta: o.ObjectMeta}
		rule.ManagedFields = nil
		return rule, json.Unmarshal(text, &rule.Spec)
	case *schedulingv1beta1.PodGroup:
		o.ManagedFields = nil
		return groups.Of(o), nil
	case *schedulingv1alpha3.CompositePodGroup:
		o.ManagedFields = nil
		return groups.OfComposite(o), nil
	case *v1.PersistentVolume, *v1.PersistentVolumeClaim, *resourcev1.ResourceClaim:
	case metav1.Object:
		o.SetManagedFields(nil)
	}
	return obj, nil
}

func (x *source) failed(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.last = err
}

// Connect adds the handlers that report to the sink. It is called once, before Start.
func (f *Feed) Connect(s Sink) error {
	for _, x := range f.sources {
		x.objects = f.objectsOf(x, s)
		var err error
		x.handler, err = x.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { x.objects.see(obj); f.wake() },
			UpdateFunc: func(_, obj any) { x.objects.see(obj); f.wake() },
			DeleteFunc: func(obj any) { x.objects.lose(obj); f.wake() },
		})
		if err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
	}
	return nil
}

func (f *Feed) objectsOf(x *source, s Sink) *objects {
	o := &objects{
		known: map[types.NamespacedName]metav1.Object{},
		failed: func(err error) {
			if f.o.OnError != nil {
				f.o.OnError(x.name, err)
			}
		},
		add:    func(now metav1.Object) { s.Set(nil, now) },
		update: s.Set,
		remove: s.Remove,
	}
	switch x.name {
	case "pods":
		o.add = func(now metav1.Object) { s.AddPod(now.(*v1.Pod)) }
		o.update = func(old, now metav1.Object) { s.UpdatePod(old.(*v1.Pod), now.(*v1.Pod)) }
		o.remove = func(old metav1.Object) { s.DeletePod(old.(*v1.Pod)) }
	case "nodes":
		o.add = func(now metav1.Object) { s.AddNode(now.(*v1.Node)) }
		o.update = func(old, now metav1.Object) { s.UpdateNode(old.(*v1.Node), now.(*v1.Node)) }
		o.remove = func(old metav1.Object) { s.DeleteNode(old.(*v1.Node)) }
	}
	return o
}

// Start runs the informers until the context ends.
func (f *Feed) Start(ctx context.Context) { f.factory.StartWithContext(ctx) }

// stopLimit is how long Stop waits.
const stopLimit = 2 * time.Second

// Stop waits for the informers after the context of Start has ended, for at most two seconds. While the API server does not answer, an
// informer of client-go sleeps for up to a minute before it asks again, and does not hear of the end.
func (f *Feed) Stop() {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.factory.Shutdown()
	}()
	select {
	case <-ended:
	case <-time.After(stopLimit):
	}
}

// Wait returns when every object of the first lists was reported, or when the context ends.
func (f *Feed) Wait(ctx context.Context) error {
	var first []cache.DoneChecker
	for _, x := range f.sources {
		first = append(first, x.handler.HasSyncedChecker())
	}
	if !cache.WaitFor(ctx, "the first lists", first...) {
		return errors.Join(f.Waiting(), context.Cause(ctx))
	}
	return nil
}

// Waiting returns an error that names the resources whose first list was not reported yet, with what went wrong there. It is
// nil once all were.
func (f *Feed) Waiting() error {
	var names []string
	for _, x := range f.sources {
		if x.handler != nil && x.handler.HasSynced() {
			continue
		}
		text := x.name
		x.mu.Lock()
		if x.last != nil {
			text += " (" + x.last.Error() + ")"
		}
		x.mu.Unlock()
		names = append(names, text)
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("waiting for the first list of %s", strings.Join(names, ", "))
}

// Pod returns a pod as the informer has it, nil if the informer does not have it. The sink may know an earlier version.
func (f *Feed) Pod(namespace, name string) *v1.Pod {
	pod, _ := f.pods.Pods(namespace).Get(name) // the only error is that there is no such pod
	return pod
}

// Unbound returns the pods without a node, as the informer has them, in no order. O(pods).
func (f *Feed) Unbound() (out []*v1.Pod) {
	all, _ := f.pods.List(labels.Everything()) // the list of an informer has no error
	for _, p := range all {
		if p.Spec.NodeName == "" {
			out = append(out, p)
		}
	}
	return out
}

// Reported returns an object as it was last reported to the sink, nil for an unknown name. The resource is a name such as
// "persistentvolumes" or "resourceclaims.resource.k8s.io".
func (f *Feed) Reported(resource, namespace, name string) metav1.Object {
	for _, x := range f.sources {
		if x.name == resource && x.objects != nil {
			return x.objects.get(types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	return nil
}

// Changed returns a channel that is closed at the next report.
func (f *Feed) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.changed
}

func (f *Feed) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}
