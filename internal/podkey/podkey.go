// Package podkey writes what each plugin reads of an incoming pod as a byte string. Pods with equal keys of a plugin have the same verdicts and
// scores of it, in one cluster.
//
// placement gives each plugin its key (Plugin.AppendKey), and callers find the key there. Rules that keep work by other parts of a pod use the
// functions too. The pod must not be nil. Every function appends to dst and returns the longer slice, as package key does.
package podkey

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/internal/podinfo"
)

// NodeName appends what NodeName reads: spec.nodeName.
func NodeName(dst []byte, pod *v1.Pod) []byte { return key.Text(dst, pod.Spec.NodeName) }

// Tolerations appends what package taints reads: the tolerations. Rule: API field spec.tolerations.
func Tolerations(dst []byte, pod *v1.Pod) []byte {
	dst = key.Len(dst, len(pod.Spec.Tolerations))
	for i := range pod.Spec.Tolerations {
		t := &pod.Spec.Tolerations[i]
		dst = key.Text(key.Text(key.Text(key.Text(dst, t.Key), t.Operator), t.Value), t.Effect)
	}
	return dst
}

// NodeAffinity appends what NodeAffinity reads: spec.nodeSelector and spec.affinity.nodeAffinity.
func NodeAffinity(dst []byte, pod *v1.Pod) []byte {
	dst = key.Pairs(dst, pod.Spec.NodeSelector)
	a := pod.Spec.Affinity
	dst = key.Flag(dst, a != nil && a.NodeAffinity != nil)
	if a == nil || a.NodeAffinity == nil {
		return dst
	}
	dst = key.Optional(dst, a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution, key.NodeSelector)
	preferred := a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	dst = key.Len(key.Flag(dst, preferred != nil), len(preferred))
	for i := range preferred {
		dst = key.NodeTerm(key.Int(dst, int64(preferred[i].Weight)), &preferred[i].Preference)
	}
	return dst
}

// PodAffinity appends what InterPodAffinity reads: namespace and labels, which the terms of running pods select, and
// spec.affinity.podAffinity and podAntiAffinity.
func PodAffinity(dst []byte, pod *v1.Pod) []byte {
	return key.PodTerms(key.Labels(dst, pod), pod)
}

// Spread appends what PodTopologySpread reads: namespace and labels, spec.topologySpreadConstraints, the controller from which default
// constraints derive their selector, and what the node inclusion policies read (node affinity and tolerations).
func Spread(dst []byte, pod *v1.Pod) []byte {
	dst = key.Constraints(key.Labels(dst, pod), pod)
	return Tolerations(NodeAffinity(dst, pod), pod)
}

// Ports appends what NodePorts reads: the host ports of containers and of init containers that keep running.
func Ports(dst []byte, pod *v1.Pod) []byte {
	want := podinfo.AppendHostPorts(nil, pod)
	dst = key.Len(dst, len(want))
	for _, p := range want {
		dst = key.Text(key.Text(key.Int(dst, int64(p.Port)), p.Protocol), p.IP)
	}
	return dst
}

// Images appends what ImageLocality reads: the images of containers, init containers and volumes.
func Images(dst []byte, pod *v1.Pod) []byte {
	dst = key.Len(dst, len(pod.Spec.InitContainers)+len(pod.Spec.Containers))
	for i := range pod.Spec.InitContainers {
		dst = key.Text(dst, pod.Spec.InitContainers[i].Image)
	}
	for i := range pod.Spec.Containers {
		dst = key.Text(dst, pod.Spec.Containers[i].Image)
	}
	for i := range pod.Spec.Volumes {
		if image := pod.Spec.Volumes[i].Image; image != nil {
			dst = key.Text(key.Len(dst, i+1), image.Reference)
		}
	}
	return key.Len(dst, 0)
}
