package scheduler

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/filter/volume"
	"github.com/podberth/podberth/internal/plugins"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/spread"
)

// Names of plugins that others speak of.
const (
	namePrioritySort      = "PrioritySort"
	nameDefaultBinder     = "DefaultBinder"
	nameDefaultPreemption = "DefaultPreemption"
	nameDynamicResources  = "DynamicResources"
)

// DefaultPlugins returns the lists of v1.36: everything at MultiPoint, with the weights of scores.
func DefaultPlugins() Plugins {
	var refs []PluginRef
	for _, p := range plugins.Default() {
		refs = append(refs, PluginRef{Name: p.Name, Weight: int64(p.Weight)})
	}
	return Plugins{MultiPoint: {Enabled: refs}}
}

// DefaultRegistry returns the plugins of v1.36. The arguments of a plugin are the plugin of package placement that it runs,
// such as placement.NodeResourcesFit{Args: …}, and PreemptionArgs for DefaultPreemption; nil is v1.36's default.
func DefaultRegistry() Registry {
	return Registry{
		"SchedulingGates": func(_ any, h *Handle) (Plugin, error) {
			return schedulingGates{base{"SchedulingGates", h, nil}}, nil
		},
		namePrioritySort: func(any, *Handle) (Plugin, error) { return prioritySort{}, nil },
		"NodeUnschedulable": with(func(p placement.NodeUnschedulable, b base) Plugin {
			b.hint = p.Options.CordonWouldHelp
			return newNodeFilter(b, p)
		}),
		"NodeName": with(func(p placement.NodeName, b base) Plugin {
			b.hint = filter.NodeNameWouldHelp
			return newNodeFilter(b, p)
		}),
		"TaintToleration": with(func(p placement.TaintToleration, b base) Plugin {
			b.hint = p.Options.WouldHelp
			return nodeFilterAndScore{newNodeFilter(b, p), scoring{preScores{newScores(b, p)}}}
		}),
		"NodeAffinity": with(func(p placement.NodeAffinity, b base) Plugin {
			b.hint = p.Options.WouldHelp
			return podFilterAndScore{podFilter{newNodeFilter(b, p)}, scoring{preScores{newScores(b, p)}}}
		}),
		"NodePorts": with(func(p placement.NodePorts, b base) Plugin {
			b.hint = filter.PortsWouldHelp
			return podFilter{newNodeFilter(b, p)}
		}),
		"NodeResourcesFit": with(func(p placement.NodeResourcesFit, b base) Plugin {
			b.hint = filter.FitHint(p.Fit)
			return podFilterAndScore{podFilter{newNodeFilter(b, p)}, scoring{preScores{newScores(b, p)}}}
		}),
		"VolumeRestrictions": with(func(p placement.VolumeRestrictions, b base) Plugin {
			b.hint, p.Volumes = volume.RestrictionsWouldHelp, b.h.s.volumes
			return podFilter{newNodeFilter(b, p)}
		}),
		"NodeVolumeLimits": with(func(p placement.NodeVolumeLimits, b base) Plugin {
			b.hint, p.Volumes = volume.LimitsWouldHelp, b.h.s.volumes
			return podFilter{newNodeFilter(b, p)}
		}),
		"VolumeBinding": with(func(p placement.VolumeBinding, b base) Plugin {
			b.hint, p.Volumes = volume.BindingWouldHelp, b.h.s.volumes
			return volumeBinding{podFilter{newNodeFilter(b, p)}}
		}),
		"VolumeZone": with(func(p placement.VolumeZone, b base) Plugin {
			b.hint, p.Volumes = volume.ZoneWouldHelp, b.h.s.volumes
			return podFilter{newNodeFilter(b, p)}
		}),
		"PodTopologySpread": with(func(p placement.PodTopologySpread, b base) Plugin {
			b.hint = spread.Hint(p.Options)
			return podFilterAndScore{podFilter{newNodeFilter(b, p)}, scoring{preScores{newScores(b, p)}}}
		}),
		"InterPodAffinity": with(func(p placement.InterPodAffinity, b base) Plugin {
			b.hint = p.Options.Hint(b.h.s.namespaces)
			return podFilterAndScore{podFilter{newNodeFilter(b, p)}, scoring{preScores{newScores(b, p)}}}
		}),
		nameDynamicResources: with(func(p placement.DynamicResources, b base) Plugin {
			return dynamicResources{podFilter{newNodeFilter(b, p)}}
		}),
		"NodeDeclaredFeatures": with(func(p placement.NodeDeclaredFeatures, b base) Plugin {
			b.hint = filter.FeaturesHint(p.Options)
			return podFilter{newNodeFilter(b, p)}
		}),
		"NodeResourcesBalancedAllocation": with(func(p placement.NodeResourcesBalancedAllocation, b base) Plugin {
			return preScores{newScores(b, p)}
		}),
		"ImageLocality":       with(func(p placement.ImageLocality, b base) Plugin { return newScores(b, p) }),
		nameDefaultPreemption: newDefaultPreemption,
		nameDefaultBinder: func(_ any, h *Handle) (Plugin, error) {
			return defaultBinder{base{nameDefaultBinder, h, nil}}, nil
		},
	}
}

