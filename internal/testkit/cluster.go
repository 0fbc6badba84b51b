package testkit

import (
	"iter"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// Cluster is the simplest view of a cluster: three methods over slices, without an index. Slots are positions in Nodes; a
// nil node is a free slot. It is the slow side of differential tests.
type Cluster struct {
	Nodes           []*v1.Node
	Assigned        []*v1.Pod
	NamespaceLabels map[string]map[string]string
}

// NewCluster returns a cluster of nodes and the pods on them, with a namespace without labels for each pod.
func NewCluster(nodes []*v1.Node, pods []*v1.Pod) *Cluster {
	c := &Cluster{Nodes: nodes, Assigned: pods, NamespaceLabels: map[string]map[string]string{}}
	for _, p := range pods {
		c.NamespaceLabels[p.Namespace] = nil
	}
	return c
}

// Len returns the number of slots.
func (c *Cluster) Len() int { return len(c.Nodes) }

// Node returns the node of slot i, nil for a free slot.
func (c *Cluster) Node(i int) *v1.Node { return c.Nodes[i] }

// Pods yields the pods assigned to slot i.
func (c *Cluster) Pods(i int) iter.Seq[*v1.Pod] {
	return func(yield func(*v1.Pod) bool) {
		if c.Nodes[i] == nil {
			return
		}
		for _, p := range c.Assigned {
			if p.Spec.NodeName == c.Nodes[i].Name && !yield(p) {
				return
			}
		}
	}
}

// Namespaces yields the known namespaces and their labels, by name.
func (c *Cluster) Namespaces() iter.Seq2[string, map[string]string] {
	return func(yield func(string, map[string]string) bool) {
		for _, name := range slices.Sorted(maps.Keys(c.NamespaceLabels)) {
			if !yield(name, c.NamespaceLabels[name]) {
				return
			}
		}
	}
}

// Rows adds the resource rows to a Cluster. A pod requests what its first container requests, which is enough for tests that
// build pods with Pod.
type Rows struct {
	*Cluster
	schema *resources.Schema
}

// WithRows returns c with resource rows.
func (c *Cluster) WithRows() *Rows {
	s := new(resources.Schema)
	for _, n := range c.Nodes {
		if n != nil {
			resources.FromList(s, n.Status.Allocatable)
		}
	}
	for _, p := range c.Assigned {
		resources.FromList(s, p.Spec.Containers[0].Resources.Requests)
	}
	return &Rows{c, s}
}

// Schema returns the columns of the rows.
func (r *Rows) Schema() *resources.Schema { return r.schema }

// Allocatable returns what slot i offers.
func (r *Rows) Allocatable(i int) resources.Vector {
	if r.Nodes[i] == nil {
		return nil
	}
	return resources.FromList(r.schema, r.Nodes[i].Status.Allocatable)
}

// Requested returns what the pods of slot i ask for.
func (r *Rows) Requested(i int) resources.Vector {
	sum := make(resources.Vector, r.schema.Len())
	for p := range r.Pods(i) {
		sum.Add(resources.FromList(r.schema, p.Spec.Containers[0].Resources.Requests))
		sum[resources.Pods]++
	}
	return sum
}

// NonZero returns the requests of slot i with 100m and 200Mi for containers that name none.
func (r *Rows) NonZero(i int) (cpuMilli, memoryBytes int64) {
	for p := range r.Pods(i) {
		cpu, mem := int64(100), int64(200<<20)
		requests := p.Spec.Containers[0].Resources.Requests
		if q, ok := requests[v1.ResourceCPU]; ok {
			cpu = q.MilliValue()
		}
		if q, ok := requests[v1.ResourceMemory]; ok {
			mem = q.Value()
		}
		cpuMilli, memoryBytes = cpuMilli+cpu, memoryBytes+mem
	}
	return cpuMilli, memoryBytes
}
