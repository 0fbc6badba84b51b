package descheduler

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	strategy "sigs.k8s.io/descheduler/pkg/framework/plugins/removepodsviolatingtopologyspreadconstraint"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/podberth/podberth/spread"
)

// RegisterSpread puts the descheduler's strategy RemovePodsViolatingTopologySpreadConstraint in a registry, under its own name, with another check
// in the place of topologyBalanceNodeFit: [Plugin.FitsAmong] with the nodes of domains below the average, by the mode of args. The descheduler's
// check knows no nodes but these. The policy stays as it is; with topologyBalanceNodeFit: false nothing is checked. Call it after [Register], so that
// both follow the cluster once.
func RegisterSpread(registry pluginregistry.Registry, args Args) {
	SetDefaults(&args)
	build := builder()
	if entry, ok := registry[PluginName]; ok {
		build = entry.PluginBuilder
	}
	delete(registry, strategy.PluginName)
	pluginregistry.Register(strategy.PluginName, func(ctx context.Context, obj runtime.Object, handle frameworktypes.Handle) (frameworktypes.Plugin, error) {
		policy, ok := obj.(*strategy.RemovePodsViolatingTopologySpreadConstraintArgs)
		if !ok {
			return nil, fmt.Errorf("%s: the arguments are of type %T", strategy.PluginName, obj)
		}
		if on := policy.TopologyBalanceNodeFit; on != nil && !*on {
			return strategy.New(ctx, obj, handle)
		}
		built, err := build(ctx, &args, handle)
		if err != nil {
			return nil, err
		}
		off := false
		policy = policy.DeepCopy()
		policy.TopologyBalanceNodeFit = &off
		plugin := built.(*Plugin)
		balances, err := strategy.New(ctx, policy, balancing{handle, plugin, policy.Constraints})
		if err != nil {
			return nil, err
		}
		return patient{balances.(frameworktypes.BalancePlugin), plugin}, nil
	}, &strategy.RemovePodsViolatingTopologySpreadConstraint{}, &strategy.RemovePodsViolatingTopologySpreadConstraintArgs{},
		strategy.ValidateRemovePodsViolatingTopologySpreadConstraintArgs, strategy.SetDefaults_RemovePodsViolatingTopologySpreadConstraintArgs, registry)
}

// patient is the strategy, which waits until the lists of the plugin have come.
type patient struct {
	frameworktypes.BalancePlugin
	plugin *Plugin
}

// Balance waits no longer than the context: without a list the plugin lets no pod go.
func (p patient) Balance(ctx context.Context, nodes []*v1.Node) *frameworktypes.Status {
	for _, l := range p.plugin.follow.lists {
		l.wait(ctx.Done())
	}
	return p.BalancePlugin.Balance(ctx, nodes)
}

// balancing is the handle of the strategy. Its evictor lets a pod go that a node of a domain below the average gets.
type balancing struct {
	frameworktypes.Handle
	plugin  *Plugin
	actions []v1.UnsatisfiableConstraintAction // of the constraints that the strategy balances
}

func (b balancing) Evictor() frameworktypes.Evictor { return balancingEvictor{b.Handle.Evictor(), b} }

type balancingEvictor struct {
	frameworktypes.Evictor
	balancing
}

func (e balancingEvictor) PreEvictionFilter(pod *v1.Pod) bool {
	q := e.plugin.question()
	q.balances = e.actions
	return e.plugin.allows(pod, q) && e.Evictor.PreEvictionFilter(pod)
}

func (e balancingEvictor) Filter(pod *v1.Pod) bool { return e.Evictor.Filter(pod) }

// belowAverage returns the nodes of domains that have fewer pods than the average, of each constraint of the pod that is violated and has one of the
// actions. Domains and pods count as the scheduler counts them.
func (f *follower) belowAverage(pod *v1.Pod, actions []v1.UnsatisfiableConstraintAction) (map[string]bool, error) {
	hard := *pod
	hard.Spec.TopologySpreadConstraints = nil
	for _, c := range pod.Spec.TopologySpreadConstraints {
		if slices.Contains(actions, c.WhenUnsatisfiable) {
			c.WhenUnsatisfiable = v1.DoNotSchedule
			hard.Spec.TopologySpreadConstraints = append(hard.Spec.TopologySpreadConstraints, c)
		}
	}
	below := map[string]bool{}
	if hard.Spec.TopologySpreadConstraints == nil {
		return below, nil
	}
	compiled, err := spread.CompileHard(&hard, spread.Options{})
	if err != nil {
		return nil, err
	}
	for _, report := range compiled.Count(f.snapshot).Report() {
		total, most := 0, 0
		for _, d := range report.Domains {
			total, most = total+d.Pods, max(most, d.Pods)
		}
		if most-report.Minimum <= report.MaxSkew {
			continue
		}
		few := map[string]bool{}
		for _, d := range report.Domains {
			few[d.Value] = d.Pods*len(report.Domains) < total
		}
		for i := range f.snapshot.Len() {
			if n := f.snapshot.Node(i); n != nil && few[n.Labels[report.Key]] {
				below[n.Name] = true
			}
		}
	}
	return below, nil
}
