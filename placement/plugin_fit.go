package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
)

// FitOptions are the arguments of NodeResourcesFit. The zero value is v1.37's: LeastAllocated over cpu and memory.
type FitOptions struct {
	// Fit are the filter's arguments.
	Fit filter.FitOptions
	// Args are the score's arguments. Their lists of ignored resources have no effect here: Fit has the lists of the filter.
	Args score.FitArgs
}

// newNodeResourcesFit returns the filter and score of that name.
func newNodeResourcesFit(o FitOptions, d tracker.Options) *Plugin {
	var scored []score.Resource
	if o.Args.ScoringStrategy != nil {
		scored = o.Args.ScoringStrategy.Resources
	}
	return overDevices(scoredSince(o.Fit.Release, scored), d, func(devices *scoredDevices) *Plugin { return fitOver(o, devices) })
}

func fitOver(o FitOptions, devices *scoredDevices) *Plugin {
	return &Plugin{
		Name: plugins.NodeResourcesFit, Args: o,
		Keep: KeepByNodeAndPods, AppendKey: podkey.Requests, KeyName: "requests",
		Hint: func(known affinity.Namespaces) queue.Hint { return fitHint(o.Fit, known) },
		Filter: func(pod *v1.Pod, c Cluster) PreFiltered {
			e := filter.CompileFit(pod, withClasses(o.Fit, deviceObjectsOf(c)))
			return PreFiltered{Predicate: fitPredicate{e.On(c)}}
		},
		PlacementScore: func(c Cluster, members []*v1.Pod) func(slots []int) int64 { return utilization(o.Args, c, members) },
		Score: func(pod *v1.Pod, c Cluster) (Scorer, error) {
			e, err := score.CompileAllocation(pod, o.Args)
			if err != nil {
				return nil, err
			}
			rows, alone := devices.rows(pod, c)
			state := e.On(rows)
			s := allocation{AllocationState: state, rows: state.(engine.Allocation), alone: alone}
			if order, ok := orderOf(o.Args); ok {
				return orderedAllocation{s, order}, nil
			}
			return s, nil
		},
	}
}

// withClasses returns the options with the extended resources that device classes provide.
func withClasses(o filter.FitOptions, objects tracker.Objects) filter.FitOptions {
	for name := range objects.ExtendedResources() {
		o.DeviceResources = append(slices.Clip(o.DeviceResources), string(name))
	}
	return o
}

// fitHint returns the hint with the device classes at the time of an event.
func fitHint(o filter.FitOptions, known affinity.Namespaces) queue.Hint {
	objects, fitRule := deviceObjectsOf(known), filter.CompileFit(&v1.Pod{}, o)
	return func(pod *v1.Pod, old, new any) (bool, error) {
		return engine.HintOf(fitRule, withClasses(o, objects))(pod, deviceClass(old), deviceClass(new))
	}
}

// deviceClass returns what the hint reads of a DeviceClass, and any other object as it is.
func deviceClass(object any) any {
	c, _ := object.(*resourcev1.DeviceClass)
	if c == nil {
		return object
	}
	out := &engine.DeviceClass{Name: c.Name}
	if c.Spec.ExtendedResourceName != nil {
		out.ExtendedResourceName = v1.ResourceName(*c.Spec.ExtendedResourceName)
	}
	return out
}

type fitPredicate struct {
	filter.FitState
}

// RowsAlone says that the verdict follows from the rows.
func (fitPredicate) RowsAlone() bool { return true }

// Monotone says that pods on a node leave no more room than there was.
func (fitPredicate) Monotone() {}

// NewTrial returns a what-if copy.
func (s fitPredicate) NewTrial() filter.Trial { return fitTrial{s.FitState.NewTrial()} }

// Amounts returns the number of resources that the pod asks for.
func (s fitPredicate) Amounts() int { return s.FitState.(numbered).Amounts() }

