package real

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// informer is an informer that never runs: set replaces its objects and calls the handlers before it returns. Waiting for
// running informers is what makes a scheduler over a fake API server slow to set up.
type informer struct {
	cache.SharedIndexInformer // for its indexer
	handlers                  []cache.ResourceEventHandler
	silent                    bool // handlers are not told
}

// register puts an informer of this kind in the place where the factory looks for it.
func register(f informers.SharedInformerFactory, kind runtime.Object, silent bool) *informer {
	i := &informer{silent: silent}
	f.InformerFor(kind, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
		i.SharedIndexInformer = cache.NewSharedIndexInformer(&cache.ListWatch{}, kind, 0,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		return i
	})
	return i
}

// set replaces all objects.
func (i *informer) set(objects []any) error {
	for _, old := range i.GetIndexer().List() {
		if err := i.GetIndexer().Delete(old); err != nil {
			return err
		}
		i.tell(func(h cache.ResourceEventHandler) { h.OnDelete(old) })
	}
	for _, o := range objects {
		if err := i.GetIndexer().Add(o); err != nil {
			return err
		}
		i.tell(func(h cache.ResourceEventHandler) { h.OnAdd(o, false) })
	}
	return nil
}

func (i *informer) tell(f func(cache.ResourceEventHandler)) {
	if i.silent {
		return
	}
	for _, h := range i.handlers {
		f(h)
	}
}

type registration struct{}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (registration) HasSynced() bool       { return true }
func (registration) Name() string          { return "objects are set at once" }
func (registration) Done() <-chan struct{} { return closed }

func (i *informer) add(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, h)
	if !i.silent { // a plugin that is made late learns what there is already
		for _, o := range i.GetIndexer().List() {
			h.OnAdd(o, true)
		}
	}
	return registration{}, nil
}

func (i *informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.add(h)
}

func (i *informer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.add(h)
}

func (i *informer) AddEventHandlerWithOptions(h cache.ResourceEventHandler, _ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return i.add(h)
}

func (i *informer) RemoveEventHandler(cache.ResourceEventHandlerRegistration) error { return nil }
func (i *informer) HasSynced() bool                                                 { return true }
func (i *informer) Run(<-chan struct{})                                             {}
func (i *informer) RunWithContext(context.Context)                                  {}
