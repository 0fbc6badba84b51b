package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/spread"
)

// This file has the plugins whose answers depend on running pods.

// NodePorts is the filter of that name. The zero value is v1.36's.
type NodePorts struct{}

// Name returns "NodePorts".
func (NodePorts) Name() string { return "NodePorts" }

// Filter prepares the predicate; a pod without host ports skips it.
func (NodePorts) Filter(pod *v1.Pod, c Cluster) Filtering {
	e := filter.CompilePorts(pod)
	if e.Skip() {
		return Filtering{Code: filter.Skip}
	}
	return Filtering{Predicate: ports{e.On(c), e}}
}

type ports struct {
	*filter.PortsState
	compiled *filter.Ports
}

// NodeResourcesFit is the filter and score of that name. The zero value is v1.36's: LeastAllocated over cpu and memory.
type NodeResourcesFit struct {
	// Fit are the filter's arguments.
	Fit filter.FitOptions
	// Args are the score's arguments; its lists of ignored resources have no effect here, the filter's are in Fit.
	Args score.FitArgs
}

// Name returns "NodeResourcesFit".
func (NodeResourcesFit) Name() string { return "NodeResourcesFit" }

// Filter prepares the predicate.
func (p NodeResourcesFit) Filter(pod *v1.Pod, c Cluster) Filtering {
	return Filtering{Predicate: fit{filter.CompileFit(pod, p.Fit).On(c)}}
}

type fit struct{ *filter.FitState }

// Score prepares the strategy.
func (p NodeResourcesFit) Score(pod *v1.Pod, c Cluster) (Scorer, error) {
	e, err := score.CompileAllocation(pod, p.Args)
	if err != nil {
		return nil, err
	}
	return e.On(c), nil
}

// NodeResourcesBalancedAllocation is the score of that name. The zero value is v1.36's.
type NodeResourcesBalancedAllocation struct{ Args score.BalanceArgs }

// Name returns "NodeResourcesBalancedAllocation".
func (NodeResourcesBalancedAllocation) Name() string { return "NodeResourcesBalancedAllocation" }

// Score prepares the balance; a pod that asks for none of the resources skips it.
func (p NodeResourcesBalancedAllocation) Score(pod *v1.Pod, c Cluster) (Scorer, error) {
	e, err := score.CompileBalance(pod, p.Args)
	if err != nil || e.Skip() {
		return nil, err
	}
	return e.On(c), nil
}

// PodTopologySpread is the filter and score of that name. The zero value is v1.36's: the built-in system defaults, whose
// selectors are derived from the services and owners that the cluster knows (spread.Owners).
type PodTopologySpread struct{ Options spread.Options }

// Name returns "PodTopologySpread".
func (PodTopologySpread) Name() string { return "PodTopologySpread" }

// options adds the owners that the cluster itself knows.
func (p PodTopologySpread) options(c Cluster) spread.Options {
	if p.Options.Owners == nil {
		p.Options.Owners = OwnersOf(c)
	}
	return p.Options
}

// Filter prepares the DoNotSchedule constraints; a pod without any skips the plugin.
func (p PodTopologySpread) Filter(pod *v1.Pod, c Cluster) Filtering {
	e, err := spread.CompileHard(pod, p.options(c))
	if err != nil {
		return Filtering{Code: filter.Error, Reasons: []string{err.Error()}}
	}
	if e.Skip() {
		return Filtering{Code: filter.Skip}
	}
	return Filtering{Predicate: hardSpread{e.Count(c), e}}
}

type hardSpread struct {
	*spread.HardState
	compiled *spread.Hard
}

// NewTrial returns a what-if copy.
func (s hardSpread) NewTrial() filter.Trial { return s.HardState.NewTrial() }

// Score prepares the ScheduleAnyway constraints; a pod without any skips the plugin.
func (p PodTopologySpread) Score(pod *v1.Pod, c Cluster) (Scorer, error) {
	e, err := spread.CompileSoft(pod, p.options(c))
	if err != nil {
		return nil, err
	}
	if e.Skip() {
		return nil, nil
	}
	return softSpread{e.Count(c), e}, nil
}

type softSpread struct {
	*spread.SoftState
	compiled *spread.Soft
}

// Normalize is spread.Normalize.
func (s softSpread) Normalize(raw, lo, hi int64) int64 { return spread.Normalize(raw, lo, hi) }

// InterPodAffinity is the filter and score of that name. The zero value is v1.36's.
type InterPodAffinity struct{ Options affinity.PodOptions }

// Name returns "InterPodAffinity".
func (InterPodAffinity) Name() string { return "InterPodAffinity" }

// Filter prepares the required terms of the pod and those of running pods against it.
func (p InterPodAffinity) Filter(pod *v1.Pod, c Cluster) Filtering {
	e, err := affinity.CompilePods(pod, p.Options)
	if err != nil {
		return Filtering{Code: filter.UnschedulableAndUnresolvable, Reasons: []string{err.Error()}}
	}
	s := e.Count(c)
	if s.Skip() {
		return Filtering{Code: filter.Skip}
	}
	return Filtering{Predicate: podAffinity{s}}
}

type podAffinity struct{ *affinity.State }

// NewTrial returns a what-if copy.
func (s podAffinity) NewTrial() filter.Trial { return s.State.NewTrial() }

// Score prepares the preferred terms of both sides and the required affinity of running pods.
func (p InterPodAffinity) Score(pod *v1.Pod, c Cluster) (Scorer, error) {
	e, err := affinity.CompilePods(pod, p.Options)
	if err != nil {
		return nil, err
	}
	s := e.Count(c)
	if s.SkipScore() {
		return nil, nil
	}
	return s, nil
}

// DynamicResources stands where v1.36's plugin of that name stands. Allocating devices is outside podberth: a pod that
// needs it is an error that says so. The zero value has no device classes.
type DynamicResources struct{ Fit filter.FitOptions }

// Name returns "DynamicResources".
func (DynamicResources) Name() string { return "DynamicResources" }

// Filter fails for pods with spec.resourceClaims, and skips the others.
func (p DynamicResources) Filter(pod *v1.Pod, c Cluster) Filtering {
	if err := filter.ClaimsError(pod); err != nil {
		return Filtering{Code: filter.Error, Reasons: []string{err.Error()}}
	}
	e := filter.CompileClaims(pod, p.Fit)
	if e.Skip() {
		return Filtering{Code: filter.Skip}
	}
	return Filtering{Predicate: e.On(c)}
}
