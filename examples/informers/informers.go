// Package informers decides over the caches that a controller's informers keep, without a copy of them: [Cache] is a View of package placement over the
// indexers of client-go, and [Guard] finds out whether somebody changed an object of a cache in place.
//
//	view, err := informers.New(nodes, pods, "node") // the GetIndexer of two informers
//	plan, err := placement.New(placement.Rows(view), placement.DefaultProfile())
//	decision := plan.Decide(pod, placement.Options{})
//
// The pods need an index by spec.nodeName. Rows sums up all pods, so this is for callers who ask seldom; who asks often follows the changes with
// a cluster.Snapshot, as examples/embed does.
package informers

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/podberth/podberth/cluster"
)

// Indexer is what a Cache asks of cache.Indexer of client-go.
type Indexer interface {
	List() []any
	ByIndex(index, value string) ([]any, error)
}

// Cache is the nodes of an indexer by name, with their pods. It is right until the indexers change the nodes: make a new one then.
type Cache struct {
	nodes []*v1.Node
	pods  Indexer
	index string
}

// New returns the cache. index is the name of the index of pods by spec.nodeName.
func New(nodes, pods Indexer, index string) (*Cache, error) {
	if _, err := pods.ByIndex(index, ""); err != nil {
		return nil, fmt.Errorf("pods by node: %w", err)
	}
	c := &Cache{pods: pods, index: index}
	for _, obj := range nodes.List() {
		c.nodes = append(c.nodes, obj.(*v1.Node))
	}
	slices.SortFunc(c.nodes, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
	return c, nil
}

// Len returns the number of nodes.
func (c *Cache) Len() int { return len(c.nodes) }

// Node returns the node at a place in the order of names: the object of the indexer.
func (c *Cache) Node(i int) *v1.Node { return c.nodes[i] }

// Pods yields the pods of a node that have not finished: the objects of the indexer.
func (c *Cache) Pods(i int) iter.Seq[*v1.Pod] {
	return func(yield func(*v1.Pod) bool) {
		objs, err := c.pods.ByIndex(c.index, c.nodes[i].Name)
		if err != nil {
			panic(err) // New has asked for the index
		}
		for _, obj := range objs {
			if pod := obj.(*v1.Pod); !cluster.Finished(pod) && !yield(pod) {
				return
			}
		}
	}
}

// Guard remembers objects as they are. It keeps a copy of each: it is for tests, and for a debug mode.
type Guard struct {
	objects []runtime.Object
	copies  []runtime.Object
}

// Watch remembers the objects of indexers.
func (g *Guard) Watch(caches ...Indexer) {
	for _, c := range caches {
		for _, obj := range c.List() {
			o := obj.(runtime.Object)
			g.objects, g.copies = append(g.objects, o), append(g.copies, o.DeepCopyObject())
		}
	}
}

// Check returns an error that names the first object that is not as it was. Podberth changes none; a snapshot that holds a changed object is
// wrong and does not say so.
func (g *Guard) Check() error {
	for i, o := range g.objects {
		if !reflect.DeepEqual(o, g.copies[i]) {
			m := o.(metav1.Object)
			return fmt.Errorf("%T %s/%s was changed in place", o, m.GetNamespace(), m.GetName())
		}
	}
	return nil
}
