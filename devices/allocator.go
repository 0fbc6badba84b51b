package devices

import (
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// Allocator chooses devices for the claims of pods, over one inventory and one ledger, as the allocator of v1.36.3 with
// default feature gates does. It keeps what selectors answered. It belongs to one goroutine; several allocators may share an
// inventory and a ledger that nobody changes.
type Allocator struct {
	inventory *Inventory
	ledger    *Ledger
	classes   func(name string) *resourcev1.DeviceClass
	compiler  SelectorCompiler
	options   Options
	programs  map[string]*program
}

// NewAllocator returns an allocator. classes returns a device class by name, nil when there is none. compiler may be nil:
// a selector is then an error that says so.
func NewAllocator(ledger *Ledger, classes func(name string) *resourcev1.DeviceClass, compiler SelectorCompiler, options Options) *Allocator {
	return &Allocator{inventory: ledger.inventory, ledger: ledger, classes: classes, compiler: compiler, options: options, programs: map[string]*program{}}
}

func (a *Allocator) program(text string) *program {
	p := a.programs[text]
	if p == nil {
		p = &program{text: text, answers: map[int32]bool{}}
		a.programs[text] = p
	}
	return p
}

// Compile prepares the unallocated claims of one pod, in the pod's order, for questions about many nodes. The result sees
// the ledger as it is now; compile again when the ledger has changed.
func (a *Allocator) Compile(claims ...*resourcev1.ResourceClaim) *Search {
	s := &Search{allocator: a, ledger: a.ledger, options: a.options, left: map[poolKey]map[counterID]counter{}}
	for _, c := range claims {
		s.claims = append(s.claims, a.compileClaim(c, &s.requests))
	}
	return s
}

// Allocate returns an allocation for each claim, in their order, on one node. ok is false without an error when the node has
// no devices for all of them. ErrInvalidPools and ErrSteps are about this node, a FatalError ends the attempt on every node.
//
// The first solution in the order of the pools, slices and devices wins, without any preference. The cost is proportional to
// the devices that the node sees where selectors and constraints leave no doubt, and exponential in the number of requests
// in the worst case; Options.Steps bounds it.
func (s *Search) Allocate(node *v1.Node) (results []resourcev1.AllocationResult, ok bool, err error) {
	switch out, err := s.run(node); {
	case err != nil:
		return nil, false, err
	case out == solved:
		results, err := s.results()
		return results, err == nil, err
	}
	for _, p := range s.pools {
		if p.state == invalid {
			return nil, false, ErrInvalidPools
		}
	}
	return nil, false, nil
}
