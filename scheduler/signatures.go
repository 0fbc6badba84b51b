package scheduler

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/spread"
)

// This file has the signatures of pods, which batching compares, and the parts that the default plugins write.
//
// The parts are the keys that the rules write of a pod (AppendKey), as in placement.Profile.PodKey. Which pods are batched
// can be observed, and v1.37 compares pods in other forms than its plugins read them. So most keys are written of a pod that
// has the compared fields alone, in the form of v1.37:
//
//   - tolerations and node affinity in any order, and tolerationSeconds too;
//   - host ports by number, without protocol and address, of all init containers too;
//   - the sums of requests, not the containers;
//   - the set of normalized image names;
//   - the labels without the namespace. A pod with inter-pod affinity, topology spread constraints or claims is not batched.
//
// The sources of volumes are no key of a rule: the rules read nothing of volumes that the kubelet makes on the node, and
// v1.37 compares these volumes, except configMap and secret.

// SignPlugin is a plugin at [PreFilter], [Filter], [PreScore] or [Score] that returns what it reads of a pod. If a plugin at
// one of these points is no SignPlugin, the profile does not batch. The status [Unschedulable] keeps this pod out of
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

// SignPod returns the signature of a pod. It returns "", no signature, if a plugin of the profile is no [SignPlugin], if
// a plugin rejects the pod, or if there are extenders. O(spec of the pod).
func (f *Framework) SignPod(ctx context.Context, pod *v1.Pod) string {
	if f.signers == nil {
		return ""
	}
	parts := map[string]any{"schedulerName": schedulerName(pod)}
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

// signedPart is a part of the signature: the key that a rule writes of a pod in the form in which v1.37 compares pods.
type signedPart struct {
	name   string
	form   func(pod *v1.Pod) *v1.Pod
	append func(dst []byte, pod *v1.Pod) []byte
}

// keyOf returns the key of a plugin of v1.37.
func keyOf(name string) func(dst []byte, pod *v1.Pod) []byte {
	p, err := placement.PluginArgs{}.Plugin(name)
	if err != nil {
		panic(err) // the name is one of this file
	}
	return p.AppendKey
}

var tolerationsKey, nodeAffinityKey = keyOf("TaintToleration"), keyOf("NodeAffinity")

func asWritten(pod *v1.Pod) *v1.Pod { return pod }

// signedParts has the parts of the default plugins. Plugins that read the same write the same part.
var signedParts = map[string]signedPart{
	"NodeName":                        {"Spec.NodeName", asWritten, keyOf("NodeName")},
	"NodeUnschedulable":               {"Spec.Tolerations", sortedTolerations, appendTolerations},
	"TaintToleration":                 {"Spec.Tolerations", sortedTolerations, appendTolerations},
	"NodeAffinity":                    {"Spec.Affinity.NodeAffinity", sortedNodeAffinity, keyOf("NodeAffinity")},
	"NodePorts":                       {"Spec.HostPorts()", hostPorts, keyOf("NodePorts")},
	"NodeResourcesFit":                {"Spec.ContainerRequestsAndOverheads()", summedRequests, keyOf("NodeResourcesFit")},
	"NodeResourcesBalancedAllocation": {"Spec.ContainerRequestsAndOverheads()", summedRequests, keyOf("NodeResourcesFit")},
	"VolumeRestrictions":              {"Spec.Volumes.NonSyntheticSources()", asWritten, appendVolumeSources},
	"NodeVolumeLimits":                {"Spec.Volumes.NonSyntheticSources()", asWritten, appendVolumeSources},
	"VolumeBinding":                   {"Spec.Volumes.NonSyntheticSources()", asWritten, appendVolumeSources},
	"VolumeZone":                      {"Spec.Volumes.NonSyntheticSources()", asWritten, appendVolumeSources},
	"ImageLocality":                   {"Spec.CanonicalImageNames()", canonicalImages, keyOf("ImageLocality")},
	"NodeDeclaredFeatures":            {"Spec.RequiredFeatures()", asWritten, keyOf("NodeDeclaredFeatures")},
	"InterPodAffinity":                {"Labels", labelsAlone, keyOf("InterPodAffinity")},
	"PodTopologySpread":               {}, // no part: a pod for which the plugin does anything is refused
	nameDynamicResources:              {},
}

// SignPod returns what the plugin reads of a pod. It rejects a pod whose placement depends on other pods or on devices.
func (b adapterBase) SignPod(_ context.Context, pod *v1.Pod) ([]SignFragment, *Status) {
	if b.own {
		return signOwn(b.plugin, pod)
	}
	part, known := signedParts[b.name]
	refuse := !known
	switch a := pod.Spec.Affinity; b.name {
	case "InterPodAffinity":
		refuse = a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil)
	case "PodTopologySpread":
		refuse = len(pod.Spec.TopologySpreadConstraints) > 0
	case nameDynamicResources:
		refuse = len(pod.Spec.ResourceClaims) > 0
	}
	if refuse {
		return nil, NewStatus(Unschedulable)
	}
	if part.append == nil {
		return nil, nil
	}
	return []SignFragment{{"v1.Pod." + part.name, part.append(nil, part.form(pod))}}, nil
}

// neverSigns reports whether the plugin signs no pod. Default constraints of topology spread make every pod depend on other
// pods. A plugin of the caller may not say what it reads.
func (b adapterBase) neverSigns() bool {
	if b.plugin == nil {
		return false
	}
	o, ok := b.plugin.Args.(spread.Options)
	return b.own && b.plugin.Keep == placement.KeepNothing || ok && (o.Defaults.Type != spread.ListDefaulting || len(o.Defaults.Constraints) > 0)
}

