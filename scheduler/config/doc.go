// Package config (experimental) reads kube-scheduler's configuration and makes scheduling profiles from it.
//
//	c, err := config.Load(data)                         // KubeSchedulerConfiguration, YAML or JSON
//	profile := c.Profile(pod.Spec.SchedulerName)        // nil: another scheduler's pod
//	plan, err := placement.New(snapshot, profile.Placement)
//	fmt.Println(profile.Candidates)                     // for preemption; nil: this profile does not preempt
//	fmt.Println(c.Extenders)                            // package httpextender asks them
//
// Load does what kube-scheduler v1.37 does between reading the file and scheduling the first pod: strict decoding,
// defaults, validation, merging of the plugin lists with the default ones (multiPoint, enabled, disabled, "*", weights),
// and the checks of plugin arguments. It refuses what v1.37 refuses, with v1.37's words; what only fails when v1.37 starts
// (unknown plugins, no queue order, arguments of NodeResourcesFit) fails here too. Decode, [SetDefaults], [Validate] and
// [Loader.Build] are the single steps.
//
// Versions: kubescheduler.config.k8s.io/v1, and v1beta3, whose shape is the same and which v1.37 does not read any more.
// A document of v1beta3 gets a warning that says so. Older versions, documents of v1beta3 that do not load as v1, and scheduling
// policies get v1.37's error together with the v1 document that does the same
// ([OldVersionError]); [ConvertPolicy] converts policies, [OldPriorities] is the table of their priority names, and
// [history.FindOldFilter] that of their predicates.
//
// Three traps that the lists have: a default plugin enabled again at a point without a weight counts once, whatever its
// default weight was; it also moves to the front there; and percentageOfNodesToScore 0 in a profile asks for the adaptive
// share, it does not inherit. Arguments of plugins that do not run are not looked at beyond their form.
//
// Plugins of v1.37 that package [placement] does not have (binding, queue order, volumes' reservation) are in
// [Profile.Plugins] and not in [Profile.Placement]. Durations are [time.Duration], percentages 0 to 100, weights as v1.37 has
// them: negative ones are accepted where v1.37 accepts them.
//
// Everything here is a pure function of the document. What all packages promise is said in [github.com/podberth/podberth].
package config
