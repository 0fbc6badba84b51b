package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	baseconfig "k8s.io/component-base/config"
	basev1alpha1 "k8s.io/component-base/config/v1alpha1"
	basevalidation "k8s.io/component-base/config/validation"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/spread"

	"github.com/podberth/podberth/scheduler/httpextender/rules"
)

// Validate returns v1.37's errors about a configuration that has its defaults, in v1.37's order. Like v1.37 it checks
// neither the arguments of NodeResourcesFit, nor weights, nor whether plugins exist: [Loader.Build] checks these when it
// makes the profiles. Where v1.37 has no order (enabled plugins that were removed) it uses the order of [Points].
func Validate(c *configv1.KubeSchedulerConfiguration) field.ErrorList {
	errs := validateSurroundings(c)
	if *c.Parallelism <= 0 {
		errs = append(errs, field.Invalid(field.NewPath("parallelism"), *c.Parallelism, "should be an integer value greater than zero"))
	}
	profiles := field.NewPath("profiles")
	if len(c.Profiles) == 0 {
		errs = append(errs, field.Required(profiles, ""))
	}
	names := map[string]bool{}
	for i := range c.Profiles {
		p, path := &c.Profiles[i], profiles.Index(i)
		errs = append(errs, validateProfile(p, path)...)
		name := nameOf(p)
		if names[name] {
			errs = append(errs, field.Duplicate(path.Child("schedulerName"), struct{}{})) // v1.37 prints {} for the value
		}
		names[name] = true
	}
	errs = append(errs, validateQueueSort(c.Profiles, profiles)...)
	errs = append(errs, filter.ValidatePercentage(c.PercentageOfNodesToScore, field.NewPath("percentageOfNodesToScore"))...)
	if *c.PodInitialBackoffSeconds <= 0 {
		errs = append(errs, field.Invalid(field.NewPath("podInitialBackoffSeconds"), *c.PodInitialBackoffSeconds, "must be greater than 0"))
	}
	if *c.PodMaxBackoffSeconds < *c.PodInitialBackoffSeconds {
		errs = append(errs, field.Invalid(field.NewPath("podMaxBackoffSeconds"), *c.PodMaxBackoffSeconds,
			"must be greater than or equal to PodInitialBackoffSeconds"))
	}
	return append(errs, rules.ValidateExtenders(extendersOf(c.Extenders), field.NewPath("extenders"))...)
}

// validateSurroundings checks the fields that do not concern scheduling.
func validateSurroundings(c *configv1.KubeSchedulerConfiguration) field.ErrorList {
	client := baseconfig.ClientConnectionConfiguration{
		Kubeconfig: c.ClientConnection.Kubeconfig, AcceptContentTypes: c.ClientConnection.AcceptContentTypes,
		ContentType: c.ClientConnection.ContentType, QPS: c.ClientConnection.QPS, Burst: c.ClientConnection.Burst,
	}
	errs := basevalidation.ValidateClientConnectionConfiguration(&client, field.NewPath("clientConnection"))
	var leader baseconfig.LeaderElectionConfiguration
	path := field.NewPath("leaderElection")
	if err := basev1alpha1.Convert_v1alpha1_LeaderElectionConfiguration_To_config_LeaderElectionConfiguration(&c.LeaderElection, &leader, nil); err != nil {
		return append(errs, field.InternalError(path, err))
	}
	errs = append(errs, basevalidation.ValidateLeaderElectionConfiguration(&leader, path)...)
	if leader.LeaderElect && leader.ResourceLock != "leases" {
		errs = append(errs, field.Invalid(path.Child("resourceLock"), leader.ResourceLock, `resourceLock value must be "leases"`))
	}
	return errs
}

func nameOf(p *configv1.KubeSchedulerProfile) string {
	if p.SchedulerName == nil {
		return ""
	}
	return *p.SchedulerName
}

func validateProfile(p *configv1.KubeSchedulerProfile, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if nameOf(p) == "" {
		errs = append(errs, field.Required(path.Child("schedulerName"), ""))
	}
	errs = append(errs, filter.ValidatePercentage(p.PercentageOfNodesToScore, path.Child("percentageOfNodesToScore"))...)
	own := listsOf(p.Plugins).own
	for _, at := range listOrder {
		list := path.Child("plugins", listName(at), "enabled")
		for k, plugin := range own[at].Enabled {
			if slices.Contains(removed, plugin.Name) {
				errs = append(errs, removedPlugin(list.Index(k), plugin.Name))
			}
		}
	}
	seen := map[string]bool{}
	for k := range p.PluginConfig {
		entry, at := &p.PluginConfig[k], path.Child("pluginConfig").Index(k)
		if seen[entry.Name] {
			errs = append(errs, field.Duplicate(at, entry.Name))
		}
		seen[entry.Name] = true
		if slices.Contains(removed, entry.Name) {
			errs = append(errs, removedPlugin(at, entry.Name))
			continue
		}
		errs = append(errs, validateArgs(entry, at.Child("args"))...)
	}
	return errs
}

// removed are the plugins that a document of v1 must not enable or configure at a point any more.
var removed = []string{"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"}

