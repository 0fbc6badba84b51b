package devices

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/overhead"
)

// ExtendedResources maps the name of an extended resource to the device class that provides it (rule U9.2). The names of a
// class are its spec.extendedResourceName and the implicit deviceclass.resource.kubernetes.io/CLASS. ExtendedResources is
// immutable; nil maps no name.
type ExtendedResources map[v1.ResourceName]*resourcev1.DeviceClass

// NewExtendedResources maps the resource names of all classes. When two classes have the same spec.extendedResourceName,
// the newer class wins. Of two equally old classes, the class whose name comes first wins.
func NewExtendedResources(classes iter.Seq[*resourcev1.DeviceClass]) ExtendedResources {
	var e ExtendedResources
	for c := range classes {
		if e == nil {
			e = ExtendedResources{}
		}
		e[v1.ResourceName(resourcev1.ResourceDeviceClassPrefix+c.Name)] = c
		if c.Spec.ExtendedResourceName == nil {
			continue
		}
		name := v1.ResourceName(*c.Spec.ExtendedResourceName)
		if old := e[name]; old == nil || beats(c, old) {
			e[name] = c
		}
	}
	return e
}

func beats(a, b *resourcev1.DeviceClass) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return b.CreationTimestamp.Before(&a.CreationTimestamp)
	}
	return a.Name < b.Name
}

const (
	extendedClaimName       = "<extended-resources>"
	extendedClaimAnnotation = resourcev1.ExtendedResourceClaimAnnotation
)

// asked returns the eligible resources that a pod requests, sorted by name. mapped is true when a class provides at least
// one of these resources.
func (e ExtendedResources) asked(pod *v1.Pod) (names []v1.ResourceName, mapped bool) {
	for name, amount := range overhead.Requests(pod, overhead.Options{}) {
		if amount.IsZero() || !podkey.DeviceResource(name) {
			continue
		}
		names = append(names, name)
		mapped = mapped || e[name] != nil
	}
	slices.Sort(names)
	return names, mapped
}

// Serve reports whether a class provides one of the resources that a pod asks for. The pod must not be nil. O(containers).
func (e ExtendedResources) Serve(pod *v1.Pod) bool {
	if len(e) == 0 {
		return false
	}
	_, mapped := e.asked(pod)
	return mapped
}

// extendedClaim returns the special claim for the pod's extended resources (rule U9.3): the claim that an earlier attempt
// created, or a new claim that is only in memory.
func extendedClaim(pod *v1.Pod, objects Objects) *resourcev1.ResourceClaim {
	if c := createdClaim(pod, objects); c != nil {
		return c
	}
	yes := true
	return &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: extendedClaimName, GenerateName: pod.Name + "-extended-resources-",
		Annotations:     map[string]string{extendedClaimAnnotation: "true"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: &yes}},
	}}
}

// createdClaim returns the claim that an earlier attempt has created for a pod's extended resources; nil when there is none. Of
// several claims the claim whose name comes first counts.
func createdClaim(pod *v1.Pod, objects Objects) (found *resourcev1.ResourceClaim) {
	if x, ok := objects.(interface {
		ExtendedResourceClaim(pod *v1.Pod) *resourcev1.ResourceClaim
	}); ok {
		return x.ExtendedResourceClaim(pod)
	}
	for c := range objects.ResourceClaims(pod.Namespace) {
		if c.Annotations[extendedClaimAnnotation] != "true" || found != nil && found.Name < c.Name {
			continue
		}
		for k := range c.OwnerReferences {
			o := &c.OwnerReferences[k]
			if o.Name == pod.Name && o.UID == pod.UID && o.Controller != nil && *o.Controller {
				found = c
			}
		}
	}
	return found
}

// provided returns those of the resources names that device classes provide on a node: the node offers none of the resource
// itself. fits is false when the node lacks a resource and no class provides it (rule U9.5).
func (e ExtendedResources) provided(names []v1.ResourceName, node *v1.Node) (out []v1.ResourceName, fits bool) {
	for _, name := range names {
		amount, has := node.Status.Allocatable[name]
		switch {
		case amount.IsZero() && e[name] != nil:
			out = append(out, name)
		case !has:
			return nil, false
		}
	}
	return out, true
}

