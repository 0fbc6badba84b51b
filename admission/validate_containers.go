package admission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/apiserver"
	"github.com/podberth/podberth/overhead"
)

// validateContainers checks ports, resources and, of init containers, restart policies. spec is the path of the pod's spec.
func validateContainers(s *v1.PodSpec, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	path := spec.Child("containers")
	for i := range s.Containers {
		errs = append(errs, validateContainer(&s.Containers[i], path.Index(i))...)
	}
	taken := map[string]bool{}
	for i := range s.Containers {
		errs = append(errs, repeatedHostPorts(s.Containers[i].Ports, taken, path.Index(i).Child("ports"))...)
	}
	path = spec.Child("initContainers")
	for i := range s.InitContainers {
		c := &s.InitContainers[i]
		errs = append(errs, validateContainer(c, path.Index(i))...)
		if p := c.RestartPolicy; p != nil && !slices.Contains(restartPolicies, *p) {
			errs = append(errs, field.NotSupported(path.Index(i).Child("restartPolicy"), *p, restartPolicies))
		}
		// Init containers share no port with others, and the API server names each of them by index 0 here.
		errs = append(errs, repeatedHostPorts(c.Ports, map[string]bool{}, path.Index(0).Child("ports"))...)
	}
	return errs
}

var restartPolicies = []v1.ContainerRestartPolicy{v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyNever, v1.ContainerRestartPolicyOnFailure}

func validateContainer(c *v1.Container, path *field.Path) field.ErrorList {
	errs := validatePorts(c.Ports, path.Child("ports"))
	return append(errs, apiserver.ValidateResources(c.Resources.Limits, c.Resources.Requests, apiserver.ResourceName, path.Child("resources"))...)
}

var protocols = []v1.Protocol{v1.ProtocolSCTP, v1.ProtocolTCP, v1.ProtocolUDP}

func validatePorts(ports []v1.ContainerPort, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := map[string]bool{}
	for i := range ports {
		p, at := &ports[i], path.Index(i)
		problems := validation.IsValidPortName(p.Name)
		switch {
		case p.Name == "":
		case len(problems) > 0:
			for _, problem := range problems {
				errs = append(errs, field.Invalid(at.Child("name"), p.Name, problem))
			}
		case names[p.Name]:
			errs = append(errs, field.Duplicate(at.Child("name"), p.Name))
		default:
			names[p.Name] = true
		}
		if p.ContainerPort == 0 {
			errs = append(errs, field.Required(at.Child("containerPort"), ""))
		} else {
			errs = append(errs, validatePort(p.ContainerPort, at.Child("containerPort"))...)
		}
		if p.HostPort != 0 {
			errs = append(errs, validatePort(p.HostPort, at.Child("hostPort"))...)
		}
		if p.Protocol != "" && !slices.Contains(protocols, p.Protocol) {
			errs = append(errs, field.NotSupported(at.Child("protocol"), p.Protocol, protocols))
		}
	}
	return errs
}

func validatePort(n int32, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range validation.IsValidPortNum(int(n)) {
		errs = append(errs, field.Invalid(path, n, problem))
	}
	return errs
}

// repeatedHostPorts returns an error for every host port that is in taken, and adds the others to taken.
func repeatedHostPorts(ports []v1.ContainerPort, taken map[string]bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range ports {
		p := &ports[i]
		if p.HostPort == 0 {
			continue
		}
		key := fmt.Sprintf("%s/%s/%d", cmp.Or(p.Protocol, v1.ProtocolTCP), p.HostIP, p.HostPort)
		if taken[key] {
			errs = append(errs, field.Duplicate(path.Index(i).Child("hostPort"), key))
		}
		taken[key] = true
	}
	return errs
}

// validateHostNetwork checks that the ports of a pod in the host's network are those of its containers. The API server does
// not check the ports of init containers.
func validateHostNetwork(s *v1.PodSpec, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	if !s.HostNetwork {
		return nil
	}
	for i := range s.Containers {
		for j, p := range s.Containers[i].Ports {
			if p.HostPort != p.ContainerPort {
				errs = append(errs, field.Invalid(spec.Child("containers").Index(i).Child("ports").Index(j).Child("hostPort"), p.HostPort,
					"must match `containerPort` when `hostNetwork` is true"))
			}
		}
	}
	return errs
}

// validatePodResources checks spec.resources, which is at path: the amounts by themselves, the limits against those of each
// container, and requests, and limits of huge pages, against the sum of the containers'.
func validatePodResources(s *v1.PodSpec, path *field.Path) field.ErrorList {
	if s.Resources == nil {
		return nil
	}
	errs := apiserver.ValidateResources(s.Resources.Limits, s.Resources.Requests, podResourceName, path)
	sums, bare := &v1.Pod{Spec: *s}, overhead.Options{IgnorePodLevel: true, IgnoreOverhead: true}
	below := func(list, sum v1.ResourceList, what string) {
		for _, r := range slices.Sorted(maps.Keys(list)) {
			q, all := list[r], sum[r]
			if _, has := sum[r]; has && all.Cmp(q) > 0 && (what == "requests" || strings.HasPrefix(string(r), v1.ResourceHugePagesPrefix)) {
				errs = append(errs, field.Invalid(path.Child(what).Key(string(r)), q.String(),
					fmt.Sprintf("must be greater than or equal to aggregate container %s of %s", what, all.String())))
			}
		}
	}
	for i := range s.Containers { // the API server leaves init containers out
		list := s.Containers[i].Resources.Limits
		for _, r := range slices.Sorted(maps.Keys(list)) {
			q, most := list[r], s.Resources.Limits[r]
			if _, has := s.Resources.Limits[r]; has && q.Cmp(most) > 0 {
				errs = append(errs, field.Invalid(path.Child("containers").Index(i).Key(string(r)).Child("limits"), q.String(),
					"must be less than or equal to pod limits of "+most.String()))
			}
		}
	}
	below(s.Resources.Requests, overhead.Requests(sums, bare), "requests")
	below(s.Resources.Limits, overhead.Limits(sums, bare), "limits")
	return errs
}

// podResourceNames are the resources that a whole pod may ask for, as the API server names them.
var podResourceNames = []string{string(v1.ResourceCPU), v1.ResourceHugePagesPrefix, string(v1.ResourceMemory)}

// podResourceName returns what is wrong with the name of a resource of a whole pod.
func podResourceName(r v1.ResourceName, at *field.Path) field.ErrorList {
	errs := apiserver.PlainName(r, at)
	if len(errs) == 0 && !overhead.PodLevelSupported(r) {
		errs = append(errs, field.NotSupported(at, string(r), podResourceNames))
	}
	return errs
}
