package devices

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// Explanation says what one node offers to the claims of a search, and what keeps it from serving them.
type Explanation struct {
	// Allocates is true when Allocate finds devices for all claims.
	Allocates bool `json:"allocates"`
	// Error is the error of Allocate; empty without.
	Error string `json:"error,omitempty"`
	// Pools are the pools that the node sees but cannot use.
	Pools []PoolReport `json:"pools,omitempty"`
	// Requests has each request and each alternative of firstAvailable, in the order of the search, each looked at alone.
	Requests []RequestReport `json:"requests"`
	// Conflict is a smallest set of requests and constraints that cannot be met together. It is empty when the node
	// allocates, when one request alone is to blame, when the set has more than three members, and when it takes too many searches.
	Conflict []string `json:"conflict,omitempty"`
}

// PoolReport is a pool that offers nothing.
type PoolReport struct {
	// Pool is "driver/pool".
	Pool string `json:"pool"`
	// Reason says what is wrong with the pool.
	Reason string `json:"reason"`
}

// RequestReport says how many devices one request alone can have.
type RequestReport struct {
	// Claim is "namespace/name", Request "request" or "request/subrequest".
	Claim   string `json:"claim"`
	Request string `json:"request"`
	// Class is the device class, "" when the request names none.
	Class string `json:"class,omitempty"`
	// Wants is the number of devices that the request needs: for allocationMode All the number that its selectors match, at
	// least 1.
	Wants int `json:"wants"`
	// Devices is the number of devices in usable pools.
	Devices int `json:"devices"`
	// Left is the number of devices in usable pools that pass every test.
	Left int `json:"left"`
	// Refused has the tests that some device fails, in the order of the search. A device counts for each test that it fails.
	Refused []Refusal `json:"refused,omitempty"`
}

// Refusal is a test of a request that some devices fail.
type Refusal struct {
	// Test says what is tested, such as `selector of class gpu: device.driver == "gpu.example.com"` or
	// "has enough of the counter memory".
	Test string `json:"test"`
	// Devices is the number of devices that fail the test, and Names are at most three of them in the order of their pools.
	Devices int      `json:"devices"`
	Names   []string `json:"names,omitempty"`
	// Decisive marks a smallest set of tests which leave fewer devices than the request wants. None is marked when enough
	// devices are left.
	Decisive bool `json:"decisive,omitempty"`
	// Claims are the other claims because of which devices fail the test, as "namespace/name" in order: they hold the devices, a
	// part of the capacity, or counters. " in flight" follows the name of a claim whose allocation the API server does not have
	// yet. It is empty for every other test.
	Claims []string `json:"claims,omitempty"`
	// Mismatches are what a selector compares and what the devices have instead, at most three. It has only comparisons of an
	// attribute, a capacity or the driver with a literal: about everything else nothing is said.
	Mismatches []Mismatch `json:"mismatches,omitempty"`
}

// Short reports whether the request has fewer devices than it wants.
func (r RequestReport) Short() bool { return r.Left < r.Wants }

// Explain looks at a node once more, request by request. It costs all tests of all devices for each request, and up to a
// few hundred searches for Conflict, which end with the steps of one search.
func (s *Search) Explain(node *v1.Node) Explanation {
	e, blames := s.explain(node)
	s.name(&e, blames, s.allocator.view(node))
	return e
}

// explain is Explain without the names of other claims, which name adds.
func (s *Search) explain(node *v1.Node) (e Explanation, blames []blame) {
	ok, err := s.solve(node)
	if e.Allocates = ok; err != nil {
		e.Error = err.Error()
	}
	v := s.allocator.view(node)
	if v.err != nil {
		return e, nil
	}
	for _, p := range v.pools {
		if p.state != complete {
			e.Pools = append(e.Pools, PoolReport{p.key.String(), p.reason})
		}
	}
	s.choices = s.choices[:0] // the tests look at each request alone
	clear(s.spent)
	short := false
	for k := range s.claims {
		c := &s.claims[k]
		for j := range c.asks {
			best := false
			for i := range c.asks[j].alternatives {
				r, tests := s.explainRequest(c, &c.asks[j].alternatives[i], v)
				for k := range tests {
					tests[k].request = len(e.Requests)
				}
				best, blames = best || !r.Short(), append(blames, tests...)
				e.Requests = append(e.Requests, r)
			}
			short = short || !best
		}
	}
	if !ok && !short && err == nil {
		e.Conflict = s.conflict(node)
	}
	return e, blames
}

// atom is a request or a constraint of a claim; the other one is nil.
type atom struct {
	claim      int
	request    *resourcev1.DeviceRequest
	constraint *resourcev1.DeviceConstraint
	text       string
}

// The steps of all searches of conflict together, and what each of them costs beside the devices that it tries.
const (
	conflictSteps = defaultSteps
	conflictCost  = 32
)

