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
	bound       bound
	err         error
	tried       map[int32]int32 // with Complete: class of each device; nil otherwise
	outlook     *outlook        // nil until the search has taken many steps
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
	s.node, s.outlook = node, nil
	s.bound.start(&s.options, s.allocator.patience)
	if err := s.reset(); err != nil {
		return broken, err
	}
	out := s.begin()
	if s.err == errPatience {
		return s.again()
	}
	return out, s.err
}

// begin searches from the first claim on. The first claim can have too many devices when the sum of its counts passes the edge of
// int64.
func (s *Search) begin() outcome {
	out := s.step(position{}, cursor{})
	if out == tooMany {
		s.err = fatal("allocation max size exceeded")
		return broken
	}
	return out
}

// reset begins the search on the node.
func (s *Search) reset() error {
	s.err, s.choices = nil, s.choices[:0]
	clear(s.spent)
	clear(s.counts)
	v := s.allocator.view(s.node)
	if v.err != nil {
		return v.err
	}
	s.pools = v.pools
	for k := range s.claims {
		if err := s.prepare(k); err != nil {
			return err
		}
	}
	return nil
}

// prepare collects the devices of allocationMode All and checks the number of devices of each claim (rules U6.1, U6.3 and
// U6.7).
func (s *Search) prepare(claim int) error {
	c := &s.claims[claim]
	total := 0
	for k := range c.asks {
		least, any := 0, false
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
			if !any || need < least {
				least, any = need, true
			}
		}
		if err := tooManyDevices(s.options.Release, c, &c.asks[k], least, total); err != nil {
			return err
		}
		total += least // wraps around, as in v1.36
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
			taken, ok, err := s.consumption(d, r.capacity)
			if err != nil {
				return fatal("claim %s, request %s: checking capacity for device %s: %w", c.name, r.short(), d.id.Device, err)
			}
			if ok && (s.options.AllStatic && fits(d, taken) || !s.options.AllStatic && s.room(d, taken)) {
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
		return s.enter(at, x)
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
	if passesLimit(s.options.Release, s.counts[at.claim], need-at.n) {
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
	if s.outlook != nil {
		return s.tryCandidates(at, r, from.device)
	}
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
		if s.outlook.avoids(&x.alternatives[k]) {
			out = failed
			continue
		}
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
