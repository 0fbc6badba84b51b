package compare

import (
	"context"
	"fmt"
	"math/rand"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/spread"
	"github.com/podberth/podberth/taints"
)

// Profile is one scheduler profile in the words of both sides.
type Profile struct {
	Name     string
	Real     config.KubeSchedulerProfile
	Podberth placement.Profile
}

// Default returns the default profile.
func Default() (Profile, error) {
	p, err := real.DefaultProfile()
	return Profile{Name: "default", Real: p, Podberth: placement.PluginArgs{Release: trial.Linked}.Profile()}, err
}

// Numeric returns the default profile with tolerations that compare numbers, for kube-scheduler with the feature gate
// TaintTolerationComparisonOperators.
func Numeric() (Profile, error) {
	p, err := Default()
	p.Podberth = placement.PluginArgs{Release: trial.Linked, Taints: taints.Options{ComparisonOperators: true}}.Profile()
	return p, err
}

// EveryNode starts kube-scheduler with the default profile, which looks at every node.
func EveryNode(ctx context.Context) (*real.Scheduler, error) {
	p, err := Default()
	if err != nil {
		return nil, err
	}
	all := int32(100)
	p.Real.PercentageOfNodesToScore = &all
	return real.New(ctx, p.Real)
}

// ScoreOnly returns the default profile without the filter of a plugin that also scores.
func ScoreOnly(plugin string) (Profile, error) {
	p, err := Default()
	if err != nil {
		return p, err
	}
	p.Name = "without the filter " + plugin
	p.Real.Plugins = p.Real.Plugins.DeepCopy()
	off := []config.Plugin{{Name: plugin}}
	p.Real.Plugins.PreFilter.Disabled, p.Real.Plugins.Filter.Disabled = off, off
	p.Podberth.Filters = slices.DeleteFunc(p.Podberth.Filters, func(f *placement.Plugin) bool { return f.Name == plugin })
	return p, nil
}

// Random returns a profile with random arguments and weights, and some plugins left out.
func Random(seed int64) (Profile, error) {
	p, err := Default()
	if err != nil {
		return p, err
	}
	p.Name = fmt.Sprintf("random %d", seed)
	b := &builder{Rand: rand.New(rand.NewSource(seed)), p: &p, ours: placement.PluginArgs{Release: trial.Linked}}
	b.fit()
	b.balance()
	b.interPod()
	b.spread()
	b.addedAffinity()
	p.Podberth = b.ours.Profile()
	b.plugins()
	return p, nil
}

type builder struct {
	*rand.Rand
	p    *Profile
	ours placement.PluginArgs
}

func (b *builder) args(name string, args runtime.Object) {
	list := slices.Clone(b.p.Real.PluginConfig)
	for i := range list {
		if list[i].Name == name {
			list[i].Args = args
		}
	}
	b.p.Real.PluginConfig = list
}

func (b *builder) fit() {
	args := &config.NodeResourcesFitArgs{}
	var ours placement.FitOptions
	if b.Intn(3) == 0 {
		args.IgnoredResources = []string{"example.com/gpu"}
	}
	if b.Intn(3) == 0 {
		args.IgnoredResourceGroups = []string{"example.com"}
	}
	ours.Fit = filter.FitOptions{IgnoredResources: args.IgnoredResources, IgnoredResourceGroups: args.IgnoredResourceGroups}
	kind := []config.ScoringStrategyType{config.LeastAllocated, config.MostAllocated, config.RequestedToCapacityRatio}[b.Intn(3)]
	args.ScoringStrategy = &config.ScoringStrategy{Type: kind}
	strategy := &score.Strategy{Type: string(kind)}
	for _, name := range []string{"cpu", "memory", "example.com/gpu", "ephemeral-storage"} {
		if len(strategy.Resources) > 0 && b.Intn(2) == 0 {
			continue
		}
		w := int64(1 + b.Intn(5))
		args.ScoringStrategy.Resources = append(args.ScoringStrategy.Resources, config.ResourceSpec{Name: name, Weight: w})
		strategy.Resources = append(strategy.Resources, score.Resource{Name: name, Weight: w})
	}
	if kind == config.RequestedToCapacityRatio {
		param, ratio := &config.RequestedToCapacityRatioParam{}, &score.Ratio{}
		at := int32(b.Intn(30))
		for range 1 + b.Intn(4) {
			value := int32(b.Intn(11))
			param.Shape = append(param.Shape, config.UtilizationShapePoint{Utilization: at, Score: value})
			ratio.Shape = append(ratio.Shape, score.Point{Utilization: at, Score: value})
			if at += 1 + int32(b.Intn(40)); at > 100 {
				break
			}
		}
		args.ScoringStrategy.RequestedToCapacityRatio, strategy.RequestedToCapacityRatio = param, ratio
	}
	ours.Args.ScoringStrategy = strategy
	b.args("NodeResourcesFit", args)
	b.ours.NodeResourcesFit = ours
}

