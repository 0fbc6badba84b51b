package runtimeclass

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/quantity"
	"github.com/podberth/podberth/resources"
)

// ValidateUpdate returns what the API server finds wrong with an update of the RuntimeClass at path (nil: the root) from old
// to class: the handler must not change. Overhead and scheduling may change; pods that exist keep what Admit gave them. A nil
// argument has no errors. Rule O6.9: API field RuntimeClass.handler.
func ValidateUpdate(old, class *nodev1.RuntimeClass, path *field.Path) field.ErrorList {
	if old == nil || class == nil || old.Handler == class.Handler {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("handler"), class.Handler, "field is immutable")}
}

// ValidateOverhead returns what the API server finds wrong with the overhead of a RuntimeClass. podFixed is its
// overhead.podFixed, and path (nil: the root) is that of overhead. The API server checks podFixed like the limits of a
// container:
//
//   - Names are cpu, memory, ephemeral-storage, huge pages or qualified names such as "example.com/gpu".
//   - Amounts are not negative. Amounts of extended resources are whole. Amounts of huge pages are multiples of the page size.
//   - Huge pages come with cpu or memory.
//
// Errors are in the order of the names. Rule O6.6: API field RuntimeClass.overhead.podFixed.
func ValidateOverhead(podFixed v1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	huge := false
	for _, name := range slices.Sorted(maps.Keys(podFixed)) {
		q, at := podFixed[name], path.Child("limits").Key(string(name))
		for _, message := range nameProblems(name) {
			errs = append(errs, field.Invalid(at, string(name), message))
		}
		if q.Sign() < 0 {
			errs = append(errs, field.Invalid(at, q.String(), "must be greater than or equal to 0"))
		}
		if resources.IsExtended(name) && q.CmpInt64(q.Value()) != 0 {
			errs = append(errs, field.Invalid(at, q.String(), "must be an integer"))
		}
		if size, ok := strings.CutPrefix(string(name), v1.ResourceHugePagesPrefix); ok {
			huge = true
			page, err := quantity.Parse(size)
			if err != nil || page.Sign() <= 0 || q.CmpInt64(q.Value()) != 0 || q.Value()%page.Value() != 0 {
				errs = append(errs, field.Invalid(at, q.String(), q.String()+" is not positive integer multiple of "+string(name)))
			}
		}
	}
	_, cpu := podFixed[v1.ResourceCPU]
	_, memory := podFixed[v1.ResourceMemory]
	if huge && !cpu && !memory {
		errs = append(errs, field.Forbidden(path, "HugePages require cpu or memory"))
	}
	return errs
}

// nameProblems returns what is wrong with the name of a resource of a container.
func nameProblems(name v1.ResourceName) []string {
	problems := validation.IsQualifiedName(string(name))
	switch {
	case strings.Contains(string(name), "/"):
		if !strings.Contains(string(name), v1.ResourceDefaultNamespacePrefix) && !resources.IsExtended(name) {
			problems = append(problems, "doesn't follow extended resource name standard")
		}
	case name == v1.ResourceCPU, name == v1.ResourceMemory, name == v1.ResourceEphemeralStorage, strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix):
	default:
		if len(problems) == 0 && !quotaName(name) {
			problems = append(problems, "must be a standard resource type or fully qualified")
		}
		problems = append(problems, "must be a standard resource for containers")
	}
	return problems
}

// quotaName reports whether the name has no domain and is the name of a resource that only quotas limit.
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
