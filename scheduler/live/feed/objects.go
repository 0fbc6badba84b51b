package feed

import (
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// objects has the objects of one kind as they were last reported. It turns what an informer says into reports without gaps:
// an object that is known is updated, an object that replaced another of its name is added after the other is removed, a
// version that was reported is not reported again, and an object that was never reported is not removed.
//
// The calls of one informer come one after the other. Other goroutines call get.
type objects struct {
	add    func(metav1.Object)
	update func(old, new metav1.Object)
	remove func(metav1.Object)
	failed func(error)

	mu    sync.Mutex
	known map[types.NamespacedName]metav1.Object
}

func keyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// get returns an object as it was last reported, nil for an unknown name.
func (o *objects) get(key types.NamespacedName) metav1.Object {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.known[key]
}

func (o *objects) keep(key types.NamespacedName, now metav1.Object) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now == nil {
		delete(o.known, key)
	} else {
		o.known[key] = now
	}
}

// see takes a new or changed object.
func (o *objects) see(obj any) {
	now, ok := obj.(metav1.Object)
	if !ok {
		o.failed(fmt.Errorf("an informer reported a %T", obj))
		return
	}
	key := keyOf(now)
	old := o.get(key)
	switch {
	case old == nil:
		o.add(now)
	case old.GetUID() != now.GetUID():
		o.remove(old)
		o.add(now)
	case old.GetResourceVersion() != "" && old.GetResourceVersion() == now.GetResourceVersion():
		return
	default:
		o.update(old, now)
	}
	o.keep(key, now)
}

// lose takes a deleted object, or the tombstone of an object whose deletion the informer has missed. A tombstone may hold an
// old version: what counts is the version that was reported last.
func (o *objects) lose(obj any) {
	tombstone, missed := obj.(cache.DeletedFinalStateUnknown)
	if missed {
		obj = tombstone.Obj
	}
	gone, ok := obj.(metav1.Object)
	if !ok {
		o.failed(fmt.Errorf("an informer reported the deletion of a %T", obj))
		return
	}
	key := keyOf(gone)
	old := o.get(key)
	if old == nil || !missed && old.GetUID() != gone.GetUID() {
		return
	}
	o.remove(old)
	o.keep(key, nil)
}
