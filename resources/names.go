package resources

import (
	"math"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Value converts a quantity of the resource name to the integer that vectors hold: thousandths for cpu, whole units
// otherwise, rounded up as resource.Quantity rounds. An amount beyond int64 saturates.
func Value(name v1.ResourceName, q resource.Quantity) int64 {
	if name != v1.ResourceCPU {
		return q.Value()
	}
	if q.CmpInt64(math.MaxInt64/1000) > 0 { // MilliValue overflows silently
		return math.MaxInt64
	}
	if q.CmpInt64(math.MinInt64/1000) < 0 {
		return math.MinInt64
	}
	return q.MilliValue()
}

// IsExtended reports whether name is an extended resource: it has a domain other than kubernetes.io, as "example.com/gpu"
// has, and is no quota name. Rule: documentation, "Extended resources".
func IsExtended(name v1.ResourceName) bool {
	s := string(name)
	if !strings.Contains(s, "/") || strings.Contains(s, v1.ResourceDefaultNamespacePrefix) || strings.HasPrefix(s, v1.DefaultResourceRequestsPrefix) {
		return false
	}
	return len(validation.IsQualifiedName(v1.DefaultResourceRequestsPrefix+s)) == 0
}

// IsScalar reports whether kube-scheduler counts name beside cpu, memory and ephemeral-storage: extended resources, huge
// pages, names that contain "kubernetes.io/", and attachable-volumes limits. Every other name is ignored: it is neither
// filtered nor scored.
func IsScalar(name v1.ResourceName) bool {
	s := string(name)
	return strings.HasPrefix(s, v1.ResourceHugePagesPrefix) ||
		strings.HasPrefix(s, v1.ResourceAttachableVolumesPrefix) ||
		strings.Contains(s, v1.ResourceDefaultNamespacePrefix) ||
		IsExtended(name)
}
