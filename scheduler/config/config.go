package config

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/resources"

	"github.com/podberth/podberth/scheduler/httpextender/rules"
)

// Configuration is a loaded document.
type Configuration struct {
	// Profiles are the document's profiles in its order, at least one. They share queue, cluster and extenders.
	Profiles []Profile
	// Extenders are the document's extenders in its order. rules.Order has the order in which they are asked.
	Extenders []configv1.Extender
	// Parallelism is how many nodes may be evaluated in parallel, at least 1.
	Parallelism int
	// PodInitialBackoff and PodMaxBackoff are the shortest and longest backoff of a pod after a failure.
	PodInitialBackoff, PodMaxBackoff time.Duration
	// PercentageOfNodesToScore is the document's, 0 to 100; profiles may override it. 0 asks for the adaptive share.
	PercentageOfNodesToScore int32
	// Document is the document with its defaults. It must not be changed.
	Document *configv1.KubeSchedulerConfiguration
}

// Profile returns the profile of a spec.schedulerName. It returns nil when there is no such profile: another scheduler has
// these pods.
func (c *Configuration) Profile(schedulerName string) *Profile {
	for k := range c.Profiles {
		if c.Profiles[k].SchedulerName == schedulerName {
			return &c.Profiles[k]
		}
	}
	return nil
}

// Profile is one profile of a configuration.
type Profile struct {
	// SchedulerName is the spec.schedulerName of its pods.
	SchedulerName string
	// Plugins are the plugins that run, by extension point.
	Plugins Plugins
	// Args are the arguments by plugin name: pointers to the published types (configv1.NodeAffinityArgs and so on) for
	// v1.37's plugins, *runtime.Unknown with the raw bytes for others.
	Args map[string]runtime.Object
	// Placement has the plugins that filter and score.
	Placement placement.Profile
	// Candidates are the arguments of DefaultPreemption; nil when that plugin does not run at PostFilter, and the profile
	// does not preempt.
	Candidates *preemption.CandidateArgs
	// Warnings are about settings that v1.37 accepts silently although nobody can want them, one line each.
	Warnings []string

	made map[string]any
}

// Plugin returns the plugin of package placement for a plugin of v1.37, with the profile's arguments: the plugins of
// Placement, and plugins that run only at [PreFilter] or [PreScore]. It returns nil for names that package placement does not
// have, and for plugins that do not run.
func (p *Profile) Plugin(name string) any { return p.made[name] }

// Load reads a document with only the plugins of v1.37. See [Loader].
func Load(data []byte) (*Configuration, error) { return Loader{}.Load(data) }

// Loader reads configurations. The zero value knows the plugins of v1.37.
type Loader struct {
	// Plugins are plugins that v1.37 does not have, by name.
	Plugins map[string]Plugin
	// Args are what plugins of v1.37 follow beside the arguments of a document, such as feature gates (groups.FeatureGates.Args). The
	// zero value is v1.37's. What a document may say wins over Args.
	Args placement.PluginArgs
}

// Plugin is a plugin that v1.37 does not have.
type Plugin struct {
	// Points are the extension points of the plugin.
	Points []Point
	// Filter makes the filter of a plugin that runs at Filter or PreFilter. args are nil when the profile has none for the
	// plugin. A nil Filter leaves the filter to the caller.
	Filter func(args []byte) (*placement.Plugin, error)
	// Score makes the scorer of a plugin that runs at Score. A nil Score leaves the scorer to the caller.
	Score func(args []byte) (*placement.Plugin, error)
}

// Load decodes, completes and checks a document and makes its profiles. The errors are those with which v1.37 refuses the
// document or fails to start. See [Decode] for versions. A document of v1beta3 that does not load as v1 gets an
// *OldVersionError.
func (l Loader) Load(data []byte) (*Configuration, error) {
	document, err := Decode(data)
	if err != nil {
		return nil, err
	}
	c, err := l.Build(document)
	if gvk := versionOf(data); gvk != nil && gvk.GroupVersion() == v1beta3 {
		return ofV1beta3(c, err, data)
	}
	return c, err
}

