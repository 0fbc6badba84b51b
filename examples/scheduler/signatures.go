package scheduler

import (
	"context"
	"encoding/json"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/spread"
)

// This file has the signatures of pods, which batching compares, and the parts that the default plugins write.
//
// NodeName and NodeDeclaredFeatures write the keys of package filter. The other plugins of v1.36 compare other fields than
// their rules read, and which pods are batched can be observed, so that the keys of the rules (AppendKey) would not do:
//
//   - tolerations and node affinity: in any order, and tolerationSeconds too;
//   - host ports: the numbers without protocol and address;
//   - requests: the sums, not the containers;
//   - images: the set of normalized names;
//   - volumes: also volumes that the kubelet makes on the node, except configMap and secret;
//   - inter-pod affinity: the labels without the namespace; a pod with terms is not batched;
//   - topology spread and claims: a pod with any is not batched.
//
// placement.Profile.Signature is made of the keys alone.

// SignPlugin is a plugin at PreFilter, Filter, PreScore or Score that returns what it reads of a pod. If a plugin at
// one of these points is no SignPlugin, the profile does not batch. The status Unschedulable keeps this pod out of
// batches.
type SignPlugin interface {
	Plugin
	SignPod(ctx context.Context, pod *v1.Pod) ([]SignFragment, *Status)
}

// SignFragment is one value that a plugin reads of a pod. The value can be written as JSON. Plugins that use the same
// key must return the same value.
type SignFragment struct {
	Key   string
	Value any
}

// SignPod returns the signature of a pod. It returns "", no signature, if a plugin of the profile is no SignPlugin, if
// a plugin rejects the pod, or if there are extenders. O(spec of the pod).
func (f *Framework) SignPod(ctx context.Context, pod *v1.Pod) string {
	if f.signers == nil {
		return ""
	}
	parts := map[string]any{"schedulerName": podinfo.SchedulerName(pod)}
	for _, p := range f.signers {
		fragments, st := guarded(f.s, ctx, signPoint, p, func(ctx context.Context) ([]SignFragment, *Status) { return p.SignPod(ctx, pod) })
		if !st.Success() {
			if !st.Rejected() {
				f.s.report(st.failure())
			}
			return ""
		}
		for _, x := range fragments {
			parts[x.Key] = x.Value
		}
	}
	text, err := json.Marshal(parts)
	if err != nil {
		f.s.report(err)
		return ""
	}
	return string(text)
}

// findSigners lists the SignPlugins. The list is empty if any plugin is no SignPlugin.
func (f *Framework) findSigners() {
	if len(f.s.o.Extenders) > 0 {
		return
	}
	names := map[string]bool{}
	for _, at := range []Point{PreFilter, Filter, PreScore, Score} {
		for _, p := range f.lists[at] {
			names[p.Name] = true
		}
	}
	var signers []SignPlugin
	for _, name := range sortedKeys(names) {
		p, ok := f.plugins[name].(SignPlugin)
		if n, never := f.plugins[name].(interface{ neverSigns() bool }); !ok || never && n.neverSigns() {
			return
		}
		signers = append(signers, p)
	}
	f.signers = signers
}

