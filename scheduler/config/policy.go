package config

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"

	"github.com/podberth/podberth/history"
	"github.com/podberth/podberth/score"
)

// policy is the scheduling policy of Kubernetes up to v1.22, in its published form.
type policy struct {
	Kind, APIVersion string
	Predicates       *[]struct {
		Name     string
		Argument *struct {
			ServiceAffinity *struct{ Labels []string }
			LabelsPresence  *struct {
				Labels   []string
				Presence bool
			}
		}
	}
	Priorities *[]struct {
		Name     string
		Weight   int64
		Argument *struct {
			ServiceAntiAffinity *struct{ Label string }
			LabelPreference     *struct {
				Label    string
				Presence bool
			}
			RequestedToCapacityRatioArguments *struct {
				Shape     []configv1.UtilizationShapePoint
				Resources []configv1.ResourceSpec
			}
		}
	}
	Extenders                      []legacyExtender
	HardPodAffinitySymmetricWeight int32
	AlwaysCheckAllPredicates       bool
}

// legacyExtender has its timeout in nanoseconds.
type legacyExtender struct {
	URLPrefix, FilterVerb, PreemptVerb, PrioritizeVerb, BindVerb string
	Weight                                                       int64
	EnableHTTPS                                                  bool
	TLSConfig                                                    *configv1.ExtenderTLSConfig
	HTTPTimeout                                                  time.Duration
	NodeCacheCapable, Ignorable                                  bool
	ManagedResources                                             []configv1.ExtenderManagedResource
}

// policyConverter collects the profile that is equivalent to a policy.
type policyConverter struct {
	notes    []string
	strategy string
	ratio    *configv1.ScoringStrategy
	scores   []configv1.Plugin
}

// ConvertPolicy returns the configuration that is equivalent to a scheduling policy, JSON or YAML. notes are about parts of
// the policy that have no equivalent or a different one.
//
//  1. Predicates that are not listed are disabled ([PreFilter] and [Filter]). A policy that lists no predicates at all has the
//     default ones. The predicates for taints and cordoned nodes always ran. Plugins that did not exist at the time of
//     policies stay enabled.
//  2. A policy that lists no priorities has the default ones, with the weights of its time. Priorities become score plugins, in their order with their weights. The weights of priorities with the same plugin
//     are added. NodeResourcesFit has one strategy: the first of several is used.
func ConvertPolicy(data []byte) (c *configv1.KubeSchedulerConfiguration, notes []string, err error) {
	var p policy
	if err := yaml.Unmarshal(data, &p); err != nil {
		return nil, nil, fmt.Errorf("not a policy: %w", err)
	}
	if p.Kind != "Policy" {
		return nil, nil, field.NotSupported(field.NewPath("kind"), p.Kind, []string{"Policy"})
	}
	if errs := p.validate(); len(errs) > 0 {
		return nil, nil, errs.ToAggregate()
	}
	name := v1.DefaultSchedulerName
	profile := configv1.KubeSchedulerProfile{SchedulerName: &name, Plugins: &configv1.Plugins{}}
	var k policyConverter
	k.predicates(&p, profile.Plugins)
	k.priorities(&p, profile.Plugins)
	if k.strategy != "" && k.strategy != score.LeastAllocated || k.ratio != nil {
		s := k.ratio
		if s == nil {
			s = &configv1.ScoringStrategy{Type: configv1.ScoringStrategyType(k.strategy)}
		}
		profile.PluginConfig = append(profile.PluginConfig, configured(fitPlugin, &configv1.NodeResourcesFitArgs{ScoringStrategy: s}))
	}
	if w := p.HardPodAffinitySymmetricWeight; w != 0 {
		profile.PluginConfig = append(profile.PluginConfig, configured("InterPodAffinity", &configv1.InterPodAffinityArgs{HardPodAffinityWeight: &w}))
	}
	if p.AlwaysCheckAllPredicates {
		k.note("alwaysCheckAllPredicates has no equivalent: the first plugin that rejects a node ends its checks")
	}
	c = &configv1.KubeSchedulerConfiguration{Profiles: []configv1.KubeSchedulerProfile{profile}}
	for _, x := range p.Extenders {
		c.Extenders = append(c.Extenders, configv1.Extender{
			URLPrefix: x.URLPrefix, FilterVerb: x.FilterVerb, PreemptVerb: x.PreemptVerb, PrioritizeVerb: x.PrioritizeVerb,
			BindVerb: x.BindVerb, Weight: x.Weight, EnableHTTPS: x.EnableHTTPS, TLSConfig: x.TLSConfig,
			HTTPTimeout: metav1.Duration{Duration: x.HTTPTimeout}, NodeCacheCapable: x.NodeCacheCapable, Ignorable: x.Ignorable,
			ManagedResources: x.ManagedResources,
		})
	}
	c.SetGroupVersionKind(configv1.SchemeGroupVersion.WithKind(configKind))
	return c, k.notes, nil
}

