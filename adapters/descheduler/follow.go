package descheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/placement"
)

// resources are the kinds of cluster.Objects that an API server may serve.
var resources = []schema.GroupVersionResource{
	{Version: "v1", Resource: "nodes"},
	{Version: "v1", Resource: "pods"},
	{Version: "v1", Resource: "namespaces"},
	{Version: "v1", Resource: "services"},
	{Version: "v1", Resource: "replicationcontrollers"},
	{Version: "v1", Resource: "persistentvolumeclaims"},
	{Version: "v1", Resource: "persistentvolumes"},
	{Group: "apps", Version: "v1", Resource: "replicasets"},
	{Group: "apps", Version: "v1", Resource: "statefulsets"},
	{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"},
	{Group: "storage.k8s.io", Version: "v1", Resource: "csinodes"},
	{Group: "storage.k8s.io", Version: "v1", Resource: "csidrivers"},
	{Group: "storage.k8s.io", Version: "v1", Resource: "csistoragecapacities"},
	{Group: "storage.k8s.io", Version: "v1", Resource: "volumeattachments"},
	{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaims"},
	{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaimtemplates"},
	{Group: "resource.k8s.io", Version: "v1", Resource: "resourceslices"},
	{Group: "resource.k8s.io", Version: "v1", Resource: "deviceclasses"},
	{Group: "resource.k8s.io", Version: "v1beta2", Resource: "devicetaintrules"},
}

// follower keeps a snapshot of what the informers of a factory show, and the pods that were let go.
type follower struct {
	factory informers.SharedInformerFactory
	lists   map[string]list
	stopped <-chan struct{}

	mu      sync.Mutex
	changes []change // that the snapshot has not seen

	asking     sync.Mutex // a snapshot is for one goroutine
	snapshot   *cluster.Snapshot
	placer     *placement.Placer
	gone       []departed // pods that were let go, whether they have left or not
	departures int
}

// change is an object that came or changed, or one that went.
type change struct {
	obj  metav1.Object
	gone bool
}

// list is the first list of a kind. The follower sees it soon after the informer does.
type list struct {
	arrived cache.InformerSynced
	seen    cache.DoneChecker
}

// follow watches the kinds that the API server serves, until the context ends. Core kinds are always served.
func follow(ctx context.Context, factory informers.SharedInformerFactory, server discovery.DiscoveryInterface) (*follower, error) {
	snapshot, err := cluster.New(cluster.Objects{})
	if err != nil {
		return nil, err
	}
	args := placement.PluginArgs{}
	args.Devices.Compiler, args.Devices.Templates = cel.NewCompiler(), true
	profile := args.Profile()
	profile.Sampling = placement.AllNodes()
	placer, err := placement.NewPlacer(snapshot, profile)
	if err != nil {
		return nil, err
	}
	f := &follower{factory: factory, lists: map[string]list{}, stopped: ctx.Done(), snapshot: snapshot, placer: placer}
	for _, r := range resources {
		if r.Group != "" {
			switch ok, err := serves(server, r); {
			case err != nil:
				return nil, err
			case !ok:
				continue
			}
		}
		informer, err := factory.ForResource(r)
		if err != nil {
			return nil, err
		}
		registration, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: f.came, UpdateFunc: f.changed, DeleteFunc: f.went})
		if err != nil {
			return nil, err
		}
		f.lists[r.Resource] = list{informer.Informer().HasSynced, registration.HasSyncedChecker()}
	}
	return f, nil
}

// serves reports whether the API server serves a resource.
func serves(server discovery.DiscoveryInterface, r schema.GroupVersionResource) (bool, error) {
	list, err := server.ServerResourcesForGroupVersion(r.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", r.GroupVersion(), err)
	}
	for _, served := range list.APIResources {
		if served.Name == r.Resource {
			return true, nil
		}
	}
	return false, nil
}

// wait returns true when the follower has seen the list, and false when the channel is closed before.
func (l list) wait(stopped <-chan struct{}) bool {
	select {
	case <-l.seen.Done():
		return true
	case <-stopped:
		return cache.IsDone(l.seen)
	}
}

func (f *follower) note(changes ...change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changes = append(f.changes, changes...)
}

func (f *follower) came(obj any) { f.note(change{obj: obj.(metav1.Object)}) }

// changed gets a new object as an update of another of that name when the watch was broken between.
func (f *follower) changed(old, obj any) {
	before, now := old.(metav1.Object), obj.(metav1.Object)
	if before.GetUID() != now.GetUID() {
		f.note(change{before, true}, change{obj: now})
		return
	}
	f.note(change{obj: now})
}

func (f *follower) went(obj any) {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	f.note(change{obj.(metav1.Object), true})
}

// catchUp brings the snapshot up to date. shown are the pods that are new on nodes. gone are the pods that left or are about to, in the order in
// which the informers showed it. The error names a list that has not come; one that has come to the informer is waited for.
func (f *follower) catchUp() (shown, gone []*v1.Pod, err error) {
	for _, r := range resources {
		if l, served := f.lists[r.Resource]; served && (!l.arrived() || !l.wait(f.stopped)) {
			return nil, nil, fmt.Errorf("the list of %s has not come", r.Resource)
		}
	}
	f.mu.Lock()
	changes := f.changes
	f.changes = nil
	f.mu.Unlock()
	for _, c := range changes {
		pod, isPod := c.obj.(*v1.Pod)
		if isPod && (c.gone || pod.DeletionTimestamp != nil) {
			gone = append(gone, pod)
		}
		if !c.gone {
			if isPod && pod.Spec.NodeName != "" {
				if before := f.snapshot.Pod(pod.Namespace, pod.Name); before == nil || before.UID != pod.UID {
					shown = append(shown, pod)
				}
			}
			if err := f.snapshot.Set(c.obj); err != nil {
				return nil, nil, err
			}
			continue
		}
		var unknown *field.Error // the snapshot holds no finished and no pending pods
		if err := f.snapshot.Remove(c.obj); err != nil && !(errors.As(err, &unknown) && unknown.Type == field.ErrorTypeNotFound) {
			return nil, nil, err
		}
	}
	return shown, gone, nil
}
