package devices

import (
	"math"
	"slices"
)

// outlook is what a search knows about a node before it chooses a device: which devices each request can have, and whether the
// claims can be met at all. A search makes it when it has not found devices at once. It changes no answer: the search leaves out
// nothing but choices that lead to no allocation, and only where no choice leads to an error.
type outlook struct {
	candidates [][]candidate // by request, in the order of the search: devices that pass the tests
	dead       []bool        // by request: no allocation takes this alternative
	hopeless   bool          // there is no allocation
	exact      bool          // what a choice leads to depends on the choices before alone
	classes    map[int32]int32
	failed     map[string]bool   // states of the search that led to no allocation
	uses       map[string]uint64 // numbers of what requests use of a device
}

// again begins the search again, with an outlook where no choice leads to an error.
func (s *Search) again() (outcome, error) {
	s.bound.resume()
	if err := s.reset(); err != nil {
		return broken, err
	}
	o := s.lookAhead()
	if o != nil && o.hopeless {
		return failed, nil
	}
	if s.shape == nil && o != nil {
		s.shape = s.allocator.newShape(s)
		defer func() { s.shape = nil }() // shapeOf shares the shape with other searches
	}
	s.outlook = o
	defer func() { s.outlook = nil }() // questions about single devices follow
	s.bound.resume()
	out := s.begin()
	return out, s.err
}

// lookAhead returns the outlook on the node; nil when a choice may lead to an error.
func (s *Search) lookAhead() *outlook {
	o := &outlook{candidates: make([][]candidate, s.requests), dead: make([]bool, s.requests), exact: true,
		classes: map[int32]int32{}, failed: map[string]bool{}, uses: map[string]uint64{}}
	pays := map[int32]bool{}
	for k := range s.claims {
		c := &s.claims[k]
		most := 0
		for j := range c.asks {
			need, least := 0, math.MaxInt
			for i := range c.asks[j].alternatives {
				r := &c.asks[j].alternatives[i]
				if !s.collectCandidates(o, c, r, pays) {
					return nil
				}
				n := s.need(r)
				need, least = max(need, n), min(least, n)
				forgets := func(x constraintSpec) bool { return x.distinct && x.covers(r) }
				if n > 1 && !s.options.AllDistinct && slices.ContainsFunc(c.constraints, forgets) {
					o.exact = false // quirk U10.4
				}
			}
			if most += min(need, maxResults+1); len(c.asks[j].alternatives) > 0 && least > maxResults {
				return nil // the sum of the counts has passed the edge of int64
			}
		}
		o.exact = o.exact && most <= maxResults // else a choice may end the search for other choices, see tooMany
	}
	list := slices.Clone(o.candidates)
	o.hopeless = !s.narrow(o)
	if !o.exact {
		o.candidates = list // a device that violates a constraint changes the constraints, quirk U10.4
	}
	return o
}

// need returns the number of devices of an alternative.
func (s *Search) need(r *request) int {
	if r.all {
		return len(s.found[r.id])
	}
	return r.count
}

// collectCandidates finds the devices that pass the tests which do not depend on other choices. It returns false when a choice for
// the request may lead to an error.
func (s *Search) collectCandidates(o *outlook, c *claimAsk, r *request, pays map[int32]bool) bool {
	if r.all {
		covers := func(x constraintSpec) bool { return x.covers(r) }
		if !s.options.AllPerNode && slices.ContainsFunc(c.constraints, covers) {
			return false
		}
		for _, x := range s.found[r.id] {
			taken, _, _ := s.consumption(x.device, r.capacity) // collect had no error
			o.dead[r.id] = o.dead[r.id] || s.held(x.device, r) || !s.room(x.device, taken) || !s.pays(x, pays) || !tolerated(x.device.object.Taints, r.tolerations)
		}
		o.dead[r.id] = o.dead[r.id] || len(s.found[r.id]) == 0
		o.candidates[r.id] = s.found[r.id]
		return true
	}
	for _, p := range s.pools {
		if p.state != complete {
			continue
		}
		for _, d := range p.devices {
			if s.held(d, r) {
				continue
			}
			if _, ok, err := s.suits(c.name, r, d); err != nil {
				return false
			} else if ok && s.pays(candidate{p, d}, pays) && tolerated(d.object.Taints, r.tolerations) {
				o.candidates[r.id] = append(o.candidates[r.id], candidate{p, d})
			}
		}
	}
	return true
}

// pays reports whether the counters suffice for a device alone. It does not ask where the answer depends on the devices that were
// asked before (quirk U10.2).
func (s *Search) pays(x candidate, known map[int32]bool) bool {
	if s.allocator.inventory.coupled {
		return true
	}
	ok, asked := known[x.device.index]
	if !asked {
		var paid bool
		if ok, paid = s.charge(x.pool, x.device); paid {
			s.refund(x.pool, x.device)
		}
		known[x.device.index] = ok
	}
	return ok
}

// tryCandidates is tryDevices with an outlook, from a candidate on.
func (s *Search) tryCandidates(at position, r *request, from int) outcome {
	next := at
	next.n++
	var seen []int32 // classes of devices that led to no solution here
	list := s.outlook.candidates[r.id]
	for k := from; k < len(list); k++ {
		class := s.alike(list[k])
		if slices.Contains(seen, class) {
			continue
		}
		ok, out := s.take(at, r, list[k])
		if out == broken {
			return broken
		}
		if !ok {
			continue
		}
		if out = s.step(next, cursor{device: k + 1}); out == solved {
			return solved
		}
		s.giveBack(at.claim)
		if out != failed {
			return out
		}
		if class != 0 {
			seen = append(seen, class)
		}
	}
	return failed
}

// avoids reports whether the search leaves an alternative out.
func (o *outlook) avoids(r *request) bool { return o != nil && o.exact && o.dead[r.id] }
