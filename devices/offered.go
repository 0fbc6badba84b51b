package devices

import (
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// Offered returns how many devices of a class a node sees, and how many of these are allocated, for scores over an extended
// resource that the class provides (rule U9.10). It counts the devices of every slice that reaches the node and of every slice
// without a node selection. Generations, missing slices, taints, counters and shares make no difference. Selectors see a device
// that allows one allocation. Both numbers are 0 when a node selector or a device selector fails. Neither the node nor the class
// may be nil. O(devices of these slices).
func (a *Allocator) Offered(node *v1.Node, class *resourcev1.DeviceClass) (count, allocated int64) {
	for _, list := range [][]*slice{a.inventory.byNode[node.Name], a.inventory.open, a.inventory.both} {
		for _, s := range list {
			n, taken, ok := a.offeredBy(s, node, class)
			if !ok {
				return 0, 0
			}
			count, allocated = count+n, allocated+taken
		}
	}
	return count, allocated
}

func (a *Allocator) offeredBy(s *slice, node *v1.Node, class *resourcev1.DeviceClass) (count, allocated int64, ok bool) {
	if s.reach.kind != nowhere {
		reached, err := s.reach.has(node)
		if !reached {
			return 0, 0, err == nil
		}
	}
	for k := range s.devices {
		d := &s.devices[k]
		if s.each {
			reached, err := d.reach.has(node)
			if err != nil {
				return 0, 0, false
			}
			if !reached {
				continue
			}
		}
		selected, err := a.selected(d, class)
		if err != nil {
			return 0, 0, false
		}
		if selected {
			count++
			if a.ledger.allocated(d.index) {
				allocated++
			}
		}
	}
	return count, allocated, true
}

// selected reports whether a device, as a device that allows one allocation, matches every selector of a class.
func (a *Allocator) selected(d *device, class *resourcev1.DeviceClass) (bool, error) {
	for k := range class.Spec.Selectors {
		c := class.Spec.Selectors[k].CEL
		if c == nil {
			return false, nil // Offered counts no device of such a class
		}
		p := a.program(c.Expression)
		single := *d
		if single.shares {
			single.shares, single.content = false, ^d.content // the answer for the device that shares is another
		}
		if ok, err := a.matches(p, &single); !ok {
			return false, err
		}
	}
	return true, nil
}
