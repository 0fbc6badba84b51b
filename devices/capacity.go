package devices

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// consumption returns the amount that a request takes of each capacity of a device; nil for a device without capacity. ok
// is false when the device cannot serve the request: it lacks a requested capacity, or a request policy forbids the amount
// (rule U6.8). ok is false with an error too, which is about a policy that the API server refuses: a step without a minimum.
func consumption(d *device, requests capacities) (taken capacities, ok bool, err error) {
	for name := range requests {
		if _, known := d.object.Capacity[name]; !known {
			return nil, false, nil
		}
	}
	for name, c := range d.object.Capacity {
		amount, asked := requests[name]
		switch policy := c.RequestPolicy; {
		case asked:
			if policy != nil && policy.ValidRange != nil && policy.ValidRange.Step != nil && policy.ValidRange.Min == nil {
				return nil, false, fatal("device %s, capacity %s: requestPolicy.validRange.step needs validRange.min", d.id, name)
			}
			amount = rounded(amount, policy)
		case policy != nil && policy.Default != nil:
			amount = *policy.Default
		default:
			amount = c.Value
		}
		if !permitted(amount, c.RequestPolicy) {
			return nil, false, nil
		}
		if taken == nil {
			taken = make(capacities, len(d.object.Capacity))
		}
		taken[name] = amount
	}
	return taken, true, nil
}

// rounded returns the requested amount as the policy rounds it.
func rounded(amount resource.Quantity, policy *resourcev1.CapacityRequestPolicy) resource.Quantity {
	if policy == nil {
		return amount
	}
	if r := policy.ValidRange; r != nil && r.Min != nil {
		if amount.Cmp(*r.Min) < 0 {
			return *r.Min
		}
		if r.Step == nil {
			return amount
		}
		low, step := r.Min.Value(), r.Step.Value()
		if step <= 0 {
			return amount
		}
		steps := (amount.Value() - low + step - 1) / step
		return *resource.NewQuantity(low+step*steps, resource.BinarySI)
	}
	for _, value := range policy.ValidValues {
		if value.Cmp(amount) >= 0 {
			return value
		}
	}
	return amount
}

// permitted reports whether a policy allows an amount.
func permitted(amount resource.Quantity, policy *resourcev1.CapacityRequestPolicy) bool {
	if policy == nil || policy.Default != nil && amount.Cmp(*policy.Default) == 0 {
		return true
	}
	if r := policy.ValidRange; r != nil {
		if r.Max != nil && amount.Cmp(*r.Max) > 0 {
			return false
		}
		if r.Step != nil && r.Min != nil && r.Step.Value() > 0 && (amount.Value()-r.Min.Value())%r.Step.Value() != 0 {
			return false
		}
		return true
	}
	if len(policy.ValidValues) == 0 {
		return true
	}
	for _, value := range policy.ValidValues {
		if value.Cmp(amount) == 0 {
			return true
		}
	}
	return false
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
