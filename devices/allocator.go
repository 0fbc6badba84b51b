package devices

import (
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// Allocator chooses devices for the claims of pods as the allocator of v1.37.2 with default feature gates does. It uses one
// inventory and one ledger, and it keeps the answers of selectors. An Allocator belongs to one goroutine. Several
// allocators may share an inventory and a ledger while nobody changes the ledger.
type Allocator struct {
	inventory *Inventory
	ledger    *Ledger
	classes   func(name string) *resourcev1.DeviceClass
	compiler  SelectorCompiler
	options   Options
	programs  map[string]*program
	views     map[string]*view // by node name
	slots     []*view          // by slot: the view of the node that was asked about last
	seenBy    [][]int32        // by group.at: slots whose node sees or saw the pool
	shapes    map[string]*shape
	made      int              // of Kept, so far
	numbers   map[string]int32 // of attribute values, counter sets and classes in signatures
	classIDs  map[*resourcev1.DeviceClass]int32
	checked   bool
	foreign   []*pool // what troubled returns
	patience  int     // steps of a search before it looks ahead
}

// NewAllocator returns an allocator over a ledger and its inventory. classes returns the device class of a name, nil when
// the class does not exist. The ledger and classes must not be nil. With a nil compiler every selector is an error.
func NewAllocator(ledger *Ledger, classes func(name string) *resourcev1.DeviceClass, compiler SelectorCompiler, options Options) *Allocator {
	return &Allocator{inventory: ledger.inventory, ledger: ledger, classes: classes, compiler: compiler, options: options.released(), programs: map[string]*program{},
		patience: patience, views: map[string]*view{}, seenBy: make([][]int32, len(ledger.inventory.pools)), shapes: map[string]*shape{}, numbers: map[string]int32{}, classIDs: map[*resourcev1.DeviceClass]int32{}}
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
// the ledger as it is now. Call Compile again when the ledger has changed. The claims must not be nil. Without claims every
// node serves.
func (a *Allocator) Compile(claims ...*resourcev1.ResourceClaim) *Search {
	s := &Search{allocator: a, ledger: a.ledger, options: a.options, left: map[poolKey]map[counterID]counter{}}
	for _, c := range claims {
		x := a.compileClaim(c, &s.requests)
		s.claims = append(s.claims, x)
		s.constraints, s.chosen = append(s.constraints, make([]constraint, len(x.constraints))), append(s.chosen, make([]int, len(x.asks)))
	}
	s.counts, s.found = make([]int, len(claims)), make([][]candidate, s.requests)
	return s
}

// Allocate returns one allocation for each claim, in the order of the claims, on one node. ok is false and the error nil
// when the node does not have devices for all claims. [ErrInvalidPools], [ErrSteps] and [ErrStopped] concern this node only. [ErrFatal]
// ends the attempt on every node. Allocate takes the first solution in the order of pools, slices and devices, and prefers
// no device (rule U7.2). The cost is proportional to the number of devices that the node sees when the first choices serve.
// In the worst case the cost is exponential in the number of requests; [Options.Steps] and [Options.Stop] bound it.
func (s *Search) Allocate(node *v1.Node) (results []resourcev1.AllocationResult, ok bool, err error) {
	if ok, err := s.solve(node); !ok || err != nil {
		return nil, false, err
	}
	results, err = s.results()
	return results, err == nil, err
}

// solve searches on a node. The choices of the search are the solution when ok is true.
func (s *Search) solve(node *v1.Node) (ok bool, err error) {
	out, err := s.run(node)
	if err != nil || out == solved {
		return err == nil, err
	}
	for _, p := range s.pools {
		if p.state == invalid {
			return false, ErrInvalidPools
		}
	}
	return false, nil
}
