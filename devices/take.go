package devices

// take tries a device for a request, in the order of rule U7.3. When the outcome is broken or failed, take has not taken
// the device.
func (s *Search) take(at position, r *request, x candidate) (bool, outcome) {
	if s.err = s.bound.step(); s.err != nil {
		return false, broken
	}
	d := x.device
	if s.inUse(d, r, at.claim) {
		return false, failed
	}
	taken, ok, err := s.suits(s.claims[at.claim].name, r, d)
	if err != nil {
		s.err = err
		return false, broken
	}
	if !ok {
		return false, failed
	}
	ok, paid := s.charge(x.pool, d)
	if !ok {
		return false, failed
	}
	undo := func() {
		if paid {
			s.refund(x.pool, d)
		}
	}
	if !tolerated(d.object.Taints, r.tolerations) {
		undo()
		return false, failed
	}
	if !s.constrain(at.claim, r, d) {
		undo()
		if r.all && !s.options.AllPerNode {
			s.err = fatal("claim %s, request %s: cannot add device %s because a claim constraint would not be satisfied", s.claims[at.claim].name, r.short(), d.id)
			return false, broken
		}
		return false, failed
	}
	if r.all && !s.room(d, taken) { // devices of allocationMode All have passed the other tests before the search
		undo()
		s.unconstrain(at.claim, r)
		return false, failed
	}
	c := choice{candidate: x, claim: at.claim, request: r, shared: d.shares, paid: paid}
	if d.shares {
		c.consumed = taken
	}
	s.choices = append(s.choices, c)
	s.counts[at.claim]++
	return true, failed
}

// suits reports whether a device matches a request and has room, and returns what the request takes of the device's capacity.
// Devices of allocationMode All have passed these tests before the search, and candidates of an outlook the selectors.
func (s *Search) suits(claim string, r *request, d *device) (taken capacities, ok bool, err error) {
	if !r.all && s.outlook == nil {
		if ok, err := s.selectable(d, r); err != nil || !ok {
			return nil, false, err
		}
	}
	s.bound.steps += len(d.object.Capacity) / takenCapacities
	if taken, ok, err = s.consumption(d, r.capacity); err != nil {
		return nil, false, fatal("claim %s, request %s: checking capacity for device %s: %w", claim, r.short(), d.id, err)
	}
	return taken, r.all || ok && s.room(d, taken), nil
}

// inUse reports whether an allocation or an earlier choice blocks the device (rule U7.3).
func (s *Search) inUse(d *device, r *request, claim int) bool {
	if s.held(d, r) {
		return true
	}
	for k := range s.choices {
		c := &s.choices[k]
		if c.device.index != d.index || c.shared {
			continue
		}
		if s.options.AdminApart && c.request.admin != r.admin {
			continue
		}
		if !r.admin || c.claim == claim {
			return true
		}
	}
	return false
}

// held reports whether an allocation blocks the device.
func (s *Search) held(d *device, r *request) bool {
	return !r.admin && (s.ledger.dedicated[d.index] > 0 || s.options.SharesBlock && !d.shares && s.ledger.shares[d.index] > 0)
}

// constrain adds a device to the constraints of its claim. It returns false and adds nothing when the device violates a
// constraint.
func (s *Search) constrain(claim int, r *request, d *device) bool {
	list := s.constraints[claim]
	for k := range list {
		if !list[k].covers(r) || list[k].add(r, d, s.options.AllDistinct) {
			continue
		}
		for k--; k >= 0; k-- {
			if list[k].covers(r) {
				list[k].remove(r, s.options.AllDistinct)
			}
		}
		return false
	}
	return true
}

// giveBack undoes the last choice of a claim.
func (s *Search) giveBack(claim int) {
	c := &s.choices[len(s.choices)-1]
	if c.paid {
		s.refund(c.pool, c.device)
	}
	s.unconstrain(claim, c.request)
	s.choices = s.choices[:len(s.choices)-1]
	s.counts[claim]--
}

// unconstrain removes the device that was added last from the constraints of its claim.
func (s *Search) unconstrain(claim int, r *request) {
	list := s.constraints[claim]
	for k := len(list) - 1; k >= 0; k-- {
		if list[k].covers(r) {
			list[k].remove(r, s.options.AllDistinct)
		}
	}
}
