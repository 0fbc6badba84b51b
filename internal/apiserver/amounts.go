// Package apiserver has checks of the API server that several packages make: what is wrong with labels, selectors and label keys, and
// which requests and limits are refused.
package apiserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/podberth/podberth/resources"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateResources returns what the API server finds wrong with the limits and requests at path, the errors of limits first and each
// list in the order of its names:
//
//   - Names are cpu, memory, ephemeral-storage, huge pages or qualified names such as "example.com/gpu".
//   - Amounts are not negative. Amounts of extended resources are whole. Amounts of huge pages are multiples of the page size.
//   - Requests do not exceed limits. Requests of huge pages and of resources of other domains equal their limits.
//   - Huge pages come with cpu or memory.
//
// name returns what is wrong with the name of a resource; ResourceName is the rule of containers.
func ValidateResources(limits, requests v1.ResourceList, name func(v1.ResourceName, *field.Path) field.ErrorList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	limitsPath, requestsPath := path.Child("limits"), path.Child("requests")
	for _, r := range slices.Sorted(maps.Keys(limits)) {
		errs = append(errs, limit(r, limits[r], name, limitsPath.Key(string(r)))...)
	}
	for _, r := range slices.Sorted(maps.Keys(requests)) {
		q := requests[r]
		at := requestsPath.Key(string(r))
		errs = append(errs, name(r, at)...)
		errs = append(errs, amount(r, q, at)...)
		most, limited := limits[r]
		switch {
		case !limited && !overcommits(r):
			errs = append(errs, field.Required(limitsPath, "Limit must be set for non overcommitable resources"))
		case !overcommits(r) && q.Cmp(most) != 0:
			errs = append(errs, field.Invalid(requestsPath, q.String(), fmt.Sprintf("must be equal to %s limit of %s", r, most.String())))
		case limited && q.Cmp(most) > 0:
			errs = append(errs, field.Invalid(requestsPath, q.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", r, most.String())))
		}
		errs = append(errs, pages(r, q, at)...)
	}
	if (huge(limits) || huge(requests)) && !computes(limits) && !computes(requests) {
		errs = append(errs, field.Forbidden(path, "HugePages require cpu or memory"))
	}
	return errs
}

func limit(r v1.ResourceName, q resource.Quantity, name func(v1.ResourceName, *field.Path) field.ErrorList, at *field.Path) field.ErrorList {
	return slices.Concat(name(r, at), amount(r, q, at), pages(r, q, at))
}

// amount checks an amount: not negative, and whole for extended resources.
func amount(r v1.ResourceName, q resource.Quantity, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if q.Sign() < 0 {
		errs = append(errs, field.Invalid(at, q.String(), "must be greater than or equal to 0"))
	}
	if (resources.IsExtended(r) || isObjectCount(r)) && q.CmpInt64(q.Value()) != 0 {
		errs = append(errs, field.Invalid(at, q.String(), "must be an integer"))
	}
	return errs
}

// isObjectCount reports whether the name is that of a number of objects, which only quotas limit.
func isObjectCount(r v1.ResourceName) bool {
	switch r {
	case v1.ResourcePods, v1.ResourceServices, v1.ResourceServicesNodePorts, v1.ResourceServicesLoadBalancers, v1.ResourceReplicationControllers,
		v1.ResourceQuotas, v1.ResourceSecrets, v1.ResourceConfigMaps, v1.ResourcePersistentVolumeClaims:
		return true
	}
	return false
}

// pages checks an amount of huge pages: a multiple of the page size.
func pages(r v1.ResourceName, q resource.Quantity, at *field.Path) field.ErrorList {
	size, ok := strings.CutPrefix(string(r), v1.ResourceHugePagesPrefix)
	if !ok {
		return nil
	}
	page, err := resources.ParseQuantity(size)
	if err != nil || page.Sign() <= 0 || q.CmpInt64(q.Value()) != 0 || q.Value()%page.Value() != 0 {
		return field.ErrorList{field.Invalid(at, q.String(), fmt.Sprintf("%s is not positive integer multiple of %s", q.String(), r))}
	}
	return nil
}

// overcommits reports whether requests of a resource may be below its limit: not those of huge pages and of other domains.
func overcommits(r v1.ResourceName) bool {
	native := !strings.Contains(string(r), "/") || strings.Contains(string(r), v1.ResourceDefaultNamespacePrefix)
	return native && !strings.HasPrefix(string(r), v1.ResourceHugePagesPrefix)
}

func huge(list v1.ResourceList) bool {
	for r := range list {
		if strings.HasPrefix(string(r), v1.ResourceHugePagesPrefix) {
			return true
		}
	}
	return false
}

func computes(list v1.ResourceList) bool {
	_, cpu := list[v1.ResourceCPU]
	_, memory := list[v1.ResourceMemory]
	return cpu || memory
}

// ResourceName returns what is wrong with the name of a resource of a container.
func ResourceName(r v1.ResourceName, at *field.Path) field.ErrorList {
	errs := PlainName(r, at)
	if !strings.Contains(string(r), "/") && !ofContainers(r) {
		errs = append(errs, field.Invalid(at, string(r), "must be a standard resource for containers"))
	} else if strings.Contains(string(r), "/") && !strings.Contains(string(r), v1.ResourceDefaultNamespacePrefix) && !resources.IsExtended(r) {
		errs = append(errs, field.Invalid(at, string(r), "doesn't follow extended resource name standard"))
	}
	return errs
}

// PlainName returns what is wrong with the name of a resource of anything: it must be a qualified name, and without a domain
// that of a resource which Kubernetes knows.
func PlainName(r v1.ResourceName, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range validation.IsQualifiedName(string(r)) {
		errs = append(errs, field.Invalid(at, string(r), problem))
	}
	if len(errs) == 0 && !strings.Contains(string(r), "/") && !ofContainers(r) && !ofQuotas(r) {
		errs = append(errs, field.Invalid(at, string(r), "must be a standard resource type or fully qualified"))
	}
	return errs
}

func ofContainers(r v1.ResourceName) bool {
	switch r {
	case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage:
		return true
	}
	return strings.HasPrefix(string(r), v1.ResourceHugePagesPrefix)
}

// ofQuotas reports whether the name has no domain and is the name of a resource that only quotas limit.
func ofQuotas(r v1.ResourceName) bool {
	switch r {
	case v1.ResourcePods, v1.ResourceStorage, v1.ResourceRequestsCPU, v1.ResourceRequestsMemory, v1.ResourceRequestsStorage,
		v1.ResourceRequestsEphemeralStorage, v1.ResourceLimitsCPU, v1.ResourceLimitsMemory, v1.ResourceLimitsEphemeralStorage,
		v1.ResourceServices, v1.ResourceServicesNodePorts, v1.ResourceServicesLoadBalancers, v1.ResourceReplicationControllers,
		v1.ResourceQuotas, v1.ResourceSecrets, v1.ResourceConfigMaps, v1.ResourcePersistentVolumeClaims:
		return true
	}
	return strings.HasPrefix(string(r), v1.ResourceRequestsHugePagesPrefix)
}
