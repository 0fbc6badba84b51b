package scheduler

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/release/plugins"
)

// Profile is the configuration of the pods of one spec.schedulerName: the plugins at each extension point, and their
// arguments. It lists the differences from the defaults. The zero value is the default profile.
type Profile struct {
	// SchedulerName is the spec.schedulerName of the profile's pods. In a list of one profile, "" means
	// "default-scheduler".
	SchedulerName string
	// PercentageOfNodesToScore replaces the percentage of Options. nil keeps the percentage of Options, 0 is the adaptive
	// share.
	PercentageOfNodesToScore *int32
	// Plugins are changes to DefaultPlugins, or to the default plugins of Options.Release.
	Plugins Plugins
	// Args are the arguments of the plugins' factories, by plugin name. Each factory documents the type that it takes.
	Args map[string]any
}

// Point is the name of an extension point.
type Point string

// The extension points that lists of plugins have. [MultiPoint] means all points that a plugin implements.
const (
	PreEnqueue Point = "PreEnqueue"
	QueueSort  Point = "QueueSort"
	PreFilter  Point = "PreFilter"
	Filter     Point = "Filter"
	PostFilter Point = "PostFilter"
	PreScore   Point = "PreScore"
	Score      Point = "Score"
	Reserve    Point = "Reserve"
	Permit     Point = "Permit"
	PreBind    Point = "PreBind"
	Bind       Point = "Bind"
	PostBind   Point = "PostBind"
	MultiPoint Point = "MultiPoint"
)

// The names of parts of points, in metrics and errors.
const (
	addPodPoint    Point = "PreFilterExtensionAddPod"
	removePodPoint Point = "PreFilterExtensionRemovePod"
	normalizePoint Point = "ScoreExtensionNormalize"
	unreservePoint Point = "Unreserve"
	preFlightPoint Point = "PreBindPreFlight"
	hintPoint      Point = "QueueingHint"
	signPoint      Point = "Sign"
)

// Points are the extension points in the order of an attempt, without [MultiPoint].
func Points() []Point {
	return []Point{PreEnqueue, QueueSort, PreFilter, Filter, PostFilter, PreScore, Score, Reserve, Permit, PreBind, Bind, PostBind}
}

// Plugins are the lists of plugins by extension point.
type Plugins map[Point]PluginSet

// PluginSet changes the list of one point.
type PluginSet struct {
	Enabled []PluginRef
	// Disabled are the names of plugins that do not run. "*" disables all plugins that are not in Enabled. Unknown names
	// are ignored.
	Disabled []string
}

// PluginRef names a plugin. Weight is used at [Score]; 0 means 1.
type PluginRef struct {
	Name   string
	Weight int64
}

// merge applies changes to default lists (plugins.Merge).
func merge(defaults, changes PluginSet) PluginSet {
	return PluginSet{plugins.Merge(defaults.Enabled, changes.Enabled, changes.Disabled, nameOf), changes.Disabled}
}

func nameOf(p PluginRef) string { return p.Name }

func namesOf(list []PluginRef) []string {
	var out []string
	for _, p := range list {
		out = append(out, p.Name)
	}
	return out
}

// merged returns the profile's lists with the defaults of a release in them.
func (p Profile) merged(v release.Version) Plugins {
	out, defaults := Plugins{}, defaultPlugins(v)
	for _, at := range append(Points(), MultiPoint) {
		out[at] = merge(defaults[at], p.Plugins[at])
	}
	return out
}

// expand returns the names of the plugins that run at a point, in order (plugins.Expand). fits reports whether a plugin of
// multiPoint has this point.
func expand(at Point, own, multi PluginSet, fits func(name string) bool) ([]string, error) {
	return plugins.Expand(string(at), namesOf(own.Enabled), own.Disabled, namesOf(multi.Enabled), func(name string) (bool, error) {
		return fits(name), nil
	})
}

// weights returns the factor of each score plugin (plugins.Weights).
func weights(own, multi PluginSet, fits func(name string) bool) (map[string]int64, error) {
	return plugins.Weights(own.Enabled, multi.Enabled, func(p PluginRef) (string, int64) { return p.Name, p.Weight }, fits)
}

func checkProfiles(profiles []Profile) error {
	if len(profiles) == 0 {
		return errors.New("at least one profile is required")
	}
	seen := map[string]bool{}
	for _, p := range profiles {
		if p.SchedulerName == "" {
			return errors.New("scheduler name is needed")
		}
		if seen[p.SchedulerName] {
			return fmt.Errorf("duplicate profile with scheduler name %q", p.SchedulerName)
		}
		seen[p.SchedulerName] = true
	}
	return nil
}

// defaulted sets the name of a single profile that has no name. Without profiles it returns the default profile.
func defaulted(profiles []Profile) []Profile {
	if len(profiles) == 0 {
		profiles = []Profile{{}}
	}
	if len(profiles) == 1 && profiles[0].SchedulerName == "" {
		p := profiles[0]
		p.SchedulerName = v1.DefaultSchedulerName
		return []Profile{p}
	}
	return profiles
}