// with makes a factory whose arguments are a plugin of package placement.
func with[P interface{ Name() string }](make func(p P, b base) Plugin) Factory {
	return func(args any, h *Handle) (Plugin, error) {
		var p P
		if args != nil {
			var ok bool
			if p, ok = args.(P); !ok {
				return nil, fmt.Errorf("want args to be of type %T, got %T", p, args)
			}
		}
		return make(p, base{p.Name(), h, nil}), nil
	}
}

// nodeFilterAndScore is a plugin at Filter, PreScore and Score, podFilterAndScore one at PreFilter too.
type nodeFilterAndScore struct {
	nodeFilter
	scoring
}

type podFilterAndScore struct {
	podFilter
	scoring
}

// scoring lends the methods of a score to a plugin that filters as well.
type scoring struct{ inner preScores }

func (p scoring) libraryScore() placement.ScorePlugin { return p.inner.plugin }

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

// schedulingGates holds pods with spec.schedulingGates back.
type schedulingGates struct{ base }

// PreEnqueue refuses while there is a gate.
func (schedulingGates) PreEnqueue(pod *v1.Pod) *Status {
	if text, gated := filter.Gated(pod); gated {
		return NewStatus(UnschedulableAndUnresolvable, text)
	}
	return nil
}

// prioritySort is the default order of the queue.
type prioritySort struct{}

// Name returns "PrioritySort".
func (prioritySort) Name() string { return namePrioritySort }
func (prioritySort) builtin()     {}

// Less puts the higher priority first, then the older.
func (prioritySort) Less(a, b *queue.Entry) bool { return queue.PriorityLess(a, b) }

// defaultBinder binds through the client.
type defaultBinder struct{ base }

// Bind binds the pod.
func (p defaultBinder) Bind(ctx context.Context, _ *State, pod *v1.Pod, node string) *Status {
	return AsStatus(p.h.s.o.Client.Bind(ctx, pod, node))
}

// dynamicResources stands where v1.36's plugin stands. Allocating devices is outside podberth: pods with claims fail at
// PreFilter, and for the others there is nothing to do at any point.
type dynamicResources struct{ podFilter }

// claims is written once DynamicResources has seen the pod.
var claims = NewKey[bool](nameDynamicResources)

// PreEnqueue lets all pods pass.
func (dynamicResources) PreEnqueue(*v1.Pod) *Status { return nil }

// PreFilter fails for pods with claims.
func (p dynamicResources) PreFilter(ctx context.Context, s *State, pod *v1.Pod, nodes []*NodeInfo) ([]string, *Status) {
	claims.Write(s, true)
	return p.podFilter.PreFilter(ctx, s, pod, nodes)
}

// PostFilter has no claims to free. It fails when an earlier PreFilter plugin ended the attempt.
func (dynamicResources) PostFilter(_ context.Context, s *State, _ *v1.Pod, _ *NodeStatuses) (*Nomination, *Status) {
	if _, err := claims.Read(s); err != nil {
		return nil, AsStatus(err)
	}
	return nil, NewStatus(Unschedulable, "no new claims to deallocate")
}

func (dynamicResources) libraryScore() placement.ScorePlugin { return nil }

// Score is 0 for a pod without claims.
func (dynamicResources) Score(context.Context, *State, *v1.Pod, *NodeInfo) (int64, *Status) {
	return 0, nil
}

// Reserve has nothing to allocate.
func (dynamicResources) Reserve(context.Context, *State, *v1.Pod, string) *Status { return nil }

// Unreserve has nothing to free.
func (dynamicResources) Unreserve(context.Context, *State, *v1.Pod, string) {}

// PreBindPreFlight skips.
func (dynamicResources) PreBindPreFlight(context.Context, *State, *v1.Pod, string) (bool, *Status) {
	return false, NewStatus(Skip)
}

// PreBind has nothing to do.
func (dynamicResources) PreBind(context.Context, *State, *v1.Pod, string) *Status { return nil }
