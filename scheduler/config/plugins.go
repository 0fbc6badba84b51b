package config

import (
	"fmt"
	"slices"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/release/plugins"
)

// Plugins are the plugins of a profile by extension point, in the order in which they run. Weights matter at [Score] and
// [PlacementScore] and are never 0 there; at other points they are 0.
type Plugins map[Point][]Entry

// Entry is a plugin of a point with its weight.
type Entry struct {
	Name   string `json:"name"`
	Weight int64  `json:"weight,omitempty"`
}

// Names returns the names of a point's plugins.
func (p Plugins) Names(at Point) []string {
	names := make([]string, len(p[at]))
	for k, plugin := range p[at] {
		names[k] = plugin.Name
	}
	return names
}

// Has reports whether a plugin runs at a point.
func (p Plugins) Has(at Point, name string) bool { return slices.Contains(p.Names(at), name) }

// pluginSet is a list of a profile. It has the form and the field names that kube-scheduler prints.
type pluginSet struct {
	Enabled  []plugin
	Disabled []plugin
}

type plugin struct {
	Name   string
	Weight int32
}

func setOf(s configv1.PluginSet) pluginSet {
	return pluginSet{pluginsOf(s.Enabled), pluginsOf(s.Disabled)}
}

func pluginsOf(list []configv1.Plugin) []plugin {
	var out []plugin
	for _, p := range list {
		q := plugin{Name: p.Name}
		if p.Weight != nil {
			q.Weight = *p.Weight
		}
		out = append(out, q)
	}
	return out
}

// pluginLists are all plugin lists of a profile.
type pluginLists struct {
	own   [numPoints]pluginSet
	multi pluginSet
}

func listsOf(p *configv1.Plugins) pluginLists {
	if p == nil {
		p = &configv1.Plugins{}
	}
	return pluginLists{
		own: [numPoints]pluginSet{
			PreFilter: setOf(p.PreFilter), Filter: setOf(p.Filter), PostFilter: setOf(p.PostFilter), Reserve: setOf(p.Reserve),
			PreScore: setOf(p.PreScore), Score: setOf(p.Score), PreBind: setOf(p.PreBind), Bind: setOf(p.Bind),
			PostBind: setOf(p.PostBind), Permit: setOf(p.Permit), PreEnqueue: setOf(p.PreEnqueue), QueueSort: setOf(p.QueueSort),
			PlacementGenerate: setOf(p.PlacementGenerate), PlacementScore: setOf(p.PlacementScore), PodGroupPostFilter: setOf(p.PodGroupPostFilter),
		},
		multi: setOf(p.MultiPoint),
	}
}

// defaults are the plugins of v1.37's default profile, in order. All of them are in multiPoint.
var defaults = defaultPlugins()

func defaultPlugins() []plugin {
	var out []plugin
	for _, p := range plugins.Default(release.Current) {
		out = append(out, plugin{p.Name, p.Weight})
	}
	return out
}

// merge merges a user's list into the default list (plugins.Merge).
func merge(base []plugin, user pluginSet) pluginSet {
	return pluginSet{plugins.Merge(base, user.Enabled, namesOf(user.Disabled), plugin.name), user.Disabled}
}

func (p plugin) name() string { return p.Name }

func (p plugin) entry() (name string, weight int64) { return p.Name, int64(p.Weight) }

func namesOf(list []plugin) []string {
	var out []string
	for _, p := range list {
		out = append(out, p.Name)
	}
	return out
}

// merged returns the lists merged into v1.37's default lists.
func (l pluginLists) merged() pluginLists {
	l.multi = merge(defaults, l.multi)
	return l
}

// used returns the names in the enabled lists.
func (l pluginLists) used() map[string]bool {
	names := map[string]bool{}
	for _, s := range append(l.own[:], l.multi) {
		for _, p := range s.Enabled {
			names[p.Name] = true
		}
	}
	return names
}

// expand returns the plugins that run at each point for merged lists. The errors are kube-scheduler's: a name that the
// registry lacks, a plugin that does not run at the point, a plugin listed twice.
//
// The lists of the points come first, then multiPoint, each in the order of Points. The order at a point is that of
// plugins.Expand.
func (l pluginLists) expand(registry map[string][]Point) (Plugins, error) {
	for _, at := range Points() {
		seen := map[string]bool{}
		for _, p := range l.own[at].Enabled {
			has, ok := registry[p.Name]
			switch {
			case !ok:
				return nil, missing(at, p.Name)
			case !slices.Contains(has, at):
				return nil, fmt.Errorf("plugin %q does not extend %vPlugin plugin", p.Name, at)
			case seen[p.Name]:
				return nil, plugins.Registered(at.String(), p.Name)
			}
			seen[p.Name] = true
		}
	}
	out := Plugins{}
	for _, at := range Points() {
		names, err := l.at(at, registry)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			out[at] = append(out[at], Entry{Name: name})
		}
	}
	return out, nil
}

// weigh sets the weights of the plugins of Score and PlacementScore in p.
func (l pluginLists) weigh(p Plugins, registry map[string][]Point) error {
	for at, prefix := range [...]string{Score: "score plugins", PlacementScore: "placement score plugins"} {
		if prefix == "" {
			continue
		}
		at := Point(at)
		weights, err := plugins.Weights(l.own[at].Enabled, l.multi.Enabled, plugin.entry, func(name string) bool { return slices.Contains(registry[name], at) })
		if err != nil {
			return fmt.Errorf("%s: %w", prefix, err)
		}
		for k := range p[at] {
			p[at][k].Weight = weights[p[at][k].Name]
		}
	}
	return nil
}

// at returns the names of one point in order.
func (l pluginLists) at(at Point, registry map[string][]Point) ([]string, error) {
	own := l.own[at]
	return plugins.Expand(at.String(), namesOf(own.Enabled), namesOf(own.Disabled), namesOf(l.multi.Enabled), func(name string) (bool, error) {
		has, ok := registry[name]
		if !ok {
			return false, missing(at, name)
		}
		return slices.Contains(has, at), nil
	})
}

func missing(at Point, name string) error {
	return fmt.Errorf("%vPlugin %q does not exist", at, name)
}
