package score

import (
	"math"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// Evaluator is a score compiled for one pod. It is immutable and safe for concurrent use. C is what the score reads of a cluster, and S the
// state that On returns.
type Evaluator[C, S any] interface {
	// Skip reports whether the plugin does not score the pod.
	Skip() bool
	// On returns the scores over a cluster. A nil cluster panics.
	On(cluster C) S
}

type allocationEvaluator struct {
	allocation
	room usual // of cols
}

// allocation is the common part of evaluator and state.
type allocation struct {
	kind   strategyKind
	cols   []column
	shape  shape
	simple bool // only cpu and memory, without a shape
}

type strategyKind uint8

const (
	least strategyKind = iota
	most
	shaped
)

// CompileAllocation compiles the score of NodeResourcesFit for a pod. Missing fields of args get their defaults. The error
// lists what is wrong with args, in v1.37's words; the evaluator is nil then.
//
// The pod counts with the requests of its containers and its overhead. A container without a cpu or memory request counts
// 100m or 200Mi. v1.37 does not look at requests at pod level, and neither does this score. A nil pod is an empty pod.
// Rule: documentation, "Resource Bin Packing"; configuration API, NodeResourcesFitArgs.
//
// Skip is always false. On is O(resources), and its state reads the rows of the cluster: the state stays right when nodes and pods come
// and go.
func CompileAllocation(pod *v1.Pod, args FitArgs) (Evaluator[Rows, AllocationState], error) {
	s := &defaultStrategy
	if args.ScoringStrategy != nil || len(args.IgnoredResources)+len(args.IgnoredResourceGroups) > 0 {
		args = defaultFitArgs(args)
		if errs := ValidateFitArgs(args, nil); len(errs) > 0 {
			return nil, errs.ToAggregate()
		}
		s = args.ScoringStrategy
	}
	a := &allocationEvaluator{}
	a.cols = appendColumns(a.room[:0], s.Resources, true)
	fitRequests(pod, a.cols)
	a.cols = requested(a.cols)
	switch s.Type {
	case MostAllocated:
		a.kind = most
	case RequestedToCapacityRatio:
		a.kind = shaped
		a.shape = compileShape(s.RequestedToCapacityRatio.Shape)
	}
	a.simple = a.kind != shaped
	for _, c := range a.cols {
		a.simple = a.simple && c.nonZero
	}
	return a, nil
}

func (a *allocationEvaluator) Skip() bool { return false }

func (a *allocationEvaluator) On(rows Rows) AllocationState {
	s := &allocationState{allocation: a.allocation}
	s.view.init(rows, a.cols)
	return s
}

// AllocationState scores the nodes of one cluster. The score of a slot depends only on the rows of that slot. It is safe
// for concurrent use while nobody writes to the rows.
type AllocationState interface {
	// Name returns "NodeResourcesFit".
	Name() string
	// Raw returns the score of slot i, 0 to 100 (rules C3.1 to C5.3). The score needs no normalization. A resource that the
	// node does not have is left out (rule C2.5). A node without any of the resources scores 0, and so does a free slot.
	// O(resources), no allocation.
	Raw(i int) int64
	// Explain returns the resources behind Raw(i) in configured order. Resources that have no part in the score of any node are
	// missing: unknown names, and scalar resources that the pod does not request.
	Explain(i int) []ResourceScore
}

type allocationState struct {
	allocation
	view view
}

func (s *allocationState) Name() string { return "NodeResourcesFit" }

func (s *allocationState) Raw(i int) int64 {
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

// basic is Raw for cpu and memory without a shape, the case of nearly every profile.
func (s *allocationState) basic(i int) int64 {
	cpuMilli, memoryBytes := s.view.rows.NonZero(i)
	return s.basicOf(s.view.rows.Allocatable(i), cpuMilli, memoryBytes)
}

// RawOf is Raw(i) for a caller that has already read the rows of slot i.
func (s *allocationState) RawOf(i int, alloc resources.Vector, cpuMilli, memoryBytes int64) int64 {
	if s.simple {
		return s.basicOf(alloc, cpuMilli, memoryBytes)
	}
	return s.Raw(i)
}

func (s *allocationState) basicOf(alloc resources.Vector, cpuMilli, memoryBytes int64) int64 {
	used := [2]int64{cpuMilli, memoryBytes}
	var sum, weights int64
	for k := range s.view.cols {
		c := &s.view.cols[k]
		a := alloc.At(c.at & 1) // there are only columns 0 and 1
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

// resource returns the score of one resource; ok is false when the resource is left out.
func (s *allocationState) resource(n *node, c *column) (int64, bool) {
	alloc, used := s.view.amounts(n, c)
	if alloc == 0 {
		return 0, false
	}
	req := resources.Add(used, c.request)
	switch {
	case s.kind == least && req > alloc:
		return 0, true
	case s.kind == least:
		return share(alloc-req, MaxScore, alloc), true
	case s.kind == most:
		return share(min(req, alloc), MaxScore, alloc), true
	}
	return s.shape.at(share(min(req, alloc), 100, alloc)), true
}

// ResourceScore is one resource's part in the score of a node.
type ResourceScore struct {
	Name        string
	Weight      int64
	Allocatable int64 // cpu in milli-CPU, other resources in units
	Requested   int64 // by the node's pods and the pod
	Score       int64
	Counted     bool // false: the resource is left out of the average
}

func (s *allocationState) Explain(i int) []ResourceScore {
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
