package score

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// Rows is the part of a cluster that the resource scores read: what the node of each slot offers and what its pods request.
// A vector that is shorter than the schema has zeros at its end. A free slot has no resources.
//
// A cluster with extended resources that a DeviceClass provides also has the method
//
//	Devices(name v1.ResourceName, i int) (devices, allocated int64)
//
// It returns how many devices of slot i match the resource, and how many of those are allocated. The scores call it only
// for resources of which Allocatable has 0.
type Rows interface {
	Schema() *resources.Schema
	Allocatable(i int) resources.Vector
	Requested(i int) resources.Vector
	// NonZero returns the requests of the pods of slot i. A container without a cpu or memory request counts 100m or 200Mi.
	NonZero(i int) (cpuMilli, memoryBytes int64)
}

// deviceRows is the optional part of Rows.
type deviceRows interface {
	Devices(name v1.ResourceName, i int) (devices, allocated int64)
}

// column is one configured resource with the pod's request.
type column struct {
	name    v1.ResourceName
	weight  int64
	request int64
	at      int // column of the rows; -1 when the schema did not have the resource at On
	nonZero bool
}

// usual is room for the columns of most profiles, which have cpu and memory: the columns then need no memory of their own.
type usual [2]column

// appendColumns prepares the configured resources. It leaves out resources that no node and no pod can have. With nonZero, cpu and memory
// of running pods count with defaults.
func appendColumns(cols []column, list []Resource, nonZero bool) []column {
	for _, r := range list {
		c := column{name: v1.ResourceName(r.Name), weight: r.Weight}
		if isScored(c.name) {
			c.nonZero = nonZero && (c.name == v1.ResourceCPU || c.name == v1.ResourceMemory)
			cols = append(cols, c)
		}
	}
	return cols
}

// requested leaves out scalar resources that the pod does not request (rule C2.4).
func requested(cols []column) []column {
	return slices.DeleteFunc(cols, func(c column) bool { return c.request == 0 && resources.IsScalar(c.name) })
}

// view is a list of columns with their places in the rows of a cluster.
type view struct {
	rows    Rows
	devices deviceRows
	cols    []column
	room    usual
	width   int  // of the schema when On was called
	exact   bool // some column counts exact requests
	nonZero bool // some column counts requests with defaults
}

func (v *view) init(rows Rows, cols []column) {
	v.rows, v.cols, v.width = rows, append(v.room[:0], cols...), rows.Schema().Len()
	v.devices, _ = rows.(deviceRows)
	for k := range v.cols {
		c := &v.cols[k]
		c.at = -1
		v.exact, v.nonZero = v.exact || !c.nonZero, v.nonZero || c.nonZero
		if at, ok := rows.Schema().Column(c.name); ok {
			c.at = at
		}
	}
}

// node has the rows of one slot, read once for all columns.
type node struct {
	allocatable, requested resources.Vector
	nonZero                [2]int64 // cpu and memory, by column
	slot                   int
}

func (v *view) node(i int) (n node) {
	n.slot = i
	n.allocatable = v.rows.Allocatable(i)
	if v.exact {
		n.requested = v.rows.Requested(i)
	}
	if v.nonZero {
		n.nonZero[resources.CPU], n.nonZero[resources.Memory] = v.rows.NonZero(i)
	}
	return n
}

// amounts returns how much of column c node n has, and how much of it is in use without the pod. alloc 0 means that the
// resource is left out.
func (v *view) amounts(n *node, c *column) (alloc, used int64) {
	at := c.at
	if at < 0 {
		if v.rows.Schema().Len() == v.width && v.devices == nil {
			return 0, 0
		}
		var ok bool
		if at, ok = v.rows.Schema().Column(c.name); !ok { // a later node may have added the column
			return v.device(n, c)
		}
	}
	alloc = n.allocatable.At(at)
	switch {
	case alloc == 0:
		return v.device(n, c)
	case c.nonZero:
		return alloc, n.nonZero[at&1]
	}
	return alloc, n.requested.At(at)
}

func (v *view) device(n *node, c *column) (alloc, used int64) {
	if v.devices == nil || !resources.IsExtended(c.name) && !strings.HasPrefix(string(c.name), resources.DeviceClassPrefix) {
		return 0, 0
	}
	return v.devices.Devices(c.name, n.slot)
}
