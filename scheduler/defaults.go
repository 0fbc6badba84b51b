package scheduler

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/release/plugins"
)

// Names of plugins that other code refers to.
const (
	namePrioritySort      = "PrioritySort"
	nameDefaultBinder     = "DefaultBinder"
	nameDefaultPreemption = "DefaultPreemption"
	nameDynamicResources  = "DynamicResources"
)

// DefaultPlugins returns the lists of v1.37: everything at [MultiPoint], with the weights of scores.
func DefaultPlugins() Plugins { return defaultPlugins(release.Current) }

func defaultPlugins(v release.Version) Plugins {
	var refs []PluginRef
	for _, p := range plugins.Default(v) {
		refs = append(refs, PluginRef{Name: p.Name, Weight: int64(p.Weight)})
	}
	return Plugins{MultiPoint: {Enabled: refs}}
}

// DefaultRegistry returns the plugins of kube-scheduler. The arguments of a plugin are the plugin of package placement that it
// runs, which [placement.PluginArgs] makes, and [PreemptionArgs] for DefaultPreemption; nil is the default of [Options.Release].
func DefaultRegistry() Registry {
	return Registry{
		"SchedulingGates": func(_ any, h *Handle) (Plugin, error) {
			return schedulingGates{adapterBase{name: "SchedulingGates", h: h}}, nil
		},
		namePrioritySort:    func(any, *Handle) (Plugin, error) { return prioritySort{}, nil },
		"NodeUnschedulable": factoryOf("NodeUnschedulable", filters),
		"NodeName":          factoryOf("NodeName", filters),
		"TaintToleration": factoryOf("TaintToleration", func(b adapterBase) Plugin {
			if b.h.s.o.preFilters() {
				return podFiltersAndScores(b)
			}
			return nodeFilterAndScore{newNodeFilter(b), scoring{preScores{newScores(b)}}}
		}),
		"NodeAffinity":       factoryOf("NodeAffinity", podFiltersAndScores),
		"NodePorts":          factoryOf("NodePorts", podFilters),
		"NodeResourcesFit":   factoryOf("NodeResourcesFit", podFiltersAndScores),
		"VolumeRestrictions": factoryOf("VolumeRestrictions", podFilters),
		"NodeVolumeLimits":   factoryOf("NodeVolumeLimits", podFilters),
		"VolumeBinding": factoryOf("VolumeBinding", func(b adapterBase) Plugin {
			return volumeBinding{podFilter{newNodeFilter(b)}, preScores{newScores(b)}}
		}),
		"VolumeZone":        factoryOf("VolumeZone", podFilters),
		"PodTopologySpread": factoryOf("PodTopologySpread", podFiltersAndScores),
		"InterPodAffinity":  factoryOf("InterPodAffinity", podFiltersAndScores),
		nameDynamicResources: factoryOf(nameDynamicResources, func(b adapterBase) Plugin {
			d := dynamicResources{podFilter{newNodeFilter(b)}}
			if b.h.s.o.scoresDevices() {
				return scoredDynamicResources{d}
			}
			return d
		}),
		"NodeDeclaredFeatures": factoryOf("NodeDeclaredFeatures", podFilters),
		"NodeResourcesBalancedAllocation": factoryOf("NodeResourcesBalancedAllocation", func(b adapterBase) Plugin {
			return preScores{newScores(b)}
		}),
		"ImageLocality":       factoryOf("ImageLocality", func(b adapterBase) Plugin { return newScores(b) }),
		nameDefaultPreemption: newDefaultPreemption,
		nameDefaultBinder: func(_ any, h *Handle) (Plugin, error) {
			return defaultBinder{adapterBase{name: nameDefaultBinder, h: h}}, nil
		},
	}
}

// factoryOf makes a factory of a plugin. The arguments are the plugin of package placement with that name; nil is the
// one with default arguments.
func factoryOf(name string, make func(b adapterBase) Plugin) Factory {
	return func(args any, h *Handle) (Plugin, error) {
		p, err := placement.PluginArgs{Release: h.s.o.Release}.Plugin(name)
		if err != nil {
			return nil, err
		}
		if args != nil {
			given, ok := args.(*placement.Plugin)
			if !ok {
				return nil, fmt.Errorf("want args to be of type %T, got %T", p, args)
			}
			if given.Name != name {
				return nil, fmt.Errorf("want args to be plugin %s, got %s", name, given.Name)
			}
			p = given
		}
		if p, err = withDevices(p, h.s.o.Selectors, h.s.clock.Now, h.s.o.Groups != nil && h.s.o.Groups.Claims); err != nil {
			return nil, err
		}
		if p.WithShared != nil {
			p = p.WithShared(placement.Profile{Volumes: h.s.volumes, Devices: h.s.devices})
		}
		return make(adapterBase{name: p.Name, h: h, plugin: p}), nil
	}
}

func filters(b adapterBase) Plugin {
	if b.h.s.o.preFilters() {
		return podFilters(b)
	}
	return newNodeFilter(b)
}

func podFilters(b adapterBase) Plugin { return podFilter{newNodeFilter(b)} }

func podFiltersAndScores(b adapterBase) Plugin {
	return podFilterAndScore{podFilter{newNodeFilter(b)}, scoring{preScores{newScores(b)}}}
}

// nodeFilterAndScore is a plugin at Filter, PreScore and Score. podFilterAndScore is a plugin at PreFilter too.
type nodeFilterAndScore struct {
	nodeFilter
	scoring
}

type podFilterAndScore struct {
	podFilter
	scoring
}

// scoring gives the methods of a score to a plugin that filters as well.
type scoring struct{ inner preScores }

func (p scoring) libraryScore() *placement.Plugin { return p.inner.plugin }

// PreScore prepares the scorer.
func (p scoring) PreScore(ctx context.Context, s *State, pod *v1.Pod, nodes []*NodeInfo) *Status {
	return p.inner.PreScore(ctx, s, pod, nodes)
}

// Score asks the scorer.
func (p scoring) Score(ctx context.Context, s *State, pod *v1.Pod, node *NodeInfo) (int64, *Status) {
	return p.inner.Score(ctx, s, pod, node)
}

// NormalizeScores applies the scorer's rule.
func (p scoring) NormalizeScores(ctx context.Context, s *State, pod *v1.Pod, list []NodeScore) *Status {
	return p.inner.NormalizeScores(ctx, s, pod, list)
}

// schedulingGates gates pods with spec.schedulingGates.
type schedulingGates struct{ adapterBase }

// PreEnqueue rejects a pod that has a gate.
func (schedulingGates) PreEnqueue(pod *v1.Pod) *Status {
	if text, gated := filter.Gated(pod); gated {
		return NewStatus(UnschedulableAndUnresolvable, text)
	}
	return nil
}

// prioritySort is the default order of the queue.
type prioritySort struct{}

// Name returns "PrioritySort".
func (prioritySort) Name() string  { return namePrioritySort }
func (prioritySort) builtin() bool { return true }

// Less puts the pod of higher priority first; at equal priority the pod that has waited longer is first.
func (prioritySort) Less(a, b *queue.Entry) bool { return queue.PriorityLess(a, b) }

// defaultBinder binds pods with Client.Bind.
type defaultBinder struct{ adapterBase }

// Bind binds the pod.
func (p defaultBinder) Bind(ctx context.Context, _ *State, pod *v1.Pod, node string) *Status {
	return AsStatus(p.h.s.bind(ctx, pod, node))
}
