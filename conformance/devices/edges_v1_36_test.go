//go:build k1_36

package devices

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/structured"
)

// setFractional does nothing: v1.36 has no DRAFractionalCapacityRange.
func setFractional(*structured.Features, bool) {}

// edge returns a device of node n1 that has 2^63-1 of mem, and a claim of requests for so many devices, each with an amount of mem.
func edge(mem string, counts ...int64) *edgeWorld {
	d := resourcev1.Device{Name: "d", AllowMultipleAllocations: new(true), Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"mem": {
		Value: resource.MustParse("9223372036854775807"), RequestPolicy: &resourcev1.CapacityRequestPolicy{ValidRange: &resourcev1.CapacityRequestPolicyRange{
			Min: new(resource.MustParse("0")), Max: new(resource.MustParse("9223372036854775807")), Step: new(resource.MustParse("2"))}},
	}}}
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "k0"}}
	for k, n := range counts {
		claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, resourcev1.DeviceRequest{Name: fmt.Sprint("r", k), Exactly: &resourcev1.ExactDeviceRequest{
			DeviceClassName: "c", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: n,
			Capacity: &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"mem": resource.MustParse(mem)}},
		}})
	}
	return &edgeWorld{claims: []*resourcev1.ResourceClaim{claim}, slices: []*resourcev1.ResourceSlice{{ObjectMeta: metav1.ObjectMeta{Name: "s1"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "drv", Pool: resourcev1.ResourcePool{Name: "p", Generation: 1, ResourceSliceCount: 1}, NodeName: new("n1"), Devices: []resourcev1.Device{d},
	}}}}
}

// Where v1.36 counts past the edge of int64. Four requests for 2^62 devices have the sum 0: the search finds too many. Two have a negative sum,
// with which the real allocator panics; podberth says what it says of four. A request for 2^64 of a range consumes 0.
func TestPastInt64(t *testing.T) {
	const quarter = 1 << 62
	require.Equal(t, "error: allocation max size exceeded", edgesThere(edge("2", quarter, quarter, quarter, quarter)))
	require.Equal(t, "error: allocation max size exceeded", edgesHere(edge("2", quarter, quarter, quarter, quarter)))
	there := edgesThere(edge("2", quarter, quarter))
	require.True(t, strings.HasPrefix(there, "panic: "), there)
	require.Equal(t, "error: allocation max size exceeded", edgesHere(edge("2", quarter, quarter)))
	require.Equal(t, "solved r0=d mem 0 BinarySI; ", edgesThere(edge("18446744073709551616", 1)))
	require.Equal(t, edgesThere(edge("18446744073709551616", 1)), edgesHere(edge("18446744073709551616", 1)))
}
