package devices

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/overhead"
)

// AppendKey appends everything that DynamicResources reads of an incoming pod: the resources that the pod and its containers
// ask for, and for a pod that may need devices also its namespace, name and UID and the entries of spec.resourceClaims with
// their status. The pod must not be nil.
func AppendKey(dst []byte, pod *v1.Pod) []byte {
	if !mayNeedDevices(pod) {
		return key.Len(dst, 0)
	}
	dst = key.Text(key.Text(key.Text(key.Len(dst, 1), pod.Namespace), pod.Name), string(pod.UID))
	dst = key.Len(dst, len(pod.Spec.ResourceClaims))
	for k := range pod.Spec.ResourceClaims {
		e := &pod.Spec.ResourceClaims[k]
		dst = key.Optional(key.Optional(key.Text(dst, e.Name), e.ResourceClaimName, key.Text), e.ResourceClaimTemplateName, key.Text)
	}
	dst = key.Len(dst, len(pod.Status.ResourceClaimStatuses))
	for k := range pod.Status.ResourceClaimStatuses {
		s := &pod.Status.ResourceClaimStatuses[k]
		dst = key.Optional(key.Text(dst, s.Name), s.ResourceClaimName, key.Text)
	}
	dst = key.Len(key.Len(dst, len(pod.Spec.InitContainers)), len(pod.Spec.Containers))
	for k := range pod.Spec.InitContainers {
		dst = key.Text(dst, pod.Spec.InitContainers[k].Name)
	}
	for k := range pod.Spec.Containers {
		dst = key.Text(dst, pod.Spec.Containers[k].Name)
	}
	return overhead.AppendKey(appendContainers(dst, pod), pod)
}

// appendContainers appends what the requests for extended resources depend on: kind and requests of each container.
func appendContainers(dst []byte, pod *v1.Pod) []byte {
	containers := podContainers(pod)
	dst = key.Len(dst, len(containers))
	for _, c := range containers {
		names := slices.Sorted(maps.Keys(c.Resources.Requests))
		dst = key.Len(key.Flag(dst, c.longLived), len(names))
		for _, name := range names {
			q := c.Resources.Requests[name]
			dst = key.Int(key.Text(dst, string(name)), q.Value())
		}
	}
	return dst
}

// mayNeedDevices reports whether a pod has claims, or asks for a resource that a device class may provide.
func mayNeedDevices(pod *v1.Pod) bool {
	need := len(pod.Spec.ResourceClaims) > 0
	overhead.Each(pod, overhead.Options{}, func(name v1.ResourceName, value int64) {
		need = need || value != 0 && eligible(name)
	})
	return need
}
