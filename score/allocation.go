package score

import (
	"math"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/resources"
)

// Allocation is the score of NodeResourcesFit compiled for one pod. It is immutable and safe for concurrent use.
type Allocation struct{ allocation }

// allocation is what evaluator and state have in common.
type allocation struct {
	kind   kind
	limit  int64 // the highest score
	old    Arithmetic
	cols   []column
	shape  shape
	simple bool // v1.36's arithmetic, cpu and memory at most, no shape
}

type kind uint8

const (
	least kind = iota
	most
	shaped
)

// CompileAllocation prepares the score of NodeResourcesFit for a pod. args are defaulted (DefaultFitArgs) and checked
// (ValidateFitArgs); the error is the list of what is wrong, and then the evaluator is nil.
//
// The pod counts with its containers' requests and its overhead, 100m and 200Mi standing in for cpu and memory that a
// container does not name. As in v1.36 resources at pod level are not looked at. nil is an empty pod.
// Rule: documentation, "Resource Bin Packing"; configuration API, NodeResourcesFitArgs.
func CompileAllocation(pod *v1.Pod, args FitArgs, o Options) (*Allocation, error) {
	args = DefaultFitArgs(args)
	if errs := ValidateFitArgs(args, nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	s := args.ScoringStrategy
	a := allocation{old: o.Arithmetic, limit: o.max(), cols: columns(s.Resources, fitRequest(pod), true, o.Arithmetic == ZeroToTen)}
	switch s.Type {
	case MostAllocated:
		a.kind = most
	case RequestedToCapacityRatio:
		a.kind = shaped
		a.shape = compileShape(s.RequestedToCapacityRatio.Shape, o.max()/10)
	}
	a.simple = a.kind != shaped && o.Arithmetic == Hundred
	for _, c := range a.cols {
		a.simple = a.simple && c.nonZero
	}
	return &Allocation{a}, nil
}

// Skip reports whether the plugin leaves the pod out: never.
func (a *Allocation) Skip() bool { return false }

// Count resolves the resources against the columns of a cluster. O(resources): the rows are read by Raw, so that the
// state stays right while nodes and pods come and go.
func (a *Allocation) Count(rows Rows) *AllocationState {
	return &AllocationState{a.allocation, newView(rows, a.cols)}
}

// AllocationState scores the nodes of one cluster. Its answer for a slot depends on that slot's rows only. Safe for
// concurrent use while the rows are not written to.
type AllocationState struct {
	allocation
	view view
}

// Dynamic reports whether the score of a slot can change by events on others: never.
func (s *AllocationState) Dynamic() bool { return false }

// AppendSignature appends the raw score itself: all of it belongs to the slot.
func (s *AllocationState) AppendSignature(dst []int32, i int) []int32 {
	return append(dst, int32(s.Raw(i)))
}

// Raw returns the score of slot i, 0 to 100 (0 to 10 under ZeroToTen); it needs no normalization. A resource of which the
// node has nothing takes no part; a node with none of them, and a free slot, scores 0. O(resources), no allocation.
func (s *AllocationState) Raw(i int) int64 {
	if s.simple {
		return s.basic(i)
	}
	n := s.view.node(i)
	var sum, weights int64
	for k := range s.view.cols {
		c := &s.view.cols[k]
		score, ok := s.resource(&n, c)
		if !ok || s.kind == shaped && score <= 0 {
			continue
		}
		sum += score * c.weight
		weights += c.weight
	}
	switch {
	case weights == 0:
		return 0
	case s.kind == shaped:
		return int64(math.Round(float64(sum) / float64(weights)))
	}
	return sum / weights
}

// basic is Raw for cpu and memory in v1.36's arithmetic: what nearly every profile asks for, without the branches of the
// general case.
func (s *AllocationState) basic(i int) int64 {
	cpuMilli, memoryBytes := s.view.rows.NonZero(i)
	return s.basicOf(s.view.rows.Allocatable(i), cpuMilli, memoryBytes)
}

// RawOf is Raw(i) for a caller who has the rows of slot i at hand.
func (s *AllocationState) RawOf(i int, alloc resources.Vector, cpuMilli, memoryBytes int64) int64 {
	if s.simple {
		return s.basicOf(alloc, cpuMilli, memoryBytes)
	}
	return s.Raw(i)
}

func (s *AllocationState) basicOf(alloc resources.Vector, cpuMilli, memoryBytes int64) int64 {
	used := [2]int64{cpuMilli, memoryBytes}
	var sum, weights int64
	for k := range s.view.cols {
		c := &s.view.cols[k]
		a := alloc.At(c.at & 1) // columns 0 and 1 are all that is here
		if a == 0 {
			continue
		}
		req := resources.Add(used[c.at&1], c.request)
		weights += c.weight
		switch {
		case s.kind == most:
			sum += c.weight * share(min(req, a), MaxScore, a)
		case req <= a:
			sum += c.weight * share(a-req, MaxScore, a)
		}
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

// resource returns the score of one resource, false when it takes no part.
func (s *AllocationState) resource(n *node, c *column) (int64, bool) {
	alloc, used := s.view.amounts(n, c)
	if alloc == 0 {
		return s.absent()
	}
	req := resources.Add(used, c.request)
	switch s.kind {
	case least:
		if req > alloc {
			return 0, true
		}
		return share(alloc-req, s.limit, alloc), true
	case most:
		if req > alloc && s.old == ZeroToTen {
			return 0, true
		}
		return share(min(req, alloc), s.limit, alloc), true
	}
	if req > alloc {
		return s.shape.at(100), true
	}
	if s.old == Hundred {
		return s.shape.at(share(req, 100, alloc)), true
	}
	return s.shape.at(100 - share(alloc-req, 100, alloc)), true
}

// absent is the score of a resource that the node does not have: none, or under ZeroToTen that of a full one.
func (s *AllocationState) absent() (int64, bool) {
	if s.old != ZeroToTen {
		return 0, false
	}
	if s.kind == shaped {
		return s.shape.at(100), true
	}
	return 0, true
}

// ResourceScore is the part of one resource in the score of a node.
type ResourceScore struct {
	Name        string
	Weight      int64
	Allocatable int64 // cpu in thousandths, otherwise units
	Requested   int64 // of the node's pods and the pod
	Score       int64
	Counted     bool // false: it takes no part in the average
}

// Explain returns the resources behind Raw(i) in configured order. Resources that take no part in the score of any node
// are missing: unknown names, and scalars that the pod does not ask for.
func (s *AllocationState) Explain(i int) []ResourceScore {
	n := s.view.node(i)
	parts := make([]ResourceScore, len(s.view.cols))
	for k := range s.view.cols {
		c := &s.view.cols[k]
		alloc, used := s.view.amounts(&n, c)
		score, ok := s.resource(&n, c)
		ok = ok && (score > 0 || s.kind != shaped)
		parts[k] = ResourceScore{string(c.name), c.weight, alloc, resources.Add(used, c.request), score, ok}
	}
	return parts
}

// Interpolate returns what the shape makes of a utilization in percent, on the scale 0 to 100 (0 to 10 under ZeroToTen).
// The error is that of ValidateShape.
func Interpolate(points []Point, utilization int64, o Options) (int64, error) {
	if errs := ValidateShape(points, field.NewPath("shape")); len(errs) > 0 {
		return 0, errs.ToAggregate()
	}
	return compileShape(points, o.max()/10).at(utilization), nil
}