// signOwn is SignPod of a plugin of the caller: the key that keeps the plugin's work. A pod that the plugin does not skip is
// rejected where only skipped pods have a key.
func signOwn(p *placement.Plugin, pod *v1.Pod) ([]SignFragment, *Status) {
	if p.Keep == placement.KeepIfSkipped && !p.Skips(pod) {
		return nil, NewStatus(Unschedulable)
	}
	return []SignFragment{{p.Name, p.AppendKey(nil, pod)}}, nil
}

// sortedBy returns a copy of a list in the order of the keys.
func sortedBy[T any](list []T, key func(x T) []byte) []T {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b T) int { return bytes.Compare(key(a), key(b)) })
	return list
}

func sortedTolerations(pod *v1.Pod) *v1.Pod {
	list := sortedBy(pod.Spec.Tolerations, func(t v1.Toleration) []byte {
		return appendTolerations(nil, &v1.Pod{Spec: v1.PodSpec{Tolerations: []v1.Toleration{t}}})
	})
	return &v1.Pod{Spec: v1.PodSpec{Tolerations: list}}
}

// appendTolerations appends the key of the tolerations and their tolerationSeconds.
func appendTolerations(dst []byte, pod *v1.Pod) []byte {
	dst = tolerationsKey(dst, pod)
	for _, t := range pod.Spec.Tolerations {
		if t.TolerationSeconds == nil {
			dst = append(dst, 0)
		} else {
			dst = binary.AppendVarint(append(dst, 1), *t.TolerationSeconds)
		}
	}
	return dst
}

// sortedNodeAffinity returns a pod with the node selector, and with the node affinity in one order.
func sortedNodeAffinity(pod *v1.Pod) *v1.Pod {
	out := &v1.Pod{Spec: v1.PodSpec{NodeSelector: pod.Spec.NodeSelector}}
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return out
	}
	a := pod.Spec.Affinity.NodeAffinity.DeepCopy()
	out.Spec.Affinity = &v1.Affinity{NodeAffinity: a}
	if a.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		a.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{}
	}
	required := a.RequiredDuringSchedulingIgnoredDuringExecution
	for k := range required.NodeSelectorTerms {
		sortTerm(&required.NodeSelectorTerms[k])
	}
	required.NodeSelectorTerms = sortedBy(required.NodeSelectorTerms, func(t v1.NodeSelectorTerm) []byte {
		return termKey(v1.PreferredSchedulingTerm{Preference: t})
	})
	for k := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		sortTerm(&a.PreferredDuringSchedulingIgnoredDuringExecution[k].Preference)
	}
	preferred := sortedBy(a.PreferredDuringSchedulingIgnoredDuringExecution, termKey)
	a.PreferredDuringSchedulingIgnoredDuringExecution = append([]v1.PreferredSchedulingTerm{}, preferred...) // never nil
	return out
}

// sortTerm sorts the requirements of a term, and their values.
func sortTerm(t *v1.NodeSelectorTerm) {
	for _, list := range [...]*[]v1.NodeSelectorRequirement{&t.MatchExpressions, &t.MatchFields} {
		for _, r := range *list {
			slices.Sort(r.Values)
		}
		*list = sortedBy(*list, func(r v1.NodeSelectorRequirement) []byte {
			return termKey(v1.PreferredSchedulingTerm{Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{r}}})
		})
	}
}

// termKey returns the key of a pod that prefers one term.
func termKey(t v1.PreferredSchedulingTerm) []byte {
	list := []v1.PreferredSchedulingTerm{t}
	return nodeAffinityKey(nil, &v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{
		NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: list},
	}}})
}

// summedRequests returns a pod of one container with the amounts that the pod asks for, without cpu, memory and storage of 0
// and without resources that the scheduler does not count.
func summedRequests(pod *v1.Pod) *v1.Pod {
	list := v1.ResourceList{}
	for name, q := range overhead.Requests(pod, overhead.Options{}) {
		n := resources.Value(name, q)
		switch name {
		case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage:
			if n == 0 {
				continue
			}
		default:
			if !resources.IsScalar(name) {
				continue
			}
		}
		list[name] = *apiresource.NewQuantity(n, apiresource.DecimalSI)
	}
	return &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: list}}}}}
}

// hostPorts returns a pod of one container with the numbers of the host ports.
func hostPorts(pod *v1.Pod) *v1.Pod {
	var numbers []int32
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, p := range c.Ports {
			numbers = append(numbers, p.HostPort) // the key leaves 0 out
		}
	}
	slices.Sort(numbers)
	var ports []v1.ContainerPort
	for _, n := range slices.Compact(numbers) {
		ports = append(ports, v1.ContainerPort{HostPort: n})
	}
	return &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Ports: ports}}}}
}

// canonicalImages returns a pod with one container for each normalized name of an image.
func canonicalImages(pod *v1.Pod) *v1.Pod {
	var names []string
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		names = append(names, score.NormalizeImage(c.Image))
	}
	slices.Sort(names)
	out := &v1.Pod{}
	for _, name := range slices.Compact(names) {
		out.Spec.Containers = append(out.Spec.Containers, v1.Container{Image: name})
	}
	return out
}

func labelsAlone(pod *v1.Pod) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}}
}

// appendVolumeSources appends the sources of all volumes except configMap and secret, sorted.
func appendVolumeSources(dst []byte, pod *v1.Pod) []byte {
	var sources []string
	for _, v := range pod.Spec.Volumes {
		if v.ConfigMap == nil && v.Secret == nil {
			sources = append(sources, v.VolumeSource.String())
		}
	}
	slices.Sort(sources)
	for _, s := range sources {
		dst = append(binary.AppendUvarint(dst, uint64(len(s))), s...)
	}
	return dst
}
