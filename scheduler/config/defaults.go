package config

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	basev1alpha1 "k8s.io/component-base/config/v1alpha1"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// orDefault sets a nil pointer.
func orDefault[T any](p **T, value T) {
	if *p == nil {
		*p = &value
	}
}

// SetDefaults sets, in place, v1.37's defaults for missing fields: the numbers; one profile called default-scheduler when
// there is no profile, or a single profile without a name; the arguments of the plugins that run and take arguments. The
// plugin lists stay as they are: Load merges them with the default lists. Arguments must be decoded or missing. A second
// call changes nothing.
func SetDefaults(c *configv1.KubeSchedulerConfiguration) {
	orDefault(&c.Parallelism, 16)
	orDefault(&c.PercentageOfNodesToScore, 0)
	orDefault(&c.PodInitialBackoffSeconds, 1)
	orDefault(&c.PodMaxBackoffSeconds, 10)
	orDefault(&c.EnableProfiling, true)
	orDefault(&c.EnableContentionProfiling, true)

	l := &c.LeaderElection
	l.ResourceLock = cmp.Or(l.ResourceLock, "leases")
	l.ResourceNamespace = cmp.Or(l.ResourceNamespace, configv1.SchedulerDefaultLockObjectNamespace)
	l.ResourceName = cmp.Or(l.ResourceName, configv1.SchedulerDefaultLockObjectName)
	basev1alpha1.RecommendedDefaultLeaderElectionConfiguration(l)
	c.ClientConnection.ContentType = cmp.Or(c.ClientConnection.ContentType, "application/vnd.kubernetes.protobuf")
	basev1alpha1.RecommendedDefaultClientConnectionConfiguration(&c.ClientConnection)

	if len(c.Profiles) == 0 {
		c.Profiles = []configv1.KubeSchedulerProfile{{}}
	}
	if len(c.Profiles) == 1 {
		orDefault(&c.Profiles[0].SchedulerName, v1.DefaultSchedulerName)
	}
	for i := range c.Profiles {
		defaultArgs(&c.Profiles[i])
	}
}

// argsOf returns new arguments of a plugin, nil for a plugin that takes none. The names are those of v1.37.
func argsOf(name string) runtime.Object {
	switch name {
	case "DefaultPreemption":
		return &configv1.DefaultPreemptionArgs{}
	case "DynamicResources":
		return &configv1.DynamicResourcesArgs{}
	case "InterPodAffinity":
		return &configv1.InterPodAffinityArgs{}
	case "NodeAffinity":
		return &configv1.NodeAffinityArgs{}
	case "NodeResourcesBalancedAllocation":
		return &configv1.NodeResourcesBalancedAllocationArgs{}
	case "NodeResourcesFit":
		return &configv1.NodeResourcesFitArgs{}
	case "PodTopologySpread":
		return &configv1.PodTopologySpreadArgs{}
	case "VolumeBinding":
		return &configv1.VolumeBindingArgs{}
	}
	return nil
}

// defaultArgs completes the given arguments and adds missing arguments of plugins that run.
func defaultArgs(p *configv1.KubeSchedulerProfile) {
	given := map[string]bool{}
	for k := range p.PluginConfig {
		entry := &p.PluginConfig[k]
		given[entry.Name] = true
		if entry.Args.Object == nil {
			if args := argsOf(entry.Name); args != nil && len(entry.Args.Raw) == 0 {
				entry.Args.Object = args
			}
		}
		completeArgs(entry.Args.Object)
	}
	used := listsOf(p.Plugins).merged().used()
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if args := argsOf(name); args != nil && !given[name] {
			completeArgs(args)
			p.PluginConfig = append(p.PluginConfig, configv1.PluginConfig{Name: name, Args: runtime.RawExtension{Object: args}})
		}
	}
}

// completeArgs sets the missing fields of arguments.
func completeArgs(args runtime.Object) {
	switch a := args.(type) {
	case *configv1.DefaultPreemptionArgs:
		orDefault(&a.MinCandidateNodesPercentage, 10)
		orDefault(&a.MinCandidateNodesAbsolute, 100)
	case *configv1.DynamicResourcesArgs:
		orDefault(&a.FilterTimeout, metav1.Duration{Duration: configv1.DynamicResourcesFilterTimeoutDefault})
		orDefault(&a.BindingTimeout, metav1.Duration{Duration: configv1.DynamicResourcesBindingTimeoutDefault})
	case *configv1.InterPodAffinityArgs:
		orDefault(&a.HardPodAffinityWeight, 1)
	case *configv1.NodeResourcesBalancedAllocationArgs:
		a.Resources = completeResources(a.Resources)
	case *configv1.NodeResourcesFitArgs:
		if a.ScoringStrategy == nil {
			a.ScoringStrategy = &configv1.ScoringStrategy{Type: configv1.LeastAllocated} // a strategy without a type gets no default type
		}
		a.ScoringStrategy.Resources = completeResources(a.ScoringStrategy.Resources)
	case *configv1.PodTopologySpreadArgs:
		a.DefaultingType = cmp.Or(a.DefaultingType, configv1.SystemDefaulting)
	case *configv1.VolumeBindingArgs:
		orDefault(&a.BindTimeoutSeconds, int64(10*time.Minute/time.Second))
		if len(a.Shape) == 0 {
			a.Shape = []configv1.UtilizationShapePoint{{Utilization: 0, Score: 10}, {Utilization: 100}}
		}
	}
}

func completeResources(list []configv1.ResourceSpec) []configv1.ResourceSpec {
	if len(list) == 0 {
		return []configv1.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}}
	}
	for k := range list {
		list[k].Weight = cmp.Or(list[k].Weight, 1)
	}
	return list
}
