package overhead

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/resources"
)

const notNegative = "must be greater than or equal to 0"

// ValidateQuantities reports the negative requests, limits and overhead of a pod, whose spec is at path. The arithmetic of
// this package takes them as they are; the API server rejects them.
func ValidateQuantities(pod *v1.Pod, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if pod == nil {
		return errs
	}
	for _, list := range [...]struct {
		name       string
		containers []v1.Container
	}{{"containers", pod.Spec.Containers}, {"initContainers", pod.Spec.InitContainers}} {
		for i := range list.containers {
			r, at := &list.containers[i].Resources, path.Child(list.name).Index(i).Child("resources")
			errs = append(errs, negatives(r.Limits, at.Child("limits"))...)
			errs = append(errs, negatives(r.Requests, at.Child("requests"))...)
		}
	}
	if r := pod.Spec.Resources; r != nil {
		errs = append(errs, negatives(r.Limits, path.Child("resources", "limits"))...)
		errs = append(errs, negatives(r.Requests, path.Child("resources", "requests"))...)
	}
	return append(errs, negatives(pod.Spec.Overhead, path.Child("overhead"))...)
}

func negatives(list v1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sortedNames(list) {
		if q := list[name]; q.Sign() < 0 {
			errs = append(errs, field.Invalid(path.Key(string(name)), q.String(), notNegative))
		}
	}
	return errs
}

// ValidateOverhead returns what the API server finds wrong with the overhead of a RuntimeClass, overhead.podFixed, whose
// overhead is at path. It is checked like the limits of a container: names are cpu, memory, ephemeral-storage, huge pages or
// qualified ("example.com/gpu"), amounts not negative, whole for extended resources, multiples of the size for huge pages,
// and huge pages come with cpu or memory.
func ValidateOverhead(podFixed v1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	huge := false
	names := sortedNames(podFixed)
	for _, name := range names {
		q, at := podFixed[name], path.Child("limits").Key(string(name))
		for _, message := range nameProblems(name) {
			errs = append(errs, field.Invalid(at, string(name), message))
		}
		if q.Sign() < 0 {
			errs = append(errs, field.Invalid(at, q.String(), notNegative))
		}
		if resources.IsExtended(name) && q.CmpInt64(q.Value()) != 0 {
			errs = append(errs, field.Invalid(at, q.String(), "must be an integer"))
		}
		if size, ok := strings.CutPrefix(string(name), v1.ResourceHugePagesPrefix); ok {
			huge = true
			page, err := resource.ParseQuantity(size)
			if err != nil || page.Sign() <= 0 || q.CmpInt64(q.Value()) != 0 || q.Value()%page.Value() != 0 {
				errs = append(errs, field.Invalid(at, q.String(), q.String()+" is not positive integer multiple of "+string(name)))
			}
		}
	}
	if huge && !has(podFixed, v1.ResourceCPU) && !has(podFixed, v1.ResourceMemory) {
		errs = append(errs, field.Forbidden(path, "HugePages require cpu or memory"))
	}
	return errs
}

// nameProblems returns what is wrong with a name as that of a container's resource.
func nameProblems(name v1.ResourceName) []string {
	problems := validation.IsQualifiedName(string(name))
	switch {
	case strings.Contains(string(name), "/"):
		if !strings.Contains(string(name), v1.ResourceDefaultNamespacePrefix) && !resources.IsExtended(name) {
			problems = append(problems, "doesn't follow extended resource name standard")
		}
	case rank(name) < 3 || strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix):
	default:
		if len(problems) == 0 && !quotaName(name) {
			problems = append(problems, "must be a standard resource type or fully qualified")
		}
		problems = append(problems, "must be a standard resource for containers")
	}
	return problems
}

// quotaName reports whether the name, without a domain, is one that resource quotas know beside those of containers.
func quotaName(name v1.ResourceName) bool {
	switch name {
	case v1.ResourcePods, v1.ResourceStorage, v1.ResourceRequestsCPU, v1.ResourceRequestsMemory, v1.ResourceRequestsStorage,
		v1.ResourceRequestsEphemeralStorage, v1.ResourceLimitsCPU, v1.ResourceLimitsMemory, v1.ResourceLimitsEphemeralStorage,
		v1.ResourceServices, v1.ResourceServicesNodePorts, v1.ResourceServicesLoadBalancers, v1.ResourceReplicationControllers,
		v1.ResourceQuotas, v1.ResourceSecrets, v1.ResourceConfigMaps, v1.ResourcePersistentVolumeClaims:
		return true
	}
	return strings.HasPrefix(string(name), v1.ResourceRequestsHugePagesPrefix)
}