// Missing returns what has to leave slot i so that the pod fits.
func (s fitPredicate) Missing(i int, amounts []int64) (pods int64, columns []int, ok bool) {
	return s.FitState.(numbered).Missing(i, amounts)
}

type fitTrial struct{ filter.Trial }

// CounterOf returns what a pod does to the trial.
func (t fitTrial) CounterOf(pod *v1.Pod, known *runningPod) hooks.Counter {
	x, ok := t.Trial.(interface {
		Apply(requests resources.Vector, i int, n int32)
		Move(pod *v1.Pod) func(i int, n int32)
	})
	if !ok {
		return nil
	}
	if known == nil {
		return x.Move(pod)
	}
	requests := known.requests
	return func(i int, n int32) { x.Apply(requests, i, n) }
}

// WithRequested returns the predicate over a cluster whose nodes have other requests.
func (s fitPredicate) WithRequested(c Cluster) filter.Predicate {
	return fitPredicate{s.FitState.(interface {
		Over(rows filter.Rows) filter.FitState
	}).Over(c)}
}

type allocation struct {
	score.AllocationState
	rows engine.Allocation // the state
	inRange
	alone bool
}

// RowsAlone reports whether the score reads no devices.
func (s allocation) RowsAlone() bool { return s.alone }

// RawRow is Raw with the rows of the node given.
func (s allocation) RawRow(i int, allocatable, _ resources.Vector, cpuMilli, memoryBytes int64) int64 {
	return s.rows.RawOf(i, allocatable, cpuMilli, memoryBytes)
}

// CheckRows answers for many nodes at once: a node with more allocatable and less requested gets no verdict bit that another
// node does not get.
func (s fitPredicate) CheckRows(allocatable, requested [2]resources.Vector) (v resources.Verdict, same bool) {
	v = s.CheckRow(-1, allocatable[0], requested[1])
	return v, v == s.CheckRow(-1, allocatable[1], requested[0])
}

// orderedAllocation is an allocation whose score only falls, or only rises, with what is in use.
type orderedAllocation struct {
	allocation
	best int // place of the use with the highest score among the least and the most
}

// orderOf reports whether the score looks at nothing but cpu and memory and falls or rises with what is in use.
func orderOf(args score.FitArgs) (best int, ok bool) {
	s := args.ScoringStrategy
	if s == nil {
		return 0, true
	}
	for _, r := range s.Resources {
		if r.Name != string(v1.ResourceCPU) && r.Name != string(v1.ResourceMemory) {
			return 0, false
		}
	}
	if s.Type == score.MostAllocated {
		return 1, true
	}
	return 0, s.Type == score.LeastAllocated
}

// MaxRawRow returns the score of the row with the best of each number.
func (s orderedAllocation) MaxRawRow(allocatable, _ [2]resources.Vector, cpuMilli, memoryBytes [2]int64) int64 {
	return s.rows.RawOf(-1, allocatable[1-s.best], cpuMilli[s.best], memoryBytes[s.best])
}

// Numbers names the resources with what is asked for, what is free and what there is in all.
func (s fitPredicate) Numbers(i int) []string {
	var out []string
	for _, x := range s.Explain(i) {
		out = append(out, shortage(x))
	}
	return out
}

// shortage writes "cpu: asks for 2, 500m of 1 are free", without the cost of package fmt.
func shortage(x filter.Insufficient) string {
	name, human := string(x.Resource), resources.Human
	switch {
	case x.Resource == v1.ResourcePods:
		return "pods: " + human(name, x.Used) + " are there, " + human(name, x.Capacity) + " may be"
	case x.Capacity == 0 && x.Used == 0:
		return name + ": asks for " + human(name, x.Requested) + ", the node offers none"
	}
	free := max(x.Capacity-x.Used, 0)
	if human(name, free) == human(name, x.Requested) {
		human = resources.Exact
	}
	return name + ": asks for " + human(name, x.Requested) + ", " + human(name, free) + " of " + human(name, x.Capacity) + " are free"
}