// conflict returns a smallest set of at most three requests and constraints that the node cannot meet together; nil
// when it has not found one within conflictSteps.
func (s *Search) conflict(node *v1.Node) []string {
	var atoms []atom
	for k := range s.claims {
		c := s.claims[k].object
		for j := range c.Spec.Devices.Requests {
			r := &c.Spec.Devices.Requests[j]
			atoms = append(atoms, atom{claim: k, request: r, text: "request " + r.Name + " of claim " + s.claims[k].name})
		}
		for j, x := range s.claims[k].constraints {
			kind := "matchAttribute "
			if x.distinct {
				kind = "distinctAttribute "
			}
			atoms = append(atoms, atom{claim: k, constraint: &c.Spec.Devices.Constraints[j], text: kind + x.attribute + " of claim " + s.claims[k].name})
		}
	}
	left := conflictSteps
	for n := 1; n <= min(3, len(atoms)); n++ {
		if set := s.impossible(node, atoms, nil, n, &left); set != nil {
			out := make([]string, n)
			for k := range set {
				out[k] = set[k].text
			}
			return out
		}
	}
	return nil
}

// impossible looks for n more atoms which, with chosen, leave no allocation, while steps are left.
func (s *Search) impossible(node *v1.Node, atoms, chosen []atom, n int, left *int) []atom {
	if n == 0 {
		if *left <= 0 {
			return nil
		}
		search := s.allocator.Compile(s.reduced(chosen)...)
		_, ok, err := search.Allocate(node)
		if *left -= search.bound.steps + conflictCost; ok || err != nil {
			return nil
		}
		return slices.Clone(chosen)
	}
	for k := range atoms {
		if *left <= 0 {
			break
		}
		if set := s.impossible(node, atoms[k+1:], append(chosen, atoms[k]), n-1, left); set != nil {
			return set
		}
	}
	return nil
}

// reduced returns the claims with the chosen requests and constraints only. A constraint binds those of the chosen requests that it
// names; a constraint on all requests of its claim binds all chosen requests. A claim without chosen requests asks for nothing.
func (s *Search) reduced(chosen []atom) []*resourcev1.ResourceClaim {
	var out []*resourcev1.ResourceClaim
	for k := range s.claims {
		c := *s.claims[k].object
		c.Spec.Devices = resourcev1.DeviceClaim{}
		for _, a := range chosen {
			switch {
			case a.claim != k:
			case a.request != nil:
				c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, *a.request)
			default:
				c.Spec.Devices.Constraints = append(c.Spec.Devices.Constraints, *a.constraint)
			}
		}
		out = append(out, &c)
	}
	return out
}

// Lines returns the explanation as sentences, the decisive facts first.
func (e Explanation) Lines() []string {
	var out []string
	switch {
	case e.Allocates:
		out = append(out, "the node has devices for all claims")
	case e.Error != "":
		out = append(out, e.Error)
	}
	if len(e.Conflict) > 0 {
		out = append(out, "cannot be met together: "+strings.Join(e.Conflict, ", "))
	}
	for _, r := range e.Requests {
		if e.Allocates || !r.Short() {
			continue
		}
		line := fmt.Sprintf("claim %s, request %s: wants %d, %d of %d devices left", r.Claim, r.Request, r.Wants, r.Left, r.Devices)
		for _, x := range r.Refused {
			if x.Decisive {
				line += fmt.Sprintf("; %d fail the test: %s", x.Devices, x.Test) + holderText(x.Claims)
				for _, m := range x.Mismatches {
					line += fmt.Sprintf(" (%s)", m.text())
				}
			}
		}
		out = append(out, line)
	}
	if len(out) == 0 {
		out = append(out, "each request alone has enough devices, all requests together have not")
	}
	for _, p := range e.Pools {
		out = append(out, "pool "+p.Pool+" offers nothing: "+p.Reason)
	}
	return out
}

// Capacity returns how many times in a row the node can serve the claims, up to limit: each time with new claims like these
// and the devices of the earlier times taken. The ledger is afterwards as it was before. A limit below 1 gives 0. Claims that take
// nothing, such as those with admin access, reach every limit. The error is that of Allocate. Time and memory: O(n).
func (s *Search) Capacity(node *v1.Node, limit int) (n int, err error) {
	var taken []resourcev1.AllocationResult
	defer func() {
		for k := range taken {
			s.ledger.Remove(nil, &taken[k])
		}
		clear(s.left)
	}()
	for n < limit {
		clear(s.left)
		results, ok, err := s.Allocate(node)
		if err != nil || !ok {
			return n, err
		}
		if len(results) == 0 {
			return limit, nil // without claims nothing is taken
		}
		for k := range results {
			s.ledger.Add(nil, &results[k])
		}
		taken = append(taken, results...)
		n++
	}
	return n, nil
}
