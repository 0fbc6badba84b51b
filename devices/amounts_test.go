package devices_test

import (
	"cmp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// allocated returns what a claim for the first device of node n1 gets of the capacity memory, or the error; none without a device.
func allocated(o devices.Options, c resourcev1.DeviceCapacity, asks string, mode resourcev1.DeviceAllocationMode) string {
	slice := gpus("n1")
	slice.Spec.Devices = slice.Spec.Devices[:1]
	slice.Spec.Devices[0].AllowMultipleAllocations = new(true)
	slice.Spec.Devices[0].Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": c}
	claim := gpuClaim("web", 1)
	r := claim.Spec.Devices.Requests[0].Exactly
	if r.AllocationMode = mode; mode == resourcev1.DeviceAllocationModeAll {
		r.Count = 0
	}
	if asks != "" {
		r.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse(asks)}}
	}
	ledger := devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{slice}))
	results, ok, err := devices.NewAllocator(ledger, class, nil, o).Compile(claim).Allocate(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	switch {
	case err != nil:
		return err.Error()
	case !ok:
		return "none"
	}
	q := results[0].Devices.Results[0].ConsumedCapacity["memory"]
	return q.String()
}

// What a request consumes of a range, at the edges of int64, in each release and in thousandths.
func TestAmountsOfReleases(t *testing.T) {
	const (
		most  = "9223372036854775807"
		exact = resourcev1.DeviceAllocationModeExactCount
		fails = `claim default/web, request gpu: checking capacity for device gpu.example.com/n1/gpu-0: capacity "memory": `
		edge  = fails + "capacity request cannot be represented in the device's range arithmetic: "
	)
	type test struct {
		name, why                            string
		value, fallback, min, max, step, ask string
		v1_36, v1_37, fractional             string // "=": as the one before
	}
	testkit.Run(t, []test{
		{"notation", "v1.37 writes the notation of step", "10k", "", "1000", "", "1000", "1500", "2000", "2k", "="},
		{"binary step", "the notation of step is that of v1.36", "10Ki", "", "1Ki", "", "1Ki", "1500", "2Ki", "=", "="},
		{"exponents", "the notation of step, whatever it is", "10000", "", "1000", "", "1e3", "1500", "2000", "2e3", "="},
		{"thousandths", "the gate counts them", "10", "", "100m", "", "100m", "500m", "1", "=", "500m"},
		{"between thousandths", "rounded up in the unit that counts", "10", "", "100m", "", "100m", "250m", "1", "=", "300m"},
		{"range that thousandths cannot express", "whole units", "10", "", "1", "9223372036854776", "100m", "1500m", "2", "=", "="},
		{"request of millionths", "no thousandth", "10", "", "100m", "", "100m", "555555u", "1", "=", edge + "request 555555u is not a representable milli value"},
		{"request beyond thousandths", "no int64", "10E", "", "1", "", "1", "10P", "9765625000000Ki", "10P", edge + "request 10P is not a representable milli value"},
		{"last thousandth", "passes int64", "9P", "", "0", "9223372036854775", "2", "9223372036854775", "none", "=", edge + "rounding request 9223372036854775 up to the next step passes the milli-value range"},
		{"default in thousandths", "on a step of thousandths alone", "550m", "", "100m", "800m", "100m", "", "550m", "=", "none"},
		{"beyond int64", "v1.36 counts 20E as 0, and rounds the difference -1 up", most, "", "1", most, "2", "20E", "3", edge + "request 20E exceeds MaxInt64", "="},
		{"2^64", "v1.36 counts it as 0", most, "", "0", most, "2", "18446744073709551616", "0", edge + "request 18446744073709551616 exceeds MaxInt64", "="},
		{"last step", "the next step is beyond int64", most, "", "2", "", "9223372036854775806", "5", "-9223372036854775808", edge + "rounding request 5 up to the next step passes MaxInt64", "="},
		{"last amount", "int64 can hold it", most, "", "1", most, "3", "9223372036854775806", most, "=", "="},
		{"below the minimum", "the minimum needs no arithmetic", "20E", "", "20E", "30E", "7", "1", "20E", "=", "="},
		{"beyond int64 without a range", "no arithmetic", "20E", "", "", "", "", "20E", "20E", "=", "="},
		{"negative", "less than nothing", "10", "", "-5", "", "2", "-4", "-3", fails + "capacity value is negative", edge + "rounding request -4 up to the next step passes the milli-value range"},
		{"negative request", "without a policy too", "10", "", "", "", "", "-3", "-3", fails + "capacity value is negative", "="},
		{"negative default", "what is not asked for counts too", "10", "-3", "", "", "", "", "-3", fails + "capacity value is negative", "="},
		{"negative and forbidden", "an error comes before the policy", "10", "", "-5", "-4", "", "-3", "none", fails + "capacity value is negative", "="},
		{"negative step", "v1.36 goes down", "10", "", "1", "", "-2", "2", "-1", edge + "rounding request 2 up to the next step passes MaxInt64", "="},
		{"step beyond int64", "kube-scheduler divides by zero", "30E", "", "1", "30E", "20E", "2", "2", "=", "="},
	}, func(t *testing.T, c test) {
		c.v1_37 = cmp.Or(strings.TrimPrefix(c.v1_37, "="), c.v1_36)
		c.fractional = cmp.Or(strings.TrimPrefix(c.fractional, "="), c.v1_37)
		amount := func(text string) *resource.Quantity {
			if text == "" {
				return nil
			}
			return new(resource.MustParse(text))
		}
		capacity := func() resourcev1.DeviceCapacity {
			out := resourcev1.DeviceCapacity{Value: resource.MustParse(c.value)}
			if c.min+c.max+c.step != "" {
				out.RequestPolicy = &resourcev1.CapacityRequestPolicy{ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: amount(c.min), Max: amount(c.max), Step: amount(c.step)}}
			} else if c.fallback != "" {
				out.RequestPolicy = &resourcev1.CapacityRequestPolicy{Default: amount(c.fallback)}
			}
			return out
		}
		require.Equal(t, c.v1_36, allocated(devices.Options{Release: release.V1_36}, capacity(), c.ask, exact))
		require.Equal(t, c.v1_36, allocated(devices.Options{Release: release.V1_36, FractionalRange: true}, capacity(), c.ask, exact), "v1.36 does not have the gate")
		require.Equal(t, c.v1_37, allocated(devices.Options{Release: release.V1_37}, capacity(), c.ask, exact))
		require.Equal(t, c.fractional, allocated(devices.Options{Release: release.V1_37, FractionalRange: true}, capacity(), c.ask, exact))
	})
	all := allocated(devices.Options{Release: release.V1_37}, resourcev1.DeviceCapacity{Value: resource.MustParse("1")}, "-1", resourcev1.DeviceAllocationModeAll)
	require.Equal(t, `claim default/web, request gpu: checking capacity for device gpu-0: capacity "memory": capacity value is negative`, all, "allocationMode All names the device alone")
}

