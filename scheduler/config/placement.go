package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/score"
)

// builder makes the placement plugins of one profile.
type builder struct {
	loader  Loader
	profile *configv1.KubeSchedulerProfile
	args    map[string]runtime.Object
	base    placement.Profile
	plugin  map[string]*placement.Plugin // the plugins made so far
}

// readArgs collects the arguments of the plugins that run. It makes the checks that v1.37 makes only at this point.
func (b *builder) readArgs(used map[string]bool) error {
	for _, entry := range b.profile.PluginConfig {
		switch {
		case !used[entry.Name]: // the arguments of plugins that do not run are ignored
		case entry.Args.Object != nil:
			b.args[entry.Name] = entry.Args.Object
		case len(entry.Args.Raw) > 0:
			b.args[entry.Name] = &runtime.Unknown{Raw: entry.Args.Raw, ContentType: runtime.ContentTypeJSON}
		}
	}
	if a, ok := b.args["NodeResourcesFit"].(*configv1.NodeResourcesFitArgs); ok {
		if errs := score.ValidateFitArgs(fitArgs(a), nil); len(errs) > 0 {
			return fmt.Errorf("initializing plugin %q: %w", "NodeResourcesFit", errs.ToAggregate())
		}
	}
	return nil
}

// raw returns the arguments of a plugin that v1.37 does not have.
func (b *builder) raw(name string) []byte {
	switch a := b.args[name].(type) {
	case *runtime.Unknown:
		return a.Raw
	}
	return nil
}

// placement returns the filters and scores in their order. It leaves out plugins of v1.37 that package placement does not
// have; they decide nothing in it.
func (b *builder) placement(plugins Plugins) (placement.Profile, error) {
	out := placement.Profile{SchedulerName: nameOf(b.profile)}
	for _, p := range plugins[Filter] {
		f, err := b.filter(p.Name)
		if err != nil {
			return out, err
		}
		if f != nil {
			out.Filters = append(out.Filters, f)
		}
	}
	for _, p := range plugins[PreFilter] {
		if plugins.Has(Filter, p.Name) {
			continue
		}
		f, err := b.filter(p.Name)
		if err != nil {
			return out, err
		}
		if f != nil {
			out.Filters = append(out.Filters, preFilterOnly(f))
		}
	}
	for _, p := range plugins[Score] {
		s, err := b.score(p.Name)
		if err != nil {
			return out, err
		}
		if s != nil {
			out.Scores = append(out.Scores, placement.Weighted{Plugin: s, Weight: p.Weight})
		}
	}
	return out, nil
}

// made returns the plugin of that name with its arguments, the same plugin at every call. It returns nil for a plugin
// without arguments.
func (b *builder) made(name string) (*placement.Plugin, error) {
	p, ok := b.plugin[name]
	if ok {
		return p, nil
	}
	p, err := b.make(name)
	if err == nil {
		b.plugin[name] = p
	}
	return p, err
}

func (b *builder) make(name string) (*placement.Plugin, error) {
	out := b.loader.Args
	switch a := b.args[name].(type) {
	case *configv1.NodeAffinityArgs:
		o, err := affinity.CompileAdded(a.AddedAffinity)
		if err != nil {
			return nil, fmt.Errorf("initializing plugin %q: %w", name, err)
		}
		out.NodeAffinity = o
	case *configv1.NodeResourcesFitArgs:
		args := fitArgs(a)
		out.NodeResourcesFit = placement.FitOptions{Fit: fitOptions(args), Args: args}
	case *configv1.PodTopologySpreadArgs:
		out.PodTopologySpread.Defaults = spreadDefaults(a)
	case *configv1.InterPodAffinityArgs:
		out.InterPodAffinity = podOptions(a)
	case *configv1.NodeResourcesBalancedAllocationArgs:
		out.BalancedAllocation = balanceArgs(a)
	case *configv1.VolumeBindingArgs:
		out.Volumes.Shape = pointsOf(a.Shape)
	case *configv1.DynamicResourcesArgs:
		out.Devices.FilterTimeout, out.Devices.BindingTimeout = searchTime(a.FilterTimeout.Duration), a.BindingTimeout.Duration
	default:
		return nil, nil
	}
	return out.Plugin(name)
}

// searchTime returns how long a search for devices on one node may take: all of a filterTimeout of up to a second, of a longer one a tenth,
// and a second at least. kube-scheduler takes all of it, and schedules no other pod meanwhile. A search here looks ahead: docs/devices.md has
// the claims that were searched for both ways.
func searchTime(filterTimeout time.Duration) time.Duration {
	return min(filterTimeout, max(time.Second, filterTimeout/10))
}

func (b *builder) filter(name string) (*placement.Plugin, error) {
	if p, ok := b.loader.Plugins[name]; ok && inTree[name] == nil {
		if p.Filter == nil {
			return nil, nil
		}
		return named(p.Filter, name, b.raw(name))
	}
	p, err := b.made(name)
	if err != nil || p != nil && p.Filter != nil {
		return p, err
	}
	return b.base.Filter(name), nil
}

