package placement

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/plugins"
)

// newDynamicResources returns the plugin in the place of v1.36's plugin of that name. podberth does not allocate devices: a pod that
// needs them is an error that says so. Pods without spec.resourceClaims skip it. The zero FitOptions have no device classes.
func newDynamicResources(o filter.FitOptions) *Plugin {
	return &Plugin{
		Name: plugins.DynamicResources, Args: o,
		Group: GroupAbsent, AppendKey: filter.AppendClaimsKey,
		Skips: func(pod *v1.Pod) bool {
			return len(pod.Spec.ResourceClaims) == 0 && (o.DeviceResources == nil || filter.CompileClaims(pod, o).Skip())
		},
		Filter: func(pod *v1.Pod, c Cluster) Filtering {
			if len(pod.Spec.ResourceClaims) > 0 {
				return Filtering{Code: filter.Error, Reasons: []string{claimsReason(pod)}}
			}
			e := filter.CompileClaims(pod, o)
			if e.Skip() {
				return Filtering{Code: filter.Skip}
			}
			return Filtering{Predicate: e.On(c)}
		},
	}
}

// claimsReason names the resource claims of a pod.
func claimsReason(pod *v1.Pod) string {
	names := make([]string, len(pod.Spec.ResourceClaims))
	for k, c := range pod.Spec.ResourceClaims {
		names[k] = c.Name
	}
	return "spec.resourceClaims [" + strings.Join(names, " ") + "]: dynamic resource allocation is outside podberth"
}
