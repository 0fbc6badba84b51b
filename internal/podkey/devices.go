package podkey

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/overhead"
)

// Devices appends what DynamicResources reads: the claims of the pod with their names, the containers with their requests, and, because such a
// pod has claims of its own, its namespace, name and UID. The keys of pods that need no device in any cluster are equal.
func Devices(dst []byte, pod *v1.Pod) []byte {
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
	return Requests(DeviceContainers(dst, pod), pod)
}

// DeviceContainers appends what extended resources that devices serve read of a pod: for each container, init containers first, whether it
// keeps running, and its requests by name.
func DeviceContainers(dst []byte, pod *v1.Pod) []byte {
	dst = key.Len(dst, len(pod.Spec.InitContainers)+len(pod.Spec.Containers))
	for k := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[k]
		dst = deviceContainer(dst, c, overhead.IsSidecar(c))
	}
	for k := range pod.Spec.Containers {
		dst = deviceContainer(dst, &pod.Spec.Containers[k], true)
	}
	return dst
}

func deviceContainer(dst []byte, c *v1.Container, longLived bool) []byte {
	return key.Resources(key.Flag(dst, longLived), c.Resources.Requests)
}

// mayNeedDevices reports whether a pod has claims, or asks for a resource that a device class may provide.
func mayNeedDevices(pod *v1.Pod) bool {
	need := len(pod.Spec.ResourceClaims) > 0
	overhead.Each(pod, overhead.Options{}, func(name v1.ResourceName, value int64) {
		need = need || value != 0 && DeviceResource(name)
	})
	return need
}

// DeviceResource reports whether a device class may provide a resource (rule U9.1): an extended resource, or an implicit name of
// a class.
func DeviceResource(name v1.ResourceName) bool {
	s := string(name)
	switch {
	case strings.HasPrefix(s, resourcev1.ResourceDeviceClassPrefix):
		return true
	case !strings.Contains(s, "/"), strings.Contains(s, v1.ResourceDefaultNamespacePrefix), strings.HasPrefix(s, v1.DefaultResourceRequestsPrefix):
		return false
	}
	return true
}