// How many devices a claim may ask for, beyond the edge of int64 too.
func TestCountsOfReleases(t *testing.T) {
	const quarter, large = 1 << 62, 1<<63 - 1
	type test struct {
		name, why    string
		counts       []int64
		v1_36, v1_37 string
	}
	testkit.Run(t, []test{
		{"one too many", "v1.37 names the request", []int64{16, 17}, "claim default/web: number of requested devices 33 exceeds the claim limit of 32",
			"claim default/web, request gpu1: adding 17 devices exceeds the claim limit of 32, with 16 already accounted for"},
		{"the first too many", "v1.36 adds all of them", []int64{32, 1, 5}, "claim default/web: number of requested devices 38 exceeds the claim limit of 32",
			"claim default/web, request gpu1: adding 1 devices exceeds the claim limit of 32, with 32 already accounted for"},
		{"four quarters", "the sum of v1.36 is 0", []int64{quarter, quarter, quarter, quarter}, "allocation max size exceeded",
			"claim default/web, request gpu0: adding 4611686018427387904 devices exceeds the claim limit of 32, with 0 already accounted for"},
		{"two quarters", "the sum of v1.36 is negative; kube-scheduler panics there", []int64{quarter, quarter}, "allocation max size exceeded",
			"claim default/web, request gpu0: adding 4611686018427387904 devices exceeds the claim limit of 32, with 0 already accounted for"},
		{"three of the largest", "the sum of v1.36 has passed the edge twice", []int64{large, large, large}, "claim default/web: number of requested devices 9223372036854775805 exceeds the claim limit of 32",
			"claim default/web, request gpu0: adding 9223372036854775807 devices exceeds the claim limit of 32, with 0 already accounted for"},
		{"as many as there may be", "the node has fewer", []int64{31, 1}, "", ""},
	}, func(t *testing.T, c test) {
		claim := gpuClaim("web", 1)
		claim.Spec.Devices.Requests = nil
		for k, n := range c.counts {
			r := *gpuClaim("web", 1).Spec.Devices.Requests[0].DeepCopy()
			r.Name, r.Exactly.Count = "gpu"+strconv.Itoa(k), n
			claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, r)
		}
		for v, want := range map[release.Version]string{release.V1_36: c.v1_36, release.V1_37: c.v1_37} {
			ledger := devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{gpus("n1")}))
			_, ok, err := devices.NewAllocator(ledger, class, nil, devices.Options{Release: v}).Compile(claim).Allocate(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
			require.False(t, ok, v)
			if want == "" {
				require.NoError(t, err, v)
			} else {
				require.EqualError(t, err, want, v)
			}
		}
	})
}
