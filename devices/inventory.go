package devices

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"

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
	poolOf []int32      // by index of a device: group.at
	pools  map[poolKey]*group
	byNode map[string][]*slice // by node name: slices of this node without shared counters
	open   []*slice            // all other slices without shared counters
	both   []*slice            // slices with shared counters and with devices

	countersByNode map[string][]*slice // slices with shared counters, as byNode and open
	countersOpen   []*slice

	coupled bool // the answer for one node can depend on the nodes that were asked before (quirk U10.2)
}

// group is all slices of a pool in the cluster.
type group struct {
	at       int32
	all      []*slice
	counters []*slice // slices with shared counters
	private  bool     // one node at most sees devices of the pool, and this node sees all of them
	consumes bool     // some device consumes counters
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
	index   int32                    // index in Inventory.ids
	content int32                    // equal for devices that no selector can tell apart
	kind    int32                    // equal for devices with equal capacity, policies, counters, taints and allowMultipleAllocations
	shares  bool                     // allowMultipleAllocations
	reach   reach                    // of the device itself; used only where slice.each is set
	ruled   []resourcev1.DeviceTaint // of DeviceTaintRules
}

// NewInventory prepares slices, and the DeviceTaintRules that taint their devices where [Options.TaintRules] holds. It keeps the slices and
// does not copy them: they must not change. The order of the lists has no influence. A slice or rule must not be nil; an empty list offers nothing. When a node selector cannot be parsed, every question that meets it returns an error, as in v1.37.
func NewInventory(list []*resourcev1.ResourceSlice, rules ...*resourcev1beta2.DeviceTaintRule) *Inventory {
	rules = slices.SortedStableFunc(slices.Values(rules), byRuleName)
	inv := &Inventory{index: map[ID]int32{}, pools: map[poolKey]*group{}, byNode: map[string][]*slice{}, countersByNode: map[string][]*slice{}}
	contents, kinds := contents{}, contents{}
	byName := func(a, b *resourcev1.ResourceSlice) int { return strings.Compare(a.Name, b.Name) }
	for _, object := range slices.SortedStableFunc(slices.Values(list), byName) {
		s := inv.add(object, rules, contents, kinds)
		if s.counters && len(s.devices) > 0 {
			inv.both = append(inv.both, s)
		}
		switch name := object.Spec.NodeName; {
		case s.counters && name != nil && *name != "":
			inv.countersByNode[*name] = append(inv.countersByNode[*name], s)
		case s.counters:
			inv.countersOpen = append(inv.countersOpen, s)
		case name != nil && *name != "":
			inv.byNode[*name] = append(inv.byNode[*name], s)
		default:
			inv.open = append(inv.open, s)
		}
	}
	inv.couple()
	return inv
}

// couple finds out which pools are private, and whether answers about nodes can depend on each other.
func (inv *Inventory) couple() {
	names := map[string]bool{} // of pools that consume counters; two pools of one name have different drivers
	for key, g := range inv.pools {
		node := ""
		g.private = true
		for _, s := range g.all {
			if s.counters {
				continue
			}
			if s.each || s.reach.kind != oneNode || node != "" && node != s.reach.node {
				g.private = false
				break
			}
			node = s.reach.node
		}
		if !g.consumes {
			continue
		}
		inv.coupled = inv.coupled || !g.private || names[key.pool]
		names[key.pool] = true
	}
}

func (inv *Inventory) add(object *resourcev1.ResourceSlice, rules []*resourcev1beta2.DeviceTaintRule, contents, kinds contents) *slice {
	spec := &object.Spec
	s := &slice{object: object, pool: poolKey{spec.Driver, spec.Pool.Name}, counters: len(spec.SharedCounters) > 0}
	g := inv.pools[s.pool]
	if g == nil {
		g = &group{at: int32(len(inv.pools))}
		inv.pools[s.pool] = g
	}
	g.all = append(g.all, s)
	if s.counters {
		g.counters = append(g.counters, s)
	}
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
			inv.poolOf = append(inv.poolOf, g.at)
		}
		d.ruled = ruled(rules, d.id)
		d.index, d.content, d.kind = index, contents.of(spec.Driver, object), kinds.kindOf(object, d.ruled)
		g.consumes = g.consumes || len(object.ConsumesCounters) > 0
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

// has reports whether a node is in reach. The error is v1.37's text about a selector that cannot be parsed.
func (r *reach) has(node *v1.Node) (bool, error) {
	switch r.kind {
	case oneNode:
		return r.node == node.Name, nil
	case everywhere:
		return true, nil
	case selected:
		if r.err != nil {
			return false, fmt.Errorf("failed to parse node selector %v: %w", r.object, r.err)
		}
		return r.selector.Matches(node), nil
	}
	return false, nil
}
