package devices_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// Configurations of classes come first, then those of the claim, by request (rule U7.13, worked examples U-103 and U-104).
func TestConfigs(t *testing.T) {
	named := func(driver string) resourcev1.DeviceConfiguration {
		return resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: driver}}
	}
	classes := map[string]*resourcev1.DeviceClass{
		"c1": {ObjectMeta: metav1.ObjectMeta{Name: "c1"}, Spec: resourcev1.DeviceClassSpec{Config: []resourcev1.DeviceClassConfiguration{{DeviceConfiguration: named("A")}, {DeviceConfiguration: named("B")}}}},
		"c2": {ObjectMeta: metav1.ObjectMeta{Name: "c2"}, Spec: resourcev1.DeviceClassSpec{Config: []resourcev1.DeviceClassConfiguration{{DeviceConfiguration: named("Z")}}}},
	}
	exact := func(name, class string) resourcev1.DeviceRequest {
		return resourcev1.DeviceRequest{Name: name, Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}
	}
	sub := func(name, class string, count int64) resourcev1.DeviceSubRequest {
		return resourcev1.DeviceSubRequest{Name: name, DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count}
	}
	config := func(driver string, requests ...string) resourcev1.DeviceClaimConfiguration {
		return resourcev1.DeviceClaimConfiguration{Requests: requests, DeviceConfiguration: named(driver)}
	}
	type test struct {
		name     string
		devices  int
		requests []resourcev1.DeviceRequest
		configs  []resourcev1.DeviceClaimConfiguration
		options  devices.Options
		want     []string
	}
	testkit.Run(t, []test{
		{"U-103", 3, []resourcev1.DeviceRequest{exact("r1", "c1"), exact("r2", "c2"), exact("r3", "c1")},
			[]resourcev1.DeviceClaimConfiguration{config("all"), config("one", "r2"), config("two", "r1", "r3"), config("none", "zz")}, devices.Options{Release: release.V1_36},
			[]string{"FromClass [r1 r3] A", "FromClass [r1 r3] B", "FromClass [r2] Z", "FromClaim [] all", "FromClaim [r2] one", "FromClaim [r1 r3] two", "FromClaim [r1 r3] two"}},
		{"U-103 without the quirk", 3, []resourcev1.DeviceRequest{exact("r1", "c1"), exact("r2", "c2"), exact("r3", "c1")},
			[]resourcev1.DeviceClaimConfiguration{config("two", "r1", "r3")}, devices.Options{Release: release.V1_36, ConfigOnce: true},
			[]string{"FromClass [r1 r3] A", "FromClass [r1 r3] B", "FromClass [r2] Z", "FromClaim [r1 r3] two"}},
		{"U-104", 1, []resourcev1.DeviceRequest{{Name: "r", FirstAvailable: []resourcev1.DeviceSubRequest{sub("x", "c1", 2), sub("y", "c2", 1)}}},
			[]resourcev1.DeviceClaimConfiguration{config("x", "r/x"), config("y", "r/y"), config("r", "r"), config("ry", "r", "r/y")}, devices.Options{Release: release.V1_36},
			[]string{"FromClass [r/y] Z", "FromClaim [r/y] y", "FromClaim [r] r", "FromClaim [r r/y] ry"}},
		{"U-104 with a class that two requests share", 2, []resourcev1.DeviceRequest{exact("r1", "c1"), {Name: "r2", FirstAvailable: []resourcev1.DeviceSubRequest{sub("x", "c1", 7), sub("y", "c1", 1)}}}, nil, devices.Options{Release: release.V1_36},
			[]string{"FromClass [r1 r2/y] A", "FromClass [r1 r2/y] B"}},
		{"U-103 with a class at the second place", 3, []resourcev1.DeviceRequest{exact("r1", "c2"), exact("r2", "c1"), exact("r3", "c1")}, nil, devices.Options{},
			[]string{"FromClass [r1] Z", "FromClass [r2 r3] A", "FromClass [r2 r3] B"}},
		{"L1.7 some requests", 3, []resourcev1.DeviceRequest{exact("r1", "c1"), exact("r2", "c2"), exact("r3", "c1")},
			[]resourcev1.DeviceClaimConfiguration{config("all"), config("one", "r2"), config("two", "r1", "r3"), config("none", "zz")}, devices.Options{},
			[]string{"FromClass [r1 r3] A", "FromClass [r1 r3] B", "FromClass [r2] Z", "FromClaim [] all", "FromClaim [r2] one", "FromClaim [r1 r3] two"}},
		{"L1.7 all requests", 2, []resourcev1.DeviceRequest{exact("r1", "c1"), exact("r2", "c1")},
			[]resourcev1.DeviceClaimConfiguration{config("both", "r1", "r2")}, devices.Options{},
			[]string{"FromClass [] A", "FromClass [] B", "FromClaim [] both"}},
	}, func(t *testing.T, c test) {
		slice := gpus("n1")
		device := slice.Spec.Devices[0]
		slice.Spec.Devices = nil
		for k := range c.devices {
			device.Name = string(rune('a' + k))
			slice.Spec.Devices = append(slice.Spec.Devices, device)
		}
		claim := gpuClaim("k", 1)
		claim.Spec.Devices = resourcev1.DeviceClaim{Requests: c.requests, Config: c.configs}
		ledger := devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{slice}))
		allocator := devices.NewAllocator(ledger, func(name string) *resourcev1.DeviceClass { return classes[name] }, nil, c.options)
		results, ok, err := allocator.Compile(claim).Allocate(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
		require.NoError(t, err)
		require.True(t, ok)
		var got []string
		for _, x := range results[0].Devices.Config {
			text := string(x.Source) + " ["
			for k, r := range x.Requests {
				if k > 0 {
					text += " "
				}
				text += r
			}
			got = append(got, text+"] "+x.Opaque.Driver)
		}
		require.Equal(t, c.want, got)
		for _, x := range results[0].Devices.Config { // each has a list of its own
			for k, r := range x.Requests {
				require.NotEqual(t, "!", r)
				x.Requests[k] = "!"
			}
		}
	})
}
