package devices

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// maxResults is the number of devices that one claim may get.
const maxResults = resourcev1.AllocationResultsMaxSize

// Search chooses devices for one pod's claims, node by node. It belongs to one goroutine. Its methods panic when the node is
// nil.
type Search struct {
	allocator *Allocator
	ledger    *Ledger
	options   Options
	claims    []claimAsk
	requests  int
	left      map[poolKey]map[counterID]counter // counters that the cluster leaves; kept for all nodes (quirk U10.2)

	// For the node that is being searched:
	node        *v1.Node
	pools       []*pool
	shape       *shape
	corrected   *Search       // of Complete
	found       [][]candidate // by request: the devices of allocationMode All
	constraints [][]constraint
	chosen      [][]int // by claim and request: index of the chosen alternative
	choices     []choice
	counts      []int // by claim: choices so far
	spent       map[poolKey]map[counterID]counter
	steps       int
	err         error
	tried       map[int32]int32 // with Complete: class of each device; nil otherwise
}

// candidate is a device with its pool.
type candidate struct {
	pool   *pool
	device *device
}

// choice is a device that the search has taken.
type choice struct {
	candidate
	claim    int
	request  *request
	shared   bool
	paid     bool // charge has taken counters
	consumed capacities
}

type outcome uint8

const (
	failed  outcome = iota
	solved          // all claims have their devices
	tooMany         // a claim would get more devices than it may
	broken          // s.err
)

// position is a point of the search: n devices are found for one alternative of one request of one claim.
type position struct {
	claim, ask, alternative int
	entered                 bool // alternative is chosen
	n                       int
}

// cursor is the point where the search for the next device of a request begins.
type cursor struct{ pool, device int }

func (s *Search) run(node *v1.Node) (outcome, error) {
	s.node, s.steps, s.err = node, 0, nil
	s.choices = s.choices[:0]
	clear(s.spent)
	clear(s.counts)
	v := s.allocator.view(node)
	if v.err != nil {
		return broken, v.err
	}
	s.pools = v.pools
	for k := range s.claims {
		if err := s.prepare(k); err != nil {
			return broken, err
		}
	}
	out := s.step(position{}, cursor{})
	return out, s.err
}

// prepare collects the devices of allocationMode All and checks the number of devices of each claim (rules U6.1, U6.3 and
// U6.7).
func (s *Search) prepare(claim int) error {
	c := &s.claims[claim]
	total := 0
	for k := range c.asks {
		least := -1
		for j := range c.asks[k].alternatives {
			r := &c.asks[k].alternatives[j]
			if r.err != nil {
				return r.err
			}
			need := r.count
			if r.all {
				if err := s.collect(c, r); err != nil {
					return err
				}
				need = len(s.found[r.id])
			}
			if least < 0 || need < least {
				least = need
			}
		}
		total += max(least, 0)
	}
	if total > maxResults {
		return fatal("claim %s: number of requested devices %d exceeds the claim limit of %d", c.name, total, maxResults)
	}
	if c.err != nil {
		return c.err
	}
	for k := range c.constraints {
		s.constraints[claim][k] = constraint{constraintSpec: &c.constraints[k]}
	}
	return nil
}

// collect finds all devices of a request with allocationMode All (rule U6.6).
func (s *Search) collect(c *claimAsk, r *request) error {
	s.found[r.id] = s.found[r.id][:0]
	for _, p := range s.pools {
		switch p.state {
		case incomplete:
			return fatal("claim %s, request %s: asks for all devices, but resource pool %s is currently being updated", c.name, r.short(), p.key)
		case invalid:
			return fatal("claim %s, request %s: asks for all devices, but resource pool %s is currently invalid", c.name, r.short(), p.key)
		}
		for _, d := range p.devices {
			ok, err := s.selectable(d, r)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			taken, ok, err := consumption(d, r.capacity)
			if err != nil {
				return err
			}
			if ok && (s.room(d, taken) || s.options.AllStatic && fits(d, taken)) {
				s.found[r.id] = append(s.found[r.id], candidate{p, d})
			}
		}
	}
	return nil
}

// step completes a partial choice, depth first (rule U7.2).
func (s *Search) step(at position, from cursor) outcome {
	if at.claim == len(s.claims) {
		return solved
	}
	c := &s.claims[at.claim]
	if at.ask == len(c.asks) {
		if out := s.step(position{claim: at.claim + 1}, cursor{}); out != tooMany {
			return out
		}
		return failed
	}
	x := &c.asks[at.ask]
	if !at.entered {
		return s.alternatives(at, x)
	}
	r := &x.alternatives[at.alternative]
	need := r.count
	if r.all {
		if need = len(s.found[r.id]); need == 0 {
			return failed
		}
	}
	if at.n >= need {
		s.chosen[at.claim][at.ask] = at.alternative
		return s.step(position{claim: at.claim, ask: at.ask + 1}, cursor{})
	}
	if s.counts[at.claim]+need-at.n > maxResults {
		return tooMany
	}
	if r.all {
		ok, out := s.take(at, r, s.found[r.id][at.n])
		if ok {
			next := at
			next.n++
			if out = s.step(next, cursor{}); out != solved {
				s.giveBack(at.claim)
			}
		}
		return out
	}
	return s.tryDevices(at, r, from)
}

// tryDevices takes one device after another for the next of a request's devices, and goes on with the search (rule U7.2).
func (s *Search) tryDevices(at position, r *request, from cursor) outcome {
	next := at
	next.n++
	var seen []int32 // with Complete: classes of devices that led to no solution here
	for p := from.pool; p < len(s.pools); p++ {
		if s.pools[p].state != complete {
			continue
		}
		first := 0
		if p == from.pool {
			first = from.device
		}
		for d := first; d < len(s.pools[p].devices); d++ {
			x := candidate{s.pools[p], s.pools[p].devices[d]}
			class := s.alike(x)
			if slices.Contains(seen, class) {
				continue
			}
			ok, out := s.take(at, r, x)
			if out == broken {
				return broken
			}
			if !ok {
				continue
			}
			if out = s.step(next, cursor{p, d + 1}); out == solved {
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
	}
	return failed
}

// alternatives tries the alternatives of a request in their order (rule U5.2).
func (s *Search) alternatives(at position, x *ask) outcome {
	out := tooMany
	for k := range x.alternatives {
		switch s.step(position{claim: at.claim, ask: at.ask, alternative: k, entered: true}, cursor{}) {
		case solved:
			return solved
		case broken:
			return broken
		case failed:
			out = failed
		}
	}
	return out
}

// take tries a device for a request, in the order of rule U7.3. When the outcome is broken or failed, take has not taken
// the device.
func (s *Search) take(at position, r *request, x candidate) (bool, outcome) {
	if s.options.Steps > 0 && s.steps >= s.options.Steps {
		s.err = ErrSteps
		return false, broken
	}
	s.steps++
	d := x.device
	if s.inUse(d, r, at.claim) {
		return false, failed
	}
	taken, ok, err := s.suits(r, d)
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
// Devices of allocationMode All have passed these tests before the search.
func (s *Search) suits(r *request, d *device) (taken capacities, ok bool, err error) {
	if !r.all {
		if ok, err := s.selectable(d, r); err != nil || !ok {
			return nil, false, err
		}
	}
	if taken, ok, err = consumption(d, r.capacity); err != nil {
		return nil, false, err
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