// Build checks a configuration of the published type and makes its profiles. It does not change the document.
func (l Loader) Build(document *configv1.KubeSchedulerConfiguration) (*Configuration, error) {
	document = document.DeepCopy()
	SetDefaults(document)
	if errs := Validate(document); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	c := &Configuration{
		Extenders:                document.Extenders,
		Parallelism:              int(*document.Parallelism),
		PodInitialBackoff:        resources.Seconds(*document.PodInitialBackoffSeconds),
		PodMaxBackoff:            resources.Seconds(*document.PodMaxBackoffSeconds),
		PercentageOfNodesToScore: *document.PercentageOfNodesToScore,
		Document:                 document,
	}
	if err := leaveToExtenders(document); err != nil {
		return nil, fmt.Errorf("couldn't build extenders: %w", err)
	}
	registry := l.registry()
	for k := range document.Profiles {
		p, err := l.profile(&document.Profiles[k], registry, c)
		if err != nil {
			return nil, fmt.Errorf("initializing profiles: creating profile for scheduler name %s: %w", nameOf(&document.Profiles[k]), err)
		}
		c.Profiles = append(c.Profiles, p)
	}
	return c, oneQueueSort(c.Profiles)
}

// leaveToExtenders replaces the ignored resources of NodeResourcesFit in every profile by the resources that extenders
// manage. Like v1.37 it then refuses a profile without that plugin.
func leaveToExtenders(c *configv1.KubeSchedulerConfiguration) error {
	ignored := rules.IgnoredByScheduler(extendersOf(c.Extenders))
	if len(ignored) == 0 {
		return nil
	}
	for k := range c.Profiles {
		a := args[*configv1.NodeResourcesFitArgs](&c.Profiles[k], fitPlugin)
		if a == nil {
			return errors.New("can't find NodeResourcesFitArgs in plugin config")
		}
		a.IgnoredResources = slices.Clone(ignored)
	}
	return nil
}

func (l Loader) registry() map[string][]Point {
	registry := make(map[string][]Point, len(inTree)+len(l.Plugins))
	for name, p := range l.Plugins {
		registry[name] = p.Points
	}
	for name, at := range inTree {
		registry[name] = at
	}
	return registry
}

// profile makes one profile. It finds errors in v1.37's order: arguments, lists, queue order, binding, weights.
func (l Loader) profile(p *configv1.KubeSchedulerProfile, registry map[string][]Point, c *Configuration) (Profile, error) {
	own := listsOf(p.Plugins).merged()
	b := builder{loader: l, profile: p, args: map[string]runtime.Object{}, base: l.Args.Profile(), plugin: map[string]*placement.Plugin{}}
	if err := b.readArgs(own.used()); err != nil {
		return Profile{}, err
	}
	plugins, err := own.expand(registry)
	if err != nil {
		return Profile{}, err
	}
	if n := len(plugins[QueueSort]); n != 1 {
		return Profile{}, fmt.Errorf("only one queue sort plugin required for profile with scheduler name %q, but got %d", nameOf(p), n)
	}
	if len(plugins[Bind]) == 0 {
		return Profile{}, fmt.Errorf("at least one bind plugin is needed for profile with scheduler name %q", nameOf(p))
	}
	if err := own.weigh(plugins, registry); err != nil {
		return Profile{}, err
	}
	out := Profile{SchedulerName: nameOf(p), Plugins: plugins, Args: b.args, Warnings: slices.Concat(warnings(plugins), b.unmatched(registry))}
	if out.Placement, err = b.placement(plugins); err != nil {
		return Profile{}, err
	}
	if out.made, err = b.plugins(own.used()); err != nil {
		return Profile{}, err
	}
	out.Placement.Sampling.Percentage = p.PercentageOfNodesToScore
	out.Placement.Sampling.Global = c.PercentageOfNodesToScore
	if plugins.Has(PostFilter, "DefaultPreemption") {
		candidates := candidateArgs(args[*configv1.DefaultPreemptionArgs](p, "DefaultPreemption"))
		out.Candidates = &candidates
	}
	return out, nil
}

// oneQueueSort refuses profiles that order the queue differently, because all pods wait in the same queue.
func oneQueueSort(profiles []Profile) error {
	for _, p := range profiles[1:] {
		if a, b := profiles[0].Plugins[QueueSort][0].Name, p.Plugins[QueueSort][0].Name; a != b {
			return fmt.Errorf("initializing profiles: different queue sort plugins for profile %q: %q, first: %q", p.SchedulerName, b, a)
		}
	}
	return nil
}
