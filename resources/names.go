package resources

import (
	"math"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/legal"
)

// DeviceClassPrefix begins the implicit resource name of every DeviceClass; the name of the class follows. It stands here for packages
// that do not link the resource API.
const DeviceClassPrefix = "deviceclass.resource.kubernetes.io/"

// Value converts a quantity of the named resource to the integer that vectors hold: thousandths for cpu, whole units
// otherwise. Fractions are rounded up. A negative quantity, which the API rejects, is rounded down. An amount beyond int64
// saturates.
func Value(name v1.ResourceName, q resource.Quantity) int64 {
	scale, unit := resource.Scale(0), int64(1)
	if name == v1.ResourceCPU {
		scale, unit = resource.Milli, 1000
	}
	if n, ok := q.AsInt64(); ok && n <= math.MaxInt64/unit && n >= math.MinInt64/unit {
		return n * unit
	}
	n := q.ScaledValue(scale) // overflows silently
	if q.Cmp(*resource.NewScaledQuantity(n, scale)) == 0 {
		return n
	}
	if q.Cmp(*resource.NewScaledQuantity(math.MaxInt64, scale)) >= 0 {
		return math.MaxInt64
	}
	if q.Cmp(*resource.NewScaledQuantity(math.MinInt64, scale)) <= 0 {
		return math.MinInt64
	}
	if q.Sign() < 0 { // ScaledValue is wrong for negative quantities that do not fit an int64
		q = q.DeepCopy()
		q.Neg() // the least int64 stays as it is
		n = q.ScaledValue(scale)
		return min(n, -n)
	}
	return n
}

// IsExtended reports whether name is an extended resource. Such a name has a domain other than kubernetes.io, as
// "example.com/gpu" does, and is not a quota name ("requests.example.com/gpu"). Rule: documentation, "Extended resources".
func IsExtended(name v1.ResourceName) bool {
	s := string(name)
	if !strings.Contains(s, "/") || strings.Contains(s, v1.ResourceDefaultNamespacePrefix) || strings.HasPrefix(s, v1.DefaultResourceRequestsPrefix) {
		return false
	}
	return legal.Key(v1.DefaultResourceRequestsPrefix + s)
}

// IsScalar reports whether kube-scheduler counts name in addition to cpu, memory and ephemeral-storage: extended resources,
// huge pages, names that contain "kubernetes.io/", and limits of attachable volumes. The scheduler ignores every other name
// when it filters and scores.
func IsScalar(name v1.ResourceName) bool {
	s := string(name)
	return strings.HasPrefix(s, v1.ResourceHugePagesPrefix) ||
		strings.HasPrefix(s, v1.ResourceAttachableVolumesPrefix) ||
		strings.Contains(s, v1.ResourceDefaultNamespacePrefix) ||
		IsExtended(name)
}
