package score

import (
	"math"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Allocation is the score of NodeResourcesFit compiled for one pod. It is immutable and safe for concurrent use.
type Allocation struct {
	kind    StrategyType
	options Options
	cols    []column
	shape   shape
}

// CompileAllocation prepares the score of NodeResourcesFit for a pod. args are defaulted (DefaultFitArgs) and checked
// (ValidateFitArgs); the error is the list of what is wrong, and then the evaluator is nil.
//
// The pod counts with its containers' requests and its overhead, 100m and 200Mi standing in for cpu and memory that a
// container does not name. As in v1.36 resources at pod level are not looked at. nil is an empty pod.
func CompileAllocation(pod *v1.Pod, args FitArgs, o Options) (*Allocation, error) {
	args = DefaultFitArgs(args)
	if errs := ValidateFitArgs(args, nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	s := args.ScoringStrategy
	a := &Allocation{kind: s.Type, options: o, cols: columns(s.Resources, fitRequest(pod), true, o.Arithmetic == ZeroToTen)}
	if s.Type == RequestedToCapacityRatio {
		a.shape = compileShape(s.RequestedToCapacityRatio.Shape, o.max()/10)
	}
	return a, nil
}

// Skip reports whether the plugin leaves the pod out: never.
func (a *Allocation) Skip() bool { return false }

// Count resolves the resources against the columns of a cluster. O(resources): the rows are read by Raw, so that the
// state stays right while nodes and pods come and go.
func (a *Allocation) Count(rows Rows) *AllocationState {
	return &AllocationState{*a, newView(rows, a.cols)}
}

// AllocationState scores the nodes of one cluster. Its answer for a slot depends on that slot's rows only. Safe for
// concurrent use while the rows are not written to.
type AllocationState struct {
	Allocation
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
	n := s.view.node(i)
	var sum, weights int64
	for k := range s.view.cols {
		c := &s.view.cols[k]
		score, ok := s.resource(&n, c)
		if !ok || s.kind == RequestedToCapacityRatio && score <= 0 {
			continue
		}
		sum += score * c.weight
		weights += c.weight
	}
	switch {
	case weights == 0:
		return 0
	case s.kind == RequestedToCapacityRatio:
		return int64(math.Round(float64(sum) / float64(weights)))
	}
	return sum / weights
}

// resource returns the score of one resource, false when it takes no part.
func (s *AllocationState) resource(n *node, c *column) (int64, bool) {
	alloc, used := s.view.amounts(n, c)
	if alloc == 0 {
		return s.absent()
	}
	req := plus(used, c.request)
	limit := s.options.max()
	switch s.kind {
	case LeastAllocated:
		if req > alloc {
			return 0, true
		}
		return share(alloc-req, limit, alloc), true
	case MostAllocated:
		if req > alloc && s.options.Arithmetic == ZeroToTen {
			return 0, true
		}
		return share(min(req, alloc), limit, alloc), true
	}
	if req > alloc {
		return s.shape.at(100), true
	}
	if s.options.Arithmetic == Hundred {
		return s.shape.at(share(req, 100, alloc)), true
	}
	return s.shape.at(100 - share(alloc-req, 100, alloc)), true
}

// absent is the score of a resource that the node does not have: none, or under ZeroToTen that of a full one.
func (s *AllocationState) absent() (int64, bool) {
	if s.options.Arithmetic != ZeroToTen {
		return 0, false
	}
	if s.kind == RequestedToCapacityRatio {
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
		ok = ok && (score > 0 || s.kind != RequestedToCapacityRatio)
		parts[k] = ResourceScore{string(c.name), c.weight, alloc, plus(used, c.request), score, ok}
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
