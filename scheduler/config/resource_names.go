package config

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/resources"
)

// checkNames refuses resource names that no node has. v1.37 accepts them silently: such a resource is left out of every
// average, and a list of nothing else scores every node 0. Documents of v1.16 name "CPU" and "Memory", which are such names
// because resource names are case-sensitive.
func checkNames(list []configv1.ResourceSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, r := range list {
		if scored(v1.ResourceName(r.Name)) {
			continue
		}
		reason := "matches no resource: must be cpu, memory, ephemeral-storage, an extended resource or hugepages-<size>"
		if lower := strings.ToLower(r.Name); scored(v1.ResourceName(lower)) {
			reason = fmt.Sprintf("matches no resource: names are case-sensitive, use %q", lower)
		}
		errs = append(errs, field.Invalid(path.Index(i).Child("name"), r.Name, reason))
	}
	return errs
}

// scored reports whether the resource scores use a resource of that name.
func scored(name v1.ResourceName) bool {
	return name == v1.ResourceCPU || name == v1.ResourceMemory || name == v1.ResourceEphemeralStorage || resources.IsScalar(name)
}
