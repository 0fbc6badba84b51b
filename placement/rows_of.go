package placement

import (
	"iter"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// View is the least that must be known of a cluster: nodes in slots, and the pods on them. Rows makes a [Cluster] of a View.
type View interface {
	// Len returns the number of slots, free ones included.
	Len() int
	// Node returns the node of slot i, nil for a free slot.
	Node(i int) *v1.Node
	// Pods yields the pods of slot i: terminating pods are included, pods that Succeeded or Failed are not.
	Pods(i int) iter.Seq[*v1.Pod]
}

// Rows makes a [Cluster] of a view: it sums up what the nodes offer and what their pods ask for. After a change of the view,
// call Rows again and make a new [Plan]. The view must not be nil. O(pods).
//
// Namespaces are the view's if it has that method (see Cluster). Otherwise they are the namespaces of the pods, each with
// the one label that the API server gives to every namespace, its name. Storage objects and owners are the view's if it has
// the optional methods that Cluster names.
//
// A [View] may have the method Release() [release.Version]: the release by whose rule pods that are being resized count.
//
// Rows is for callers who keep nodes and pods in another form and ask seldom. A [cluster.Snapshot] does the same and follows
// changes.
func Rows(v View) Cluster {
	c := &counted{View: v, schema: new(resources.Schema), known: map[string]bool{}}
	if x, ok := v.(interface{ Release() release.Version }); ok {
		c.release = x.Release()
	}
	for i := range v.Len() {
		c.rows = append(c.rows, c.count(i))
	}
	return c
}

// counted is a View with its sums.
type counted struct {
	View
	schema *resources.Schema
	rows   []rowCounts
	known  map[string]bool // namespaces of the pods
	// release is the release by whose rule pods that are being resized count
	release release.Version
}

type rowCounts struct {
	allocatable, requested resources.Vector
	cpuMilli, memoryBytes  int64
}

// count sums up slot i.
func (c *counted) count(i int) (row rowCounts) {
	node := c.Node(i)
	if node == nil {
		return row
	}
	row.allocatable = resources.FromList(c.schema, node.Status.Allocatable)
	row.requested = make(resources.Vector, c.schema.Len())
	var buf resources.Vector
	for p := range c.Pods(i) {
		buf = overhead.AppendRequests(buf[:0], c.schema, p, overhead.Options{UseStatus: true, Release: c.release})
		row.requested = row.requested.Grow(c.schema.Len())
		row.requested.Add(buf)
		row.requested[resources.Pods]++
		cpu, memory := overhead.NonZero(p, c.release)
		row.cpuMilli, row.memoryBytes = row.cpuMilli+cpu, row.memoryBytes+memory
		c.known[p.Namespace] = true
	}
	return row
}

// Namespaces yields the namespaces with their labels, by name.
func (c *counted) Namespaces() iter.Seq2[string, map[string]string] {
	if v, ok := c.View.(interface {
		Namespaces() iter.Seq2[string, map[string]string]
	}); ok {
		return v.Namespaces()
	}
	return func(yield func(string, map[string]string) bool) {
		for _, name := range slices.Sorted(maps.Keys(c.known)) {
			if !yield(name, map[string]string{v1.LabelMetadataName: name}) {
				return
			}
		}
	}
}

// Schema returns the columns of the sums.
func (c *counted) Schema() *resources.Schema { return c.schema }

// Allocatable returns what slot i offers.
func (c *counted) Allocatable(i int) resources.Vector { return c.rows[i].allocatable }

// Requested returns what the pods of slot i ask for.
func (c *counted) Requested(i int) resources.Vector { return c.rows[i].requested }

// NonZero returns the requests of slot i with 100m and 200Mi for containers that name none.
func (c *counted) NonZero(i int) (cpuMilli, memoryBytes int64) {
	return c.rows[i].cpuMilli, c.rows[i].memoryBytes
}
