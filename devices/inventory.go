package devices

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/affinity"
)

// ID identifies a device by its driver, the name of its pool and its own name (rule U1.1).
type ID struct {
	Driver, Pool, Device string
}

// String returns "driver/pool/device".
func (d ID) String() string { return d.Driver + "/" + d.Pool + "/" + d.Device }

// Inventory is the content of all ResourceSlices of a cluster, prepared for questions about many nodes. It is immutable and
// safe for concurrent use.
type Inventory struct {
	index  map[ID]int32 // ID of each device
	pools  map[poolKey][]*slice
	byNode map[string][]*slice // by node name: slices of this node without shared counters
	open   []*slice            // all other slices
}

type poolKey struct{ driver, pool string }

// compare orders pools by driver, then by name.
func (k poolKey) compare(other poolKey) int {
	return cmp.Or(strings.Compare(k.driver, other.driver), strings.Compare(k.pool, other.pool))
}

func (k poolKey) String() string { return k.driver + "/" + k.pool }

// slice is one ResourceSlice.
type slice struct {
	object   *resourcev1.ResourceSlice
	pool     poolKey
	reach    reach
	each     bool // each device has its own reach
	counters bool
	devices  []device
}

// device is one device of a slice.
type device struct {
	object  *resourcev1.Device
	slice   *slice
	id      ID
	index   int32 // index in Inventory.ids
	content int32 // equal for devices that no selector can tell apart
	shares  bool  // allowMultipleAllocations
	reach   reach // of the device itself; used only where slice.each is set
}

// NewInventory prepares slices. It keeps the slices and does not copy them: they must not change. The order of the list has
// no influence. When a node selector cannot be parsed, every question that meets it returns an error, as in v1.36.
func NewInventory(list []*resourcev1.ResourceSlice) *Inventory {
	inv := &Inventory{index: map[ID]int32{}, pools: map[poolKey][]*slice{}, byNode: map[string][]*slice{}}
	contents := contents{}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *resourcev1.ResourceSlice) int { return strings.Compare(a.Name, b.Name) })
	for _, object := range list {
		s := inv.add(object, contents)
		inv.pools[s.pool] = append(inv.pools[s.pool], s)
		if name := object.Spec.NodeName; name != nil && *name != "" && !s.counters {
			inv.byNode[*name] = append(inv.byNode[*name], s)
		} else {
			inv.open = append(inv.open, s)
		}
	}
	return inv
}

func (inv *Inventory) add(object *resourcev1.ResourceSlice, contents contents) *slice {
	spec := &object.Spec
	s := &slice{object: object, pool: poolKey{spec.Driver, spec.Pool.Name}, counters: len(spec.SharedCounters) > 0}
	s.reach = reachOf(spec.NodeName, spec.NodeSelector, spec.AllNodes)
	s.each = spec.PerDeviceNodeSelection != nil && *spec.PerDeviceNodeSelection
	s.devices = make([]device, len(spec.Devices))
	for k := range spec.Devices {
		object := &spec.Devices[k]
		d := &s.devices[k]
		*d = device{object: object, slice: s, id: ID{s.pool.driver, s.pool.pool, object.Name}}
		index, ok := inv.index[d.id]
		if !ok {
			index = int32(len(inv.index))
			inv.index[d.id] = index
		}
		d.index, d.content = index, contents.of(spec.Driver, object)
		d.shares = object.AllowMultipleAllocations != nil && *object.AllowMultipleAllocations
		if s.each {
			d.reach = reachOf(object.NodeName, object.NodeSelector, object.AllNodes)
		}
	}
	return s
}

// reach is the set of nodes on which a slice or device can be used.
type reach struct {
	kind     reachKind
	node     string
	object   *v1.NodeSelector
	selector *affinity.Selector
	err      error // not nil: the selector cannot be parsed
}

type reachKind uint8

const (
	nowhere reachKind = iota
	oneNode
	everywhere
	selected
)

// reachOf uses the first field that is set: node name, all nodes, selector.
func reachOf(name *string, selector *v1.NodeSelector, all *bool) reach {
	switch {
	case name != nil && *name != "":
		return reach{kind: oneNode, node: *name}
	case all != nil && *all:
		return reach{kind: everywhere}
	case selector != nil:
		compiled, err := affinity.CompileSelector(selector)
		return reach{kind: selected, object: selector, selector: compiled, err: err}
	}
	return reach{}
}

// has reports whether a node is in reach.
func (r *reach) has(node *v1.Node) (bool, error) {
	switch r.kind {
	case oneNode:
		return r.node == node.Name, nil
	case everywhere:
		return true, nil
	case selected:
		if r.err != nil {
			return false, r.err
		}
		return r.selector.Matches(node), nil
	}
	return false, nil
}