// requests returns the requests of the special claim for the resources, and which request serves which container (rule
// U9.7). resources must be sorted.
func (e ExtendedResources) requests(pod *v1.Pod, names []v1.ResourceName) ([]resourcev1.DeviceRequest, []v1.ContainerExtendedResourceRequest) {
	containers := podContainers(pod)
	var requests []resourcev1.DeviceRequest
	var mappings []v1.ContainerExtendedResourceRequest
	for _, name := range names {
		r, l, s := e.requestsOf(containers, name)
		requests, mappings = append(requests, r...), append(append(mappings, l...), s...)
	}
	slices.SortFunc(requests, func(a, b resourcev1.DeviceRequest) int { return strings.Compare(a.Name, b.Name) })
	return requests, mappings
}

// container is one container of a pod. at is its position, init containers first.
type container struct {
	*v1.Container
	at        int
	longLived bool
}

func podContainers(pod *v1.Pod) []container {
	var out []container
	for k := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[k]
		out = append(out, container{c, len(out), overhead.IsSidecar(c)})
	}
	for k := range pod.Spec.Containers {
		out = append(out, container{&pod.Spec.Containers[k], len(out), true})
	}
	return out
}

// amount returns how many devices a container asks for.
func (c container) amount(resource v1.ResourceName) int64 {
	q := c.Resources.Requests[resource]
	return q.Value()
}

// request returns the name of a container's request for a resource.
func (c container) request(resource v1.ResourceName) string {
	names := slices.Sorted(maps.Keys(c.Resources.Requests))
	return "container-" + strconv.Itoa(c.at) + "-request-" + strconv.Itoa(slices.Index(names, resource))
}

// containerRequest is the request of one container for one resource.
type containerRequest struct {
	container container
	name      string
	count     int64
}

// requestsOf returns the requests for one resource (rule U9.7):
//
//  1. Every long-lived container has a request of its own.
//  2. A short-lived container uses the requests of the long-lived containers after it.
//  3. When these are too few for some short-lived containers, all of them share one more request: the largest missing
//     number.
func (e ExtendedResources) requestsOf(containers []container, resource v1.ResourceName) (requests []resourcev1.DeviceRequest, long, short []v1.ContainerExtendedResourceRequest) {
	var lasting []containerRequest
	for _, c := range containers {
		if n := c.amount(resource); n > 0 && c.longLived {
			name := c.request(resource)
			lasting = append(lasting, containerRequest{c, name, n})
			long = append(long, v1.ContainerExtendedResourceRequest{ContainerName: c.Name, ResourceName: string(resource), RequestName: name})
		}
	}
	var extra []containerRequest
	for _, c := range containers {
		if c.longLived {
			continue
		}
		n, sum := c.amount(resource), int64(0)
		for _, l := range lasting {
			if l.container.at < c.at || sum >= n {
				continue
			}
			sum += l.count
			short = append(short, v1.ContainerExtendedResourceRequest{ContainerName: c.Name, ResourceName: string(resource), RequestName: l.name})
		}
		if sum < n {
			name := c.request(resource)
			extra = append(extra, containerRequest{c, name, n - sum})
			short = append(short, v1.ContainerExtendedResourceRequest{ContainerName: c.Name, ResourceName: string(resource), RequestName: name})
		}
	}
	if len(extra) > 0 {
		largest := slices.MaxFunc(extra, func(a, b containerRequest) int { return cmp.Compare(a.count, b.count) })
		for k := range short {
			if slices.ContainsFunc(extra, func(x containerRequest) bool { return x.name == short[k].RequestName }) {
				short[k].RequestName = largest.name
			}
		}
		lasting = append(lasting, largest)
	}
	for _, o := range lasting {
		requests = append(requests, resourcev1.DeviceRequest{Name: o.name, Exactly: &resourcev1.ExactDeviceRequest{
			DeviceClassName: e[resource].Name, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: o.count,
		}})
	}
	return requests, long, short
}
