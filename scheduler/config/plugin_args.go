package config

import (
	"k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/spread"

	"github.com/podberth/podberth/scheduler/httpextender/rules"
)

// This file converts the arguments of plugins to those of the library.

func candidateArgs(a *configv1.DefaultPreemptionArgs) preemption.CandidateArgs {
	return preemption.CandidateArgs{MinPercentage: a.MinCandidateNodesPercentage, MinAbsolute: a.MinCandidateNodesAbsolute}
}

func podOptions(a *configv1.InterPodAffinityArgs) affinity.PodOptions {
	return affinity.PodOptions{
		HardPodAffinityWeight:              a.HardPodAffinityWeight,
		IgnorePreferredTermsOfExistingPods: a.IgnorePreferredTermsOfExistingPods,
	}
}

func spreadDefaults(a *configv1.PodTopologySpreadArgs) spread.Defaults {
	return spread.Defaults{Type: string(a.DefaultingType), Constraints: a.DefaultConstraints}
}

func resourcesOf(list []configv1.ResourceSpec) []score.Resource {
	var out []score.Resource
	for _, r := range list {
		out = append(out, score.Resource{Name: r.Name, Weight: r.Weight})
	}
	return out
}

func balanceArgs(a *configv1.NodeResourcesBalancedAllocationArgs) score.BalanceArgs {
	return score.BalanceArgs{Resources: resourcesOf(a.Resources)}
}

func fitArgs(a *configv1.NodeResourcesFitArgs) score.FitArgs {
	out := score.FitArgs{IgnoredResources: a.IgnoredResources, IgnoredResourceGroups: a.IgnoredResourceGroups}
	if s := a.ScoringStrategy; s != nil {
		out.ScoringStrategy = &score.Strategy{Type: string(s.Type), Resources: resourcesOf(s.Resources)}
		if r := s.RequestedToCapacityRatio; r != nil {
			out.ScoringStrategy.RequestedToCapacityRatio = &score.Ratio{Shape: pointsOf(r.Shape)}
		}
	}
	return out
}

func pointsOf(shape []configv1.UtilizationShapePoint) (out []score.Point) {
	for _, p := range shape {
		out = append(out, score.Point(p))
	}
	return out
}

func fitOptions(a score.FitArgs) filter.FitOptions {
	return filter.FitOptions{IgnoredResources: a.IgnoredResources, IgnoredResourceGroups: a.IgnoredResourceGroups}
}

// extendersOf returns the part of the extenders' configuration that decides when they are asked.
func extendersOf(list []configv1.Extender) []rules.Extender {
	out := make([]rules.Extender, len(list))
	for k := range list {
		out[k] = rules.Of(&list[k])
	}
	return out
}

// args returns the decoded arguments of a plugin in a profile with defaults, nil when it has none.
func args[T runtime.Object](p *configv1.KubeSchedulerProfile, name string) (none T) {
	for k := range p.PluginConfig {
		if p.PluginConfig[k].Name == name {
			a, _ := p.PluginConfig[k].Args.Object.(T)
			return a
		}
	}
	return none
}
