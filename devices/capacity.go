package devices

import (
	"errors"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
)

// consumption returns the amount that a request takes of each capacity of a device; nil for a device without capacity. ok
// is false when the device cannot serve the request: it lacks a requested capacity, or a request policy forbids the amount
// (rule U6.8). ok is false with an error too: the amounts cannot be calculated. Of several capacities with an error the first name
// has the say; v1.37 takes any of them.
func (s *Search) consumption(d *device, requests capacities) (taken capacities, ok bool, err error) {
	for name := range requests {
		if _, known := d.object.Capacity[name]; !known {
			return nil, false, nil
		}
	}
	if len(d.object.Capacity) == 0 {
		return nil, true, nil
	}
	taken, ok = make(capacities, len(d.object.Capacity)), true
	var faulty resourcev1.QualifiedName
	for name, c := range d.object.Capacity {
		amount, asked := requests[name]
		units := unitsOf(c.RequestPolicy, &s.options)
		var fault error
		switch policy := c.RequestPolicy; {
		case asked:
			amount, fault = units.rounded(amount, policy)
		case policy != nil && policy.Default != nil:
			amount = *policy.Default
		default:
			amount = c.Value
		}
		if fault == nil && amount.Sign() < 0 && refusesAmounts(s.options.Release) {
			fault = errors.New("capacity value is negative")
		}
		if fault != nil && (err == nil || name < faulty) {
			faulty, err = name, fmt.Errorf("capacity %q: %w", name, fault)
		}
		ok = ok && fault == nil && units.permitted(amount, c.RequestPolicy)
		taken[name] = amount
	}
	if !ok {
		taken = nil
	}
	return taken, ok, err
}

// room reports whether the capacities of a device have room for an amount, besides the allocations of the cluster and the
// earlier choices of this search.
func (s *Search) room(d *device, taken capacities) bool {
	before := s.ledger.consumed[d.index]
	for name, amount := range taken {
		sum := amount.DeepCopy()
		sum.Add(before[name])
		for k := range s.choices {
			if c := &s.choices[k]; c.shared && c.device.index == d.index {
				sum.Add(c.consumed[name])
			}
		}
		have := d.object.Capacity[name].Value
		if sum.Cmp(have) > 0 {
			return false
		}
	}
	return true
}

// fits reports whether a device that nobody uses has room for an amount.
func fits(d *device, taken capacities) bool {
	for name, amount := range taken {
		if have := d.object.Capacity[name].Value; amount.Cmp(have) > 0 {
			return false
		}
	}
	return true
}

// shared reports whether an earlier choice of this search shares the device.
func (s *Search) shared(d *device) bool {
	for k := range s.choices {
		if c := &s.choices[k]; c.shared && c.device.index == d.index {
			return true
		}
	}
	return false
}
