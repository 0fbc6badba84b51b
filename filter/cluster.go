package filter

import (
	"iter"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// Cluster is what the predicates about nodes and ports read. A node's handle is its slot.
type Cluster interface {
	// Len returns the number of slots, free ones included.
	Len() int
	// Node returns the node of slot i, nil for a free slot.
	Node(i int) *v1.Node
	// Pods yields the pods assigned to slot i, none for a free slot. Terminating pods are included. Succeeded and Failed
	// pods are not.
	Pods(i int) iter.Seq[*v1.Pod]
}

// Rows is what NodeResourcesFit reads: resource vectors with the columns of Schema.
type Rows interface {
	Schema() *resources.Schema
	// Allocatable returns what slot i offers. Its column resources.Pods is the number of pods allowed.
	Allocatable(i int) resources.Vector
	// Requested returns what the pods of slot i ask for. Its column resources.Pods is the number of these pods.
	Requested(i int) resources.Vector
}

// podPorts is an optional interface of a Cluster. PortPods returns the assigned pods of slot i that hold host ports.
type podPorts interface {
	PortPods(i int) []*v1.Pod
}

// podRows is an optional interface of Rows. PodRequests returns the row with which an assigned or nominated pod counts in
// Requested, and false when the row is not known.
type podRows interface {
	PodRequests(p *v1.Pod) (resources.Vector, bool)
}