// SignPod returns what the plugin reads of a pod. It rejects a pod whose placement depends on other pods or on devices.
func (b adapterBase) SignPod(_ context.Context, pod *v1.Pod) ([]SignFragment, *Status) {
	var out []SignFragment
	add := func(key string, value any) { out = append(out, SignFragment{"v1.Pod." + key, value}) }
	refuse := false
	switch b.name {
	case "NodeName":
		add("Spec.NodeName", filter.AppendNodeNameKey(nil, pod))
	case "NodeUnschedulable", "TaintToleration":
		add("Spec.Tolerations", sortedTexts(pod.Spec.Tolerations))
	case "NodeAffinity":
		add("Spec.Affinity.NodeAffinity", signAffinity(pod))
		add("Spec.Affinity.NodeSelector", pod.Spec.NodeSelector)
	case "NodePorts":
		add("Spec.HostPorts()", hostPorts(pod))
	case "NodeResourcesFit", "NodeResourcesBalancedAllocation":
		add("Spec.ContainerRequestsAndOverheads()", requests(pod))
	case "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone":
		add("Spec.Volumes.NonSyntheticSources()", volumeSources(pod))
	case "ImageLocality":
		add("Spec.CanonicalImageNames()", images(pod))
	case "NodeDeclaredFeatures":
		add("Spec.RequiredFeatures()", filter.AppendFeaturesKey(nil, pod))
	case "InterPodAffinity":
		add("Labels", pod.Labels)
		refuse = pod.Spec.Affinity != nil && (pod.Spec.Affinity.PodAffinity != nil || pod.Spec.Affinity.PodAntiAffinity != nil)
	case "PodTopologySpread":
		refuse = len(pod.Spec.TopologySpreadConstraints) > 0
	case nameDynamicResources:
		refuse = len(pod.Spec.ResourceClaims) > 0
	default:
		refuse = true
	}
	if refuse {
		return nil, NewStatus(Unschedulable)
	}
	return out, nil
}

// neverSigns reports whether the plugin signs no pod. Default constraints of topology spread make every pod depend on other
// pods.
func (p nodeFilter) neverSigns() bool {
	o, ok := p.filter.Args.(spread.Options)
	return ok && (o.Defaults.Type != spread.ListDefaulting || len(o.Defaults.Constraints) > 0)
}

// sortedTexts writes each element as JSON and sorts the texts.
func sortedTexts[T any](list []T) []string {
	out := make([]string, 0, len(list))
	for _, x := range list {
		text, _ := json.Marshal(x) // API types can be written
		out = append(out, string(text))
	}
	slices.Sort(out)
	return out
}

func signAffinity(pod *v1.Pod) any {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return nil
	}
	a := pod.Spec.Affinity.NodeAffinity
	requirements := func(list []v1.NodeSelectorRequirement) []string {
		list = slices.Clone(list)
		for k := range list {
			list[k].Values = slices.Sorted(slices.Values(list[k].Values))
		}
		return sortedTexts(list)
	}
	term := func(t *v1.NodeSelectorTerm) [2][]string {
		return [2][]string{requirements(t.MatchExpressions), requirements(t.MatchFields)}
	}
	var required [][2][]string
	if a.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, t := range a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			required = append(required, term(&t))
		}
	}
	type weighted struct {
		Weight int32
		Term   [2][]string
	}
	var preferred []weighted
	for _, t := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		preferred = append(preferred, weighted{t.Weight, term(&t.Preference)})
	}
	return [2][]string{sortedTexts(required), sortedTexts(preferred)}
}

// requests returns the amounts that the pod asks for, without cpu, memory and storage of 0 and without resources that the
// scheduler does not count.
func requests(pod *v1.Pod) map[v1.ResourceName]int64 {
	out := map[v1.ResourceName]int64{}
	for name, q := range overhead.Requests(pod, overhead.Options{}) {
		v := resources.Value(name, q)
		switch name {
		case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage:
			if v != 0 {
				out[name] = v
			}
		default:
			if resources.IsScalar(name) {
				out[name] = v
			}
		}
	}
	return out
}

func hostPorts(pod *v1.Pod) []int32 {
	var out []int32
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, p := range c.Ports {
			if p.HostPort > 0 {
				out = append(out, p.HostPort)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// volumeSources returns the sources of all volumes except configMap and secret.
func volumeSources(pod *v1.Pod) []string {
	var out []v1.VolumeSource
	for _, v := range pod.Spec.Volumes {
		if v.ConfigMap == nil && v.Secret == nil {
			out = append(out, v.VolumeSource)
		}
	}
	return sortedTexts(out)
}

func images(pod *v1.Pod) []string {
	var out []string
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		out = append(out, score.NormalizeImage(c.Image))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