func (b *builder) balance() {
	args := &config.NodeResourcesBalancedAllocationArgs{}
	var ours score.BalanceArgs
	for _, name := range []string{"cpu", "memory", "example.com/gpu"} {
		if len(args.Resources) > 0 && b.Intn(2) == 0 {
			continue
		}
		args.Resources = append(args.Resources, config.ResourceSpec{Name: name, Weight: 1})
		ours.Resources = append(ours.Resources, score.Resource{Name: name, Weight: 1})
	}
	b.args("NodeResourcesBalancedAllocation", args)
	b.ours.BalancedAllocation = ours
}

func (b *builder) interPod() {
	weight := []int32{0, 1, 5, 100}[b.Intn(4)]
	args := &config.InterPodAffinityArgs{HardPodAffinityWeight: weight, IgnorePreferredTermsOfExistingPods: b.Intn(2) == 0}
	b.ours.InterPodAffinity = affinity.PodOptions{
		HardPodAffinityWeight: &weight, IgnorePreferredTermsOfExistingPods: args.IgnorePreferredTermsOfExistingPods}
	b.args("InterPodAffinity", args)
}

func (b *builder) spread() {
	if b.Intn(3) == 0 {
		return // the system's defaults
	}
	args := &config.PodTopologySpreadArgs{DefaultingType: config.ListDefaulting}
	for _, key := range []string{v1.LabelTopologyZone, v1.LabelHostname, "rack"} {
		if b.Intn(2) == 0 {
			action := []v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.ScheduleAnyway}[b.Intn(2)]
			args.DefaultConstraints = append(args.DefaultConstraints, v1.TopologySpreadConstraint{MaxSkew: int32(1 + b.Intn(3)), TopologyKey: key, WhenUnsatisfiable: action})
		}
	}
	b.ours.PodTopologySpread = spread.Options{Defaults: spread.Defaults{Type: spread.ListDefaulting, Constraints: args.DefaultConstraints}}
	b.args("PodTopologySpread", args)
}

func (b *builder) addedAffinity() {
	if b.Intn(3) > 0 {
		return
	}
	requirement := func() v1.NodeSelectorTerm {
		op := []v1.NodeSelectorOperator{v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist}[b.Intn(2)]
		return v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: []string{"disk", "rack"}[b.Intn(2)], Operator: op}}}
	}
	a := &v1.NodeAffinity{}
	if b.Intn(2) == 0 {
		a.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{requirement()}}
	}
	if a.RequiredDuringSchedulingIgnoredDuringExecution == nil || b.Intn(2) == 0 {
		a.PreferredDuringSchedulingIgnoredDuringExecution = []v1.PreferredSchedulingTerm{{Weight: int32(1 + b.Intn(100)), Preference: requirement()}}
	}
	added, err := affinity.CompileAdded(a)
	if err != nil {
		panic(err) // the terms above are right
	}
	b.ours.NodeAffinity = added
	b.args("NodeAffinity", &config.NodeAffinityArgs{AddedAffinity: a})
}

// plugins leaves out some plugins, changes weights and, for every second profile, the order.
func (b *builder) plugins() {
	real := b.p.Real.Plugins.DeepCopy()
	ours := &b.p.Podberth
	for _, name := range []string{"NodePorts", "NodeUnschedulable", "NodeDeclaredFeatures", "ImageLocality", "TaintToleration", "InterPodAffinity", "VolumeZone"} {
		if b.Intn(8) > 0 {
			continue
		}
		real.MultiPoint.Enabled = slices.DeleteFunc(real.MultiPoint.Enabled, func(p config.Plugin) bool { return p.Name == name })
		ours.Filters = slices.DeleteFunc(ours.Filters, func(p *placement.Plugin) bool { return p.Name == name })
		ours.Scores = slices.DeleteFunc(ours.Scores, func(p placement.Weighted) bool { return p.Plugin.Name == name })
	}
	for i := range ours.Scores {
		if b.Intn(2) > 0 {
			continue
		}
		ours.Scores[i].Weight = []int64{1, 4, 10, 100}[b.Intn(4)]
		for k := range real.MultiPoint.Enabled {
			if p := &real.MultiPoint.Enabled[k]; p.Name == ours.Scores[i].Plugin.Name {
				p.Weight = int32(ours.Scores[i].Weight)
			}
		}
	}
	if b.Intn(2) == 0 {
		b.Shuffle(len(real.MultiPoint.Enabled), func(i, k int) {
			real.MultiPoint.Enabled[i], real.MultiPoint.Enabled[k] = real.MultiPoint.Enabled[k], real.MultiPoint.Enabled[i]
		})
		at := func(name string) int {
			return slices.IndexFunc(real.MultiPoint.Enabled, func(p config.Plugin) bool { return p.Name == name })
		}
		slices.SortFunc(ours.Filters, func(x, y *placement.Plugin) int { return at(x.Name) - at(y.Name) })
		slices.SortFunc(ours.Scores, func(x, y placement.Weighted) int { return at(x.Plugin.Name) - at(y.Plugin.Name) })
	}
	b.p.Real.Plugins = real
}