// listOrder is the order in which the lists with removed plugins are reported.
var listOrder = []Point{PreEnqueue, QueueSort, PreFilter, Filter, PostFilter, PreScore, Score, Reserve, Permit, PreBind, Bind, PostBind, PodGroupPostFilter}

func listName(at Point) string {
	name := at.String()
	return string(name[0]|0x20) + name[1:]
}

func removedPlugin(path *field.Path, name string) *field.Error {
	return field.Invalid(path, name, fmt.Sprintf("was invalid in version %q (%s is version %q)",
		configv1.SchemeGroupVersion.Version, configKind, configv1.SchemeGroupVersion.String()))
}

// validateQueueSort checks that all profiles have one order of the queue.
func validateQueueSort(profiles []configv1.KubeSchedulerProfile, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	var first pluginSet
	for i := range profiles {
		set, at := listsOf(profiles[i].Plugins).own[QueueSort], path.Index(i).Child("plugins", "queueSort")
		if i == 0 {
			first = set
			if n := len(set.Enabled); n > 1 {
				errs = append(errs, field.Invalid(at.Child("Enabled"), n, "only one queue sort plugin can be enabled"))
			}
			continue
		}
		if !reflect.DeepEqual(first, set) {
			errs = append(errs, field.Invalid(at, set, "must be the same for all profiles"))
		}
		if len(first.Enabled) == 0 {
			continue
		}
		name := first.Enabled[0].Name
		for _, entry := range profiles[i].PluginConfig {
			if entry.Name == name && !sameArgs(argsNamed(&profiles[0], name), entry.Args) {
				errs = append(errs, field.Invalid(path.Index(i).Child("pluginConfig", "args"), printed(entry.Args), "queueSort must be the same for all profiles"))
			}
		}
	}
	return errs
}

// argsNamed returns the last arguments of a profile for a plugin.
func argsNamed(p *configv1.KubeSchedulerProfile, name string) (args runtime.RawExtension) {
	for k := range p.PluginConfig {
		if p.PluginConfig[k].Name == name {
			args = p.PluginConfig[k].Args
		}
	}
	return args
}

// sameArgs compares decoded arguments, or their bytes when they are not decoded.
func sameArgs(a, b runtime.RawExtension) bool {
	if a.Object != nil || b.Object != nil {
		return reflect.DeepEqual(a.Object, b.Object)
	}
	return bytes.Equal(a.Raw, b.Raw) && (a.Raw == nil) == (b.Raw == nil)
}

func validateArgs(entry *configv1.PluginConfig, path *field.Path) field.ErrorList {
	want := argsOf(entry.Name)
	if want == nil || entry.Args.Object == nil {
		return nil
	}
	if reflect.TypeOf(want) != reflect.TypeOf(entry.Args.Object) {
		return field.ErrorList{field.Invalid(path, "", "has to match plugin args")}
	}
	switch a := entry.Args.Object.(type) {
	case *configv1.DefaultPreemptionArgs:
		return candidateArgs(a).Validate(path)
	case *configv1.DynamicResourcesArgs:
		return validateDynamicResources(a, path)
	case *configv1.InterPodAffinityArgs:
		return podOptions(a).Validate(path)
	case *configv1.NodeAffinityArgs:
		return validateNodeAffinity(a, path)
	case *configv1.NodeResourcesBalancedAllocationArgs:
		return score.ValidateBalanceArgs(balanceArgs(a), path)
	case *configv1.PodTopologySpreadArgs:
		return spread.ValidateDefaults(spreadDefaults(a), path)
	case *configv1.VolumeBindingArgs:
		return validateVolumeBinding(a, path)
	}
	return nil
}

// validateNodeAffinity returns the errors of compiling the added terms, with the path of the arguments.
func validateNodeAffinity(a *configv1.NodeAffinityArgs, path *field.Path) field.ErrorList {
	_, err := affinity.CompileAdded(a.AddedAffinity)
	if err == nil {
		return nil
	}
	leaves := []error{err}
	if all, ok := err.(utilerrors.Aggregate); ok {
		leaves = utilerrors.Flatten(all).Errors()
	}
	var errs field.ErrorList
	for _, leaf := range leaves {
		var f *field.Error
		if !errors.As(leaf, &f) {
			errs = append(errs, field.Invalid(path.Child("addedAffinity"), a.AddedAffinity, leaf.Error()))
			continue
		}
		at := *f
		at.Field = path.Child(f.Field).String()
		errs = append(errs, &at)
	}
	return errs
}

func validateDynamicResources(a *configv1.DynamicResourcesArgs, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if d := a.FilterTimeout.Duration; d < 0 {
		errs = append(errs, field.Invalid(path.Child("filterTimeout"), d.String(), "must be zero or positive"))
	}
	if d := a.BindingTimeout.Duration; d < time.Second {
		errs = append(errs, field.Invalid(path.Child("bindingTimeout"), d.String(), "must be at least 1 second"))
	}
	return errs
}

func validateVolumeBinding(a *configv1.VolumeBindingArgs, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if *a.BindTimeoutSeconds < 0 {
		errs = append(errs, field.Invalid(path.Child("bindTimeoutSeconds"), *a.BindTimeoutSeconds,
			"invalid BindTimeoutSeconds, should not be a negative value"))
	}
	return append(errs, score.ValidateShape(pointsOf(a.Shape), path.Child("shape"))...)
}