func configured(name string, args runtime.Object) configv1.PluginConfig {
	args.GetObjectKind().SetGroupVersionKind(configv1.SchemeGroupVersion.WithKind(name + "Args"))
	return configv1.PluginConfig{Name: name, Args: runtime.RawExtension{Object: args}}
}

func (k *policyConverter) note(format string, args ...any) {
	k.notes = append(k.notes, fmt.Sprintf(format, args...))
}

// validate refuses names that never existed (unless their argument defines them) and weights that were not allowed.
func (p *policy) validate() field.ErrorList {
	var errs field.ErrorList
	if p.Predicates != nil {
		for i, x := range *p.Predicates {
			if _, ok := history.FindOldFilter(x.Name); !ok && x.Argument == nil {
				errs = append(errs, field.Invalid(field.NewPath("predicates").Index(i).Child("name"), x.Name, "is no predicate"))
			}
		}
	}
	if p.Priorities != nil {
		for i, x := range *p.Priorities {
			path := field.NewPath("priorities").Index(i)
			if _, ok := ModernPriority(x.Name); !ok && x.Argument == nil {
				errs = append(errs, field.Invalid(path.Child("name"), x.Name, "is no priority"))
			}
			if x.Weight <= 0 || x.Weight > 1<<31-1 {
				errs = append(errs, field.Invalid(path.Child("weight"), x.Weight, "must be positive and fit 32 bits"))
			}
		}
	}
	return errs
}

// mandatory are the filters that ran whatever a policy listed.
var mandatory = []string{"NodeUnschedulable", "TaintToleration"}

// younger are the filters that were added after the time of policies.
var younger = []string{"DynamicResources", "NodeDeclaredFeatures"}

func (k *policyConverter) predicates(p *policy, plugins *configv1.Plugins) {
	if p.Predicates == nil {
		return
	}
	keep := slices.Concat(mandatory, younger)
	for _, x := range *p.Predicates {
		old, ok := history.FindOldFilter(x.Name)
		switch {
		case x.Argument != nil && (x.Argument.ServiceAffinity != nil || x.Argument.LabelsPresence != nil):
			k.note("predicate %s: removed in v1.23 without a successor; node affinity or a plugin of one's own does it", x.Name)
		case !ok:
			k.note("predicate %s: no such function", x.Name)
		default:
			if old.Note != "" {
				k.note("predicate %s: %s", x.Name, old.Note)
			}
			keep = append(keep, old.Plugins...)
		}
	}
	for _, d := range defaults {
		if slices.Contains(keep, d.Name) {
			continue
		}
		if slices.Contains(inTree[d.Name], Filter) {
			plugins.Filter.Disabled = append(plugins.Filter.Disabled, configv1.Plugin{Name: d.Name})
		}
		if slices.Contains(inTree[d.Name], PreFilter) {
			plugins.PreFilter.Disabled = append(plugins.PreFilter.Disabled, configv1.Plugin{Name: d.Name})
		}
	}
}

