package placement

import (
	"iter"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter/volume"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/spread"
)

// View is the least that must be known of a cluster: nodes in slots, and the pods on them, as Cluster says. Rows makes a
// Cluster of it.
type View interface {
	Len() int
	Node(i int) *v1.Node
	Pods(i int) iter.Seq[*v1.Pod]
}

// Counted is a View with its sums: a Cluster. It is made by Rows and belongs to one goroutine.
type Counted struct {
	View
	schema *resources.Schema
	rows   []counts
	known  map[string]map[string]string
}

type counts struct {
	allocatable, requested resources.Vector
	cpuMilli, memoryBytes  int64
}

// Rows counts what the nodes of a view offer and what their pods ask for. The sums are those of now; Recount brings a slot
// up to date. Namespaces are those of the view if it has such a method (see Cluster), else the namespaces of its pods with the
// label that the API server gives every namespace, its name. Storage objects and owners are the view's, if it has the
// methods of Storage and spread.Owners. O(pods).
//
// A cluster.Snapshot does the same and more; Rows is for callers who keep nodes and pods in a form of their own and ask
// seldom.
func Rows(v View) *Counted {
	c := &Counted{View: v, schema: new(resources.Schema), known: map[string]map[string]string{}}
	for i := range v.Len() {
		c.Recount(i)
	}
	return c
}

// Recount counts slot i anew, after its node or pods changed. Slots that came behind the last one count as well.
func (c *Counted) Recount(i int) {
	for len(c.rows) <= i {
		c.rows = append(c.rows, counts{})
	}
	row := &c.rows[i]
	*row = counts{}
	node := c.Node(i)
	if node == nil {
		return
	}
	row.allocatable = resources.FromList(c.schema, node.Status.Allocatable)
	row.requested = make(resources.Vector, c.schema.Len())
	var buf resources.Vector
	for p := range c.Pods(i) {
		buf = overhead.AppendRequests(buf[:0], c.schema, p, overhead.Options{UseStatus: true})
		row.requested = row.requested.Grow(c.schema.Len())
		row.requested.Add(buf)
		row.requested[resources.Pods]++
		cpu, memory := overhead.NonZero(p)
		row.cpuMilli, row.memoryBytes = row.cpuMilli+cpu, row.memoryBytes+memory
		if _, ok := c.known[p.Namespace]; !ok {
			c.known[p.Namespace] = map[string]string{v1.LabelMetadataName: p.Namespace}
		}
	}
}

// Namespaces yields the namespaces with their labels, by name.
func (c *Counted) Namespaces() iter.Seq2[string, map[string]string] {
	if v, ok := c.View.(interface {
		Namespaces() iter.Seq2[string, map[string]string]
	}); ok {
		return v.Namespaces()
	}
	return func(yield func(string, map[string]string) bool) {
		for _, name := range slices.Sorted(maps.Keys(c.known)) {
			if !yield(name, c.known[name]) {
				return
			}
		}
	}
}

// Schema returns the columns of the sums.
func (c *Counted) Schema() *resources.Schema { return c.schema }

// Allocatable returns what slot i offers.
func (c *Counted) Allocatable(i int) resources.Vector { return c.rows[i].allocatable }

// Requested returns what the pods of slot i ask for.
func (c *Counted) Requested(i int) resources.Vector { return c.rows[i].requested }

// NonZero returns the requests of slot i with 100m and 200Mi for containers that name none.
func (c *Counted) NonZero(i int) (cpuMilli, memoryBytes int64) {
	return c.rows[i].cpuMilli, c.rows[i].memoryBytes
}

// VolumeObjects returns the storage objects of the view, none when it has none.
func (c *Counted) VolumeObjects() volume.Objects {
	if s, ok := c.View.(Storage); ok {
		return s.VolumeObjects()
	}
	return volume.Objects{}
}

// owners returns the services and controllers of the view, nil when it has none.
func (c *Counted) owners() spread.Owners {
	o, _ := c.View.(spread.Owners)
	return o
}