func (b *builder) score(name string) (*placement.Plugin, error) {
	if p, ok := b.loader.Plugins[name]; ok && inTree[name] == nil {
		if p.Score == nil {
			return nil, nil
		}
		return named(p.Score, name, b.raw(name))
	}
	p, err := b.made(name)
	if err != nil || p != nil && p.Score != nil {
		return p, err
	}
	for _, w := range b.base.Scores {
		if w.Plugin.Name == name {
			return w.Plugin, nil
		}
	}
	return nil, nil
}

// plugins returns the plugins of v1.37 that package placement has, as far as they are in the lists.
func (b *builder) plugins(used map[string]bool) (map[string]any, error) {
	out := map[string]any{}
	for name := range used {
		if inTree[name] == nil {
			continue
		}
		f, err := b.filter(name)
		if err != nil {
			return nil, err
		}
		if f != nil {
			out[name] = f
			continue
		}
		s, err := b.score(name)
		if err != nil {
			return nil, err
		}
		if s != nil {
			out[name] = s
		}
	}
	return out, nil
}

// named calls a factory and puts the plugin's name in front of its error.
func named[P any](make func([]byte) (P, error), name string, args []byte) (P, error) {
	p, err := make(args)
	if err != nil {
		err = fmt.Errorf("initializing plugin %q: %w", name, err)
	}
	return p, err
}

// preFilterOnly returns a plugin that runs at PreFilter and not at Filter: it may reject the pod as a whole or limit the
// nodes. Such a plugin has no group, so the engine keeps nothing for its profile.
func preFilterOnly(p *placement.Plugin) *placement.Plugin {
	only := *p
	only.Keep, only.Score = placement.KeepNothing, nil
	only.Filter = func(pod *v1.Pod, c placement.Cluster) placement.PreFiltered {
		f := p.Filter(pod, c)
		f.Predicate = nil
		return f
	}
	return &only
}

// unmatched names what matches nothing: arguments without a name or of no plugin, resources of the scores that no node has,
// and disabled plugins that do not exist. v1.37 accepts them silently.
func (b *builder) unmatched(registry map[string][]Point) []string {
	out := disabledInVain(listsOf(b.profile.Plugins), registry)
	for k, entry := range b.profile.PluginConfig {
		at := fmt.Sprintf("pluginConfig[%d]", k)
		switch {
		case entry.Name == "":
			out = append(out, at+".name: Required value: without a name the arguments are no plugin's")
			continue
		case registry[entry.Name] == nil:
			out = append(out, fmt.Sprintf("%s.name: Invalid value: %q: there is no such plugin, so the arguments count for nothing", at, entry.Name))
			continue
		}
		var list []configv1.ResourceSpec
		path := field.NewPath(at, "args")
		switch a := b.args[entry.Name].(type) {
		case *configv1.NodeResourcesFitArgs:
			if a.ScoringStrategy != nil {
				list, path = a.ScoringStrategy.Resources, path.Child("scoringStrategy")
			}
		case *configv1.NodeResourcesBalancedAllocationArgs:
			list = a.Resources
		}
		for _, err := range checkNames(list, path.Child("resources")) {
			out = append(out, err.Error())
		}
	}
	return out
}

// warnings reports plugins that need their own work at an earlier point and do not run at that point.
func warnings(plugins Plugins) []string {
	var out []string
	for _, pair := range [...]struct{ needs, at Point }{{PreFilter, Filter}, {PreScore, Score}} {
		for _, p := range plugins[pair.at] {
			if slices.Contains(inTree[p.Name], pair.needs) && !plugins.Has(pair.needs, p.Name) {
				out = append(out, fmt.Sprintf("plugin %s runs at %v but not at %v, where it prepares: kube-scheduler may fail every pod", p.Name, pair.at, pair.needs))
			}
		}
	}
	return out
}

// disabledInVain names the disabled plugins that do not exist. For a plugin of an earlier release it says what became of the plugin.
func disabledInVain(l pluginLists, registry map[string][]Point) []string {
	var out []string
	check := func(list string, set pluginSet) {
		for k, p := range set.Disabled {
			if p.Name == "*" || registry[p.Name] != nil {
				continue
			}
			text := fmt.Sprintf("plugins.%s.disabled[%d].name: Invalid value: %q: there is no such plugin, so nothing is disabled", list, k, p.Name)
			if old, ok := ModernPriority(p.Name); ok && old.Note != "" {
				text += ": " + old.Note
			}
			out = append(out, text)
		}
	}
	for at, set := range l.own {
		name := Point(at).String()
		check(strings.ToLower(name[:1])+name[1:], set)
	}
	check("multiPoint", l.multi)
	return out
}