func (k *policyConverter) priorities(p *policy, plugins *configv1.Plugins) {
	if p.Priorities == nil {
		for _, name := range onceLighter {
			plugins.Score.Enabled = append(plugins.Score.Enabled, configv1.Plugin{Name: name, Weight: new(int32(1))})
		}
		return
	}
	plugins.Score.Disabled = []configv1.Plugin{{Name: "*"}}
	for i := range *p.Priorities {
		x := &(*p.Priorities)[i]
		old, ok := ModernPriority(x.Name)
		if a := x.Argument; a != nil {
			switch {
			case a.RequestedToCapacityRatioArguments != nil: // whatever its name is
				old, ok = ModernPriority("RequestedToCapacityRatioPriority")
			case a.ServiceAntiAffinity != nil || a.LabelPreference != nil:
				old, ok = OldPriority{Note: goneNote}, true
			}
		}
		if !ok {
			k.note("priority %s: no such function", x.Name)
			continue
		}
		if old.Note != "" {
			k.note("priority %s: %s", x.Name, old.Note)
		}
		if old.Plugin == "" {
			continue
		}
		if old.Strategy != "" && k.strategy != "" && old.Strategy != k.strategy {
			k.note("priority %s: left out, NodeResourcesFit has one strategy and it is %s already; another profile can have another", x.Name, k.strategy)
			continue
		}
		if old.Strategy == string(configv1.RequestedToCapacityRatio) && (x.Argument == nil || x.Argument.RequestedToCapacityRatioArguments == nil) {
			k.note("priority %s: left out, it needs requestedToCapacityRatioArguments", x.Name)
			continue
		}
		if old.Strategy != "" {
			k.strategy = old.Strategy
		}
		if a := x.Argument; a != nil && a.RequestedToCapacityRatioArguments != nil {
			k.ratioOf(x.Name, a.RequestedToCapacityRatioArguments.Shape, a.RequestedToCapacityRatioArguments.Resources)
		}
		k.add(x.Name, old.Plugin, int32(x.Weight))
	}
	plugins.Score.Enabled = k.scores
}

// ratioOf uses the shape and the resources of the first priority that has them.
func (k *policyConverter) ratioOf(name string, shape []configv1.UtilizationShapePoint, list []configv1.ResourceSpec) {
	if k.ratio != nil {
		k.note("priority %s: its shape is left out, NodeResourcesFit has one already", name)
		return
	}
	if slices.ContainsFunc(shape, func(p configv1.UtilizationShapePoint) bool { return p.Score > 10 }) &&
		!slices.ContainsFunc(shape, func(p configv1.UtilizationShapePoint) bool { return p.Score > 100 }) {
		for i := range shape {
			shape[i].Score /= 10
		}
		k.note("priority %s: the scores of its shape are divided by 10: they go from 0 to 10, not to 100", name)
	}
	k.ratio = &configv1.ScoringStrategy{
		Type: configv1.RequestedToCapacityRatio, Resources: list,
		RequestedToCapacityRatio: &configv1.RequestedToCapacityRatioParam{Shape: shape},
	}
	for _, err := range checkNames(list, field.NewPath("resources")) {
		k.note("priority %s: %v", name, err)
	}
}

// add enables a score plugin. It adds the weight to a plugin that is there already.
func (k *policyConverter) add(name, plugin string, weight int32) {
	for i := range k.scores {
		if k.scores[i].Name == plugin {
			sum := int64(*k.scores[i].Weight) + int64(weight)
			w := int32(min(sum, 1<<31-1))
			k.scores[i].Weight = &w
			k.note("priority %s: adds its weight to that of %s", name, plugin)
			return
		}
	}
	k.scores = append(k.scores, configv1.Plugin{Name: plugin, Weight: &weight})
}
